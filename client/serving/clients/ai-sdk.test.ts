/** The AI SDK, unmodified. */
import { rm } from 'node:fs/promises'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, streamText, type ToolSet, tool } from 'ai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PolicyServer, servePolicy } from '../policy-server.ts'
import { homeWithRun } from '../small-run.testing.ts'

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
