/**
 * Servers in the forms of vLLM and SGLang, for tests: they have what they were told to load, and always sample the most likely token.
 *
 * Invariants
 * - Their logprobs are those of the weights that they serve, computed here, at the asked temperature.
 * - They end with their test; the one trainer that computes for them is closed by `closeDialects`.
 */
import { onTestFinished } from 'vitest'
import { readArchitecture } from '../checkpoints/checkpoint.ts'
import { createTrainer } from '../trainer/embedded.ts'
import type { Trainer } from '../trainer/trainer.ts'
import {
  type Behaviour,
  type HeardCall,
  type HostileServer,
  startHostileServer,
} from './hostile-server.testing.ts'
import type { ServerProtocol } from './server-protocol.ts'
import { sglangProtocol } from './sglang.ts'
import { vllmProtocol } from './vllm.ts'

let trainer: Trainer | undefined

/** To be called when all tests of a file have ended. */
export async function closeDialects(): Promise<void> {
  await trainer?.close()
  trainer = undefined
}

/** All logprobs after a context by a checkpoint's weights, computed one candidate after the other in one batch. */
async function distribution(dir: string, context: readonly number[], temperature: number): Promise<number[]> {
  const { vocab_size: vocabulary } = await readArchitecture(dir)
  trainer ??= createTrainer({ threads: 1 })
  const candidates = Array.from({ length: vocabulary }, (_, token) => [...context, token])
  const { length } = candidates[0] ?? []
  const all = await trainer.logprobs({
    ...{ checkpointDir: dir, temperature: temperature || 1, microBatchTokens: 2048 },
    tokens: Int32Array.from(candidates.flat()),
    offsets: Int32Array.from({ length: vocabulary + 1 }, (_, at) => at * length),
    lossMask: Uint8Array.from(candidates.flat(), (_, at) => (at % length === length - 1 ? 1 : 0)),
  })
  return candidates.map((_, token) => all[token * length + length - 1] ?? Number.NaN)
}

interface Sampled {
  readonly tokens: number[]
  readonly told: { readonly token: number; readonly logprob: number }[][]
  readonly logprobs: number[]
}

/** What was sampled before, for a server is asked the same often. */
const known = new Map<string, Promise<Sampled>>()

/** What a server samples: always the most likely token. */
function sampled(
  dir: string,
  prompt: readonly number[],
  count: number,
  temperature: number,
): Promise<Sampled> {
  const key = [dir, prompt, count, temperature].join(' ')
  const sampling = known.get(key) ?? sampleMostLikely(dir, prompt, count, temperature)
  known.set(key, sampling)
  return sampling
}

async function sampleMostLikely(
  ...[dir, prompt, count, temperature]: Parameters<typeof sampled>
): Promise<Sampled> {
  const tokens: number[] = []
  const told: Sampled['told'] = []
  while (tokens.length < count) {
    const logprobs = await distribution(dir, [...prompt, ...tokens], temperature)
    const sorted = logprobs
      .map((logprob, token) => ({ token, logprob }))
      .sort((a, b) => b.logprob - a.logprob)
    told.push(sorted)
    tokens.push(sorted[0]?.token ?? 0)
  }
  return { tokens, told, logprobs: told.map(([best]) => best?.logprob ?? Number.NaN) }
}

/** How one kind of server speaks. */
export interface Dialect {
  readonly protocol: ServerProtocol
  readonly load: string
  readonly unload: string
  readonly adapterOf: (call: HeardCall) => string | undefined
  /** Tokens that are asked for. */
  readonly countOf: (call: HeardCall) => number
  readonly answer: (call: HeardCall, dir: string) => Promise<unknown>
}

export const dialects: readonly Dialect[] = [
  {
    protocol: vllmProtocol,
    load: '/v1/load_lora_adapter',
    unload: '/v1/unload_lora_adapter',
    adapterOf: ({ body }) => body.model,
    countOf: ({ body }) => body.max_tokens,
    answer: async ({ body }, dir) => {
      const { tokens, told, logprobs } = await sampled(dir, body.prompt, body.max_tokens, body.temperature)
      const top = told.map((all) =>
        Object.fromEntries(all.slice(0, 5).map(({ token, logprob }) => [`token_id:${token}`, logprob])),
      )
      const choice = { token_ids: tokens, prompt_token_ids: body.prompt }
      return {
        choices: [
          {
            ...choice,
            logprobs: {
              tokens: tokens.map((token) => `token_id:${token}`),
              token_logprobs: logprobs,
              top_logprobs: top,
            },
          },
        ],
        usage: { prompt_tokens: body.prompt.length },
      }
    },
  },
  {
    protocol: sglangProtocol,
    load: '/load_lora_adapter',
    unload: '/unload_lora_adapter',
    adapterOf: ({ body }) => body.lora_path,
    countOf: ({ body }) => body.sampling_params.max_new_tokens,
    answer: async ({ body }, dir) => {
      const { max_new_tokens, temperature } = body.sampling_params
      const { tokens, told, logprobs } = await sampled(dir, body.input_ids, max_new_tokens, temperature)
      return {
        output_ids: tokens,
        meta_info: {
          prompt_tokens: body.input_ids.length,
          output_token_logprobs: tokens.map((token, place) => [logprobs[place], token, null]),
          output_top_logprobs: told.map((all) =>
            all.slice(0, 5).map(({ token, logprob }) => [logprob, token, null]),
          ),
        },
      }
    },
  },
]

export interface AdapterServer extends HostileServer {
  /** Folders by the names under which they are loaded. */
  readonly loaded: Map<string, string>
}

/** What a server does otherwise than an honest one. */
interface Tricks {
  /** The model that it was started with; absent: it answers for adapters alone. */
  readonly base?: string
  /** What it reads in the place of a folder. */
  readonly folderOf?: (dir: string) => string
  /** Whose answers it gives in the place of a folder's. */
  readonly dirOf?: (
    dir: string,
    state: { readonly loaded: ReadonlyMap<string, string>; readonly isAction: boolean },
  ) => Promise<string>
}

/** Whether the canary's whole action is asked for. */
export function isCanaryAction({ load, unload, countOf }: Dialect, call: HeardCall): boolean {
  return call.path !== '/health' && call.path !== load && call.path !== unload && countOf(call) === 16
}

/** A server that has only what it was told to load. */
export async function startAdapterServer(
  dialect: Dialect,
  { base, folderOf = (dir) => dir, dirOf = async (dir) => dir }: Tricks = {},
): Promise<AdapterServer> {
  const loaded = new Map<string, string>()
  const refuse = (response: Parameters<Behaviour>[1], status: number, message: string) => {
    response.statusCode = status
    return { error: { message } }
  }
  const server = await startHostileServer(async (call, response) => {
    const { path, body } = call
    if (path === '/health' || path === '/abort_request') return {}
    if (path === dialect.load) {
      if (loaded.has(body.lora_name))
        return refuse(response, 400, `The lora adapter '${body.lora_name}' has already been loaded.`)
      loaded.set(body.lora_name, folderOf(body.lora_path))
      return response.end('Success: it was added successfully.') // no JSON, as vLLM answers
    }
    if (path === dialect.unload) {
      const isThere = loaded.delete(body.lora_name)
      return isThere ? response.end('Success') : refuse(response, 404, 'not found')
    }
    const adapter = dialect.adapterOf(call)
    const dir = adapter === undefined ? base : loaded.get(adapter)
    if (dir === undefined) return refuse(response, 404, 'not found')
    return dialect.answer(call, await dirOf(dir, { loaded, isAction: isCanaryAction(dialect, call) }))
  })
  onTestFinished(() => server.close().catch(() => undefined))
  return Object.assign(server, { loaded })
}
