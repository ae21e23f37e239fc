/** The clients that people use, unmodified: the AI SDK, and openai-python where it is installed. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, streamText, type ToolSet, tool } from 'ai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PolicyServer, servePolicy } from './policy-server.ts'
import { homeWithRun } from './small-run.testing.ts'

const python = process.env.PERDURE_OPENAI_PYTHON ?? 'python3'
const hasOpenAI = spawnSync(python, ['-c', 'import openai'], { stdio: 'ignore' }).status === 0

let home: string
let server: PolicyServer

beforeAll(async () => {
  home = await homeWithRun('demo')
  server = await servePolicy({ home, run: 'demo', port: 0, log: () => undefined })
})

afterAll(async () => {
  await server.close()
  await rm(home, { recursive: true, force: true })
})

test('the AI SDK gets texts and streams, with tools and usage', async () => {
  const provider = createOpenAICompatible({ name: 'perdure', baseURL: server.url, includeUsage: true })
  const tools: ToolSet = {
    act: tool({
      description: 'Acts.',
      inputSchema: jsonSchema({ type: 'object', properties: { command: { type: 'string' } } }),
    }),
  }
  const request = {
    model: provider('demo'),
    prompt: 'look around',
    maxOutputTokens: 6,
    seed: 3,
    maxRetries: 0,
    tools,
  } as const
  const { text, usage } = await generateText(request)
  expect(usage.outputTokens).toBeGreaterThan(0)
  const stream = streamText(request)
  expect(await stream.text).toBe(text)
  expect((await stream.usage).outputTokens).toBe(usage.outputTokens)
  await expect(generateText({ ...request, model: provider('gpt-4') })).rejects.toThrow('does not exist')
})

const program = `
import json, sys, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
messages = [{"role": "user", "content": "look around"}]
tools = [{"type": "function", "function": {"name": "act", "parameters": {"type": "object", "properties": {}}}}]
said = client.chat.completions.create(model="demo", messages=messages, tools=tools, seed=3, max_tokens=6, logprobs=True)
chunks = list(client.chat.completions.create(model="demo", messages=messages, tools=tools, seed=3, max_tokens=6, stream=True, stream_options={"include_usage": True}))
done = client.completions.create(model="demo@0", prompt=[65, 66], max_tokens=3, logprobs=1, extra_body={"return_token_ids": True})
try:
    client.chat.completions.create(model="gpt-4", messages=messages)
    error = ""
except openai.NotFoundError as failure:
    error = failure.code
print(json.dumps({
    "models": [model.id for model in client.models.list()],
    "text": said.choices[0].message.content or "",
    "logprobs": len(said.choices[0].logprobs.content) == said.usage.completion_tokens,
    "streamed": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
    "usage": chunks[-1].usage.completion_tokens == said.usage.completion_tokens,
    "ids": done.choices[0].token_ids == [] or len(done.choices[0].logprobs.tokens) == len(done.choices[0].token_ids),
    "error": error,
}))
`

test.skipIf(!hasOpenAI)(
  'openai-python gets all of it (skipped where it is not installed)',
  async () => {
    const client = spawn(python, ['-c', program, server.url], { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    client.stdout.on('data', (text: Buffer) => {
      said += text.toString()
    })
    await once(client, 'close')
    const { text, streamed, ...rest } = JSON.parse(said)
    expect(streamed).toBe(text)
    expect(rest).toEqual({
      models: ['demo', 'demo@3', 'demo@0'],
      logprobs: true,
      usage: true,
      ids: true,
      error: 'model_not_found',
    })
  },
  120_000,
)
