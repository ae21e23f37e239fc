/** Where transformers is, for tests that compare with it, and what it makes of a folder. */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Message, ToolSpec } from '../../messages/message.ts'

/**
 * A Python that has transformers: the one that `PERDURE_TRANSFORMERS_PYTHON` names, or `python3`; undefined where neither has.
 * @param modules others that it must have
 */
export function pythonWithTransformers(...modules: readonly string[]): string | undefined {
  const python = process.env.PERDURE_TRANSFORMERS_PYTHON ?? 'python3'
  const found =
    spawnSync(python, ['-c', `import ${['transformers', ...modules].join(', ')}`], { stdio: 'ignore' })
      .status === 0
  if (!found && process.env.PERDURE_REQUIRE_TRANSFORMERS === '1')
    throw new Error(`${python} has no transformers, and PERDURE_REQUIRE_TRANSFORMERS says that it must`)
  return found ? python : undefined
}

/** A conversation to be rendered. */
export interface AskedConversation {
  readonly folder: string
  readonly messages: readonly Message[]
  readonly tools?: readonly ToolSpec[] | undefined
}

const renderer = `
import json, sys
from transformers import AutoTokenizer
for line in json.load(sys.stdin):
    tokenizer = AutoTokenizer.from_pretrained(line["folder"])
    ids = tokenizer.apply_chat_template(line["messages"], tools=line.get("tools"), add_generation_prompt=True, tokenize=True)
    print(json.dumps({"ids": list(ids["input_ids"] if hasattr(ids, "keys") else ids), "end": tokenizer.eos_token_id}))
`
const lineSchema = z.object({ ids: z.array(z.int()), end: z.int() })

/** The tokens that transformers renders, and what it takes for the end of an action. */
export async function renderedByTransformers(
  python: string,
  asked: readonly AskedConversation[],
): Promise<readonly z.output<typeof lineSchema>[]> {
  const given = asked.map(({ folder, messages, tools }) => ({
    folder,
    messages: messages.map(asTransformers),
    tools,
  }))
  const out = await runPython(python, renderer, JSON.stringify(given))
  return out
    .trim()
    .split('\n')
    .map((line) => lineSchema.parse(JSON.parse(line)))
}

/** Runs a Python program. @returns its standard output */
export async function runPython(python: string, program: string, input: string): Promise<string> {
  const running = promisify(execFile)(python, ['-c', program], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', TRANSFORMERS_VERBOSITY: 'error' },
    maxBuffer: 2 ** 26,
  })
  running.child.stdin?.end(input)
  return (await running).stdout
}

/** A message as transformers documents it; calls have ids, which messages of Perdure do not. */
function asTransformers(message: Message): object {
  if (message.role === 'tool') return { ...message, tool_call_id: 'call00000' }
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message
  return {
    role: message.role,
    content: message.content,
    tool_calls: message.tool_calls.map(({ name, arguments: args }, index) => ({
      id: `call${String(index).padStart(5, '0')}`,
      type: 'function',
      function: { name, arguments: args },
    })),
  }
}
