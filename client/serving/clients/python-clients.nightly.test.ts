/**
 * The clients of Python, unmodified, each where it is installed: openai, anthropic, openai-agents in both its forms, and verifiers'
 * renderer client. `PERDURE_CLIENTS_PYTHON` names the interpreter.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listen, type PolicyServer, servePolicy } from '../policy-server.ts'
import { lookingPolicy } from '../scripted-policy.testing.ts'
import { homeWithRun } from '../small-run.testing.ts'

const python = process.env.PERDURE_CLIENTS_PYTHON ?? 'python3'

function has(...names: readonly string[]): boolean {
  const find =
    'import sys, importlib.util as u; sys.exit(any(u.find_spec(name) is None for name in sys.argv[1:]))'
  return spawnSync(python, ['-c', find, ...names], { stdio: 'ignore' }).status === 0
}

let home: string
/** A small policy, which says anything. */
let small: PolicyServer
/** A policy that looks around once. */
let looking: PolicyServer

beforeAll(async () => {
  home = await homeWithRun('demo')
  small = await servePolicy({ home, run: 'demo', port: 0, log: () => undefined })
  looking = await listen(lookingPolicy(), { port: 0 })
})

afterAll(async () => {
  await small.close()
  await looking.close()
  await rm(home, { recursive: true, force: true })
})

/** Runs a program with the base URLs of OpenAI's and Anthropic's clients, and reads the JSON that it prints. */
async function run(program: string, { url }: PolicyServer): Promise<unknown> {
  const client = spawn(python, ['-c', program, url, url.replace(/\/v1$/, '')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  client.stdout.on('data', (text: Buffer) => {
    said += text.toString()
  })
  await once(client, 'close')
  return JSON.parse(said)
}

/** Some of the clients take half a minute to load on a busy machine. */
const patience = 240_000

test.skipIf(!has('openai'))(
  'openai gets answers, streams, log-probabilities and errors',
  async () => {
    const program = `
import json, sys, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
messages = [{"role": "user", "content": "look around"}]
tools = [{"type": "function", "function": {"name": "act", "parameters": {"type": "object", "properties": {}}}}]
said = client.chat.completions.create(model="demo", messages=messages, tools=tools, seed=3, max_tokens=6, logprobs=True)
chunks = list(client.chat.completions.create(model="demo", messages=messages, tools=tools, seed=3, max_tokens=6, stream=True, stream_options={"include_usage": True}))
done = client.completions.create(model="demo@0", prompt=[65, 66], max_tokens=3, logprobs=1, extra_body={"return_token_ids": True})
response = client.responses.create(model="demo", input="look around", max_output_tokens=6)
next = client.responses.create(model="demo", input="go on", previous_response_id=response.id, max_output_tokens=6)
errors = []
for ask in (lambda: client.chat.completions.create(model="gpt-4", messages=messages),
            lambda: client.responses.create(model="demo", input="x", previous_response_id="resp_0")):
    try:
        ask()
    except openai.APIStatusError as failure:
        errors.append(failure.code)
print(json.dumps({
    "models": [model.id for model in client.models.list()],
    "streamed": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == (said.choices[0].message.content or ""),
    "logprobs": len(said.choices[0].logprobs.content) == said.usage.completion_tokens,
    "usage": chunks[-1].usage.completion_tokens == said.usage.completion_tokens,
    "ids": len(done.choices[0].logprobs.tokens) == len(done.choices[0].token_ids),
    "continued": next.usage.input_tokens > response.usage.input_tokens,
    "errors": errors,
}))
`
    expect(await run(program, small)).toEqual({
      models: ['demo', 'demo@3', 'demo@0'],
      streamed: true,
      logprobs: true,
      usage: true,
      ids: true,
      continued: true,
      errors: ['model_not_found', 'previous_response_not_found'],
    })
  },
  patience,
)

test.skipIf(!has('anthropic'))(
  'anthropic calls a tool, streams the answer, counts tokens and gets errors',
  async () => {
    const program = `
import json, sys, anthropic
client = anthropic.Anthropic(base_url=sys.argv[2], api_key="none", max_retries=0)
tools = [{"name": "act", "description": "Acts.", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}]
messages = [{"role": "user", "content": "look around"}]
first = client.messages.create(model="demo", max_tokens=64, messages=messages, tools=tools)
use = first.content[-1]
messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "a lamp"}]}]
with client.messages.stream(model="demo", max_tokens=64, messages=messages, tools=tools) as stream:
    text = "".join(stream.text_stream)
    last = stream.get_final_message()
try:
    client.messages.create(model="claude", max_tokens=64, messages=messages)
    error = ""
except anthropic.NotFoundError as failure:
    error = failure.body["error"]["type"]
print(json.dumps({
    "use": [use.name, use.input, first.stop_reason],
    "text": text, "stop": last.stop_reason,
    "counted": client.messages.count_tokens(model="demo", messages=messages, tools=tools).input_tokens == last.usage.input_tokens,
    "error": error,
}))
`
    expect(await run(program, looking)).toEqual({
      use: ['act', { command: 'look' }, 'tool_use'],
      text: 'There is a lamp.',
      stop: 'end_turn',
      counted: true,
      error: 'not_found_error',
    })
  },
  patience,
)

test.skipIf(!has('agents', 'openai'))(
  'openai-agents plays to the end in both its forms, with and without a stream',
  async () => {
    const program = `
import asyncio, json, sys
from openai import AsyncOpenAI
from agents import Agent, Runner, function_tool, set_default_openai_api, set_default_openai_client, set_tracing_disabled
set_tracing_disabled(True)
set_default_openai_client(AsyncOpenAI(base_url=sys.argv[1], api_key="none"), use_for_tracing=False)
@function_tool
def act(command: str) -> str:
    return "a lamp"
async def main():
    said = []
    for form in ("responses", "chat_completions"):
        set_default_openai_api(form)
        agent = Agent(name="one", instructions="You look.", tools=[act], model="demo")
        said.append((await Runner.run(agent, "look around")).final_output)
        streamed = Runner.run_streamed(agent, "look around")
        async for _ in streamed.stream_events():
            pass
        said.append(streamed.final_output)
    print(json.dumps(said))
asyncio.run(main())
`
    expect(await run(program, looking)).toEqual(Array(4).fill('There is a lamp.'))
  },
  patience,
)

test.skipIf(!has('renderers', 'openai'))(
  "verifiers' renderer client gets tokens with their log-probabilities, and knows the context's length",
  async () => {
    const program = `
import asyncio, json, sys
from openai import AsyncOpenAI
from renderers.base import ParsedResponse
from renderers.client import OverlongPromptError, generate
class Renderer:
    def get_stop_token_ids(self):
        return []
    def parse_response(self, ids, **_):
        return ParsedResponse(content="", reasoning_content=None, tool_calls=[])
async def main():
    client = AsyncOpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
    asked = dict(client=client, renderer=Renderer(), messages=[], model="demo")
    said = await generate(**asked, prompt_ids=[65, 66], sampling_params={"max_tokens": 6, "temperature": 1.0}, cache_salt="3", priority=0)
    try:
        await generate(**asked, prompt_ids=[65] * 300)
        overlong = None
    except OverlongPromptError as failure:
        overlong = failure.max_prompt_len
    print(json.dumps({
        "prompt": said["prompt_ids"], "finish": said["finish_reason"], "overlong": overlong,
        "logprobs": [len(said["completion_logprobs"]), len(said["completion_ids"])],
    }))
asyncio.run(main())
`
    expect(await run(program, small)).toEqual({
      prompt: [65, 66],
      finish: 'length',
      overlong: 256,
      logprobs: [6, 6],
    })
  },
  patience,
)
