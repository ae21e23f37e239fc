/**
 * Servers in the forms of vLLM and SGLang, for tests: they have the versions that they were ordered to load, and always sample the most likely token.
 *
 * Invariants
 * - Their logprobs are those of the weights that they serve, computed here, at the asked temperature.
 * - They end with their test; the one trainer that computes for them is closed by `closeDialects`.
 */
import { onTestFinished } from 'vitest'
import { readArchitecture } from '../checkpoints/checkpoint.ts'
import {
  type Behaviour,
  type HeardCall,
  type HostileServer,
  startHostileServer,
} from '../served/hostile-server.testing.ts'
import type { ServerProtocol } from '../served/server-protocol.ts'
import { createTrainer } from '../trainer/embedded.ts'
import type { Trainer } from '../trainer/trainer.ts'
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

/** A token with its logprob. */
interface Likely {
  readonly token: number
  readonly logprob: number
}

/** The sample: for each place all tokens, the most likely, which is the sampled one, first. */
type Sampled = readonly (readonly Likely[])[]

/** Tokens after contexts that were asked before, since a server is asked the same often. */
const known = new Map<string, Promise<readonly Likely[]>>()

/** All tokens after a context, the most likely first. */
function likelyAfter(
  dir: string,
  context: readonly number[],
  temperature: number,
): Promise<readonly Likely[]> {
  const key = [dir, context, temperature].join(' ')
  const finding =
    known.get(key) ??
    distribution(dir, context, temperature).then((logprobs) =>
      logprobs.map((logprob, token) => ({ token, logprob })).sort((a, b) => b.logprob - a.logprob),
    )
  known.set(key, finding)
  return finding
}

/** The request of a call. */
interface Asked {
  readonly prompt: readonly number[]
  readonly count: number
  readonly temperature: number
}

/** The fields of an answer beside its tokens. */
interface Ending {
  readonly isCut?: boolean
  /** By token. */
  readonly weights?: readonly string[]
}

/** A refusal in a server's own words. */
type Refusal = readonly [status: number, body: unknown]

/** How one kind of server speaks. */
export interface Dialect {
  readonly protocol: ServerProtocol
  readonly load: string
  readonly unload: string
  /** Its answer for an adapter that is loaded, is loaded already, or is not. */
  readonly loaded: unknown
  readonly isThere: (name: string) => Refusal
  readonly isGone: (name: string) => Refusal
  readonly adapterOf: (call: HeardCall) => string | undefined
  readonly asked: (call: HeardCall) => Asked
  readonly spoken: (call: HeardCall, sampled: Sampled, ending?: Ending) => unknown
}

/** The next token of a server that always samples the most likely one. */
export async function nextToken(
  dialect: Dialect,
  call: HeardCall,
  { dir, before }: { readonly dir: string; readonly before: Sampled },
): Promise<readonly Likely[]> {
  const { prompt, temperature } = dialect.asked(call)
  return await likelyAfter(dir, [...prompt, ...tokensOf(before)], temperature)
}

/** The whole answer of a server with the weights of a folder. */
export async function answerOf(dialect: Dialect, call: HeardCall, dir: string): Promise<unknown> {
  const sampled: (readonly Likely[])[] = []
  while (sampled.length < dialect.asked(call).count)
    sampled.push(await nextToken(dialect, call, { dir, before: sampled }))
  return dialect.spoken(call, sampled)
}

function tokensOf(sampled: Sampled): number[] {
  return sampled.map(([best]) => best?.token ?? 0)
}

function logprobsOf(sampled: Sampled): number[] {
  return sampled.map(([best]) => best?.logprob ?? Number.NaN)
}

/** Spans as both servers tell them. */
function spansOf(weights: readonly string[]): readonly { version: string; start: number; end: number }[] {
  const starts = weights.flatMap((name, at) => (name === weights[at - 1] ? [] : [at]))
  return starts.map((start, at) => ({
    ...{ version: weights[start] ?? '', start, end: starts[at + 1] ?? weights.length },
  }))
}

const vllm: Dialect = {
  protocol: vllmProtocol,
  load: '/v1/load_lora_adapter',
  unload: '/v1/unload_lora_adapter',
  loaded: 'Success: LoRA adapter added successfully.', // no JSON
  isThere: (name) => [400, { error: { message: `The lora adapter '${name}' has already been loaded.` } }],
  isGone: (name) => [404, { error: { message: `The model \`${name}\` does not exist.` } }],
  adapterOf: ({ body }) => body.model,
  asked: ({ body }) =>
    body.sampling_params === undefined
      ? { prompt: body.prompt, count: body.max_tokens, temperature: body.temperature }
      : {
          ...{ prompt: body.token_ids, count: body.sampling_params.max_tokens },
          temperature: body.sampling_params.temperature,
        },
  spoken: (call, sampled, ending = {}) => {
    const [tokens, logprobs] = [tokensOf(sampled), logprobsOf(sampled)]
    const { prompt } = vllm.asked(call)
    const usage = { prompt_tokens: prompt.length }
    const finish_reason = ending.isCut === true ? 'abort' : 'length'
    if (call.path === '/inference/v1/generate') {
      const content = sampled.map(([best, ...others]) => ({
        ...{ token_id: best?.token, logprob: best?.logprob, rank: 1 },
        top_logprobs: [best, ...others].slice(0, 5).map((each, at) => ({
          ...{ token_id: each?.token, logprob: each?.logprob, rank: at + 1 },
        })),
      }))
      const weight_versions = spansOf(ending.weights ?? [])
      return {
        choices: [{ index: 0, token_ids: tokens, finish_reason, logprobs: { content }, weight_versions }],
        usage,
      }
    }
    const top = sampled.map((all) =>
      Object.fromEntries(all.slice(0, 5).map(({ token, logprob }) => [`token_id:${token}`, logprob])),
    )
    const reported = {
      ...{ tokens: tokens.map((token) => `token_id:${token}`), token_logprobs: logprobs },
      top_logprobs: top,
    }
    return {
      choices: [{ token_ids: tokens, prompt_token_ids: prompt, finish_reason, logprobs: reported }],
      usage,
    }
  },
}

const sglang: Dialect = {
  protocol: sglangProtocol,
  load: '/load_lora_adapter',
  unload: '/unload_lora_adapter',
  loaded: { success: true, error_message: '' },
  isThere: (name) => [
    400,
    { success: false, error_message: `Failed to load LoRA adapter ${name} because it is already loaded` },
  ],
  isGone: (name) => [400, { error: { message: `Got LoRA adapter that has never been loaded: ${name}` } }],
  adapterOf: ({ body }) => body.lora_path,
  asked: ({ body }) => ({
    ...{ prompt: body.input_ids, count: body.sampling_params.max_new_tokens },
    temperature: body.sampling_params.temperature,
  }),
  spoken: (call, sampled, ending = {}) => {
    const reported = sampled.map((all) =>
      all.slice(0, 5).map(({ token, logprob }) => [logprob, token, null] as const),
    )
    return {
      output_ids: tokensOf(sampled),
      meta_info: {
        prompt_tokens: sglang.asked(call).prompt.length,
        finish_reason: { type: ending.isCut === true ? 'abort' : 'length' },
        output_token_logprobs: reported.map(([best]) => best),
        output_top_logprobs: reported,
        ...(ending.weights === undefined ? {} : { weight_versions: spansOf(ending.weights) }),
      },
    }
  },
}

export const dialects: readonly Dialect[] = [vllm, sglang]

export interface AdapterServer extends HostileServer {
  /** Folders by the names under which they are loaded. */
  readonly loaded: Map<string, string>
}

/** Ways in which a server differs from an honest one. */
interface Tricks {
  /** The model that it was started with; absent: it answers for adapters alone. */
  readonly base?: string
  /** The folder that it reads in the place of the given one. */
  readonly folderOf?: (dir: string) => string
  /** Whose answers it gives in the place of a folder's. */
  readonly dirOf?: (
    dir: string,
    state: { readonly loaded: ReadonlyMap<string, string>; readonly isAction: boolean },
  ) => Promise<string>
}

/** Whether the canary's whole action is asked for. */
export function isCanaryAction({ load, unload, asked }: Dialect, call: HeardCall): boolean {
  return call.path !== '/health' && call.path !== load && call.path !== unload && asked(call).count === 16
}

/** A server that has only the versions that it was ordered to load. */
export async function startAdapterServer(
  dialect: Dialect,
  { base, folderOf = (dir) => dir, dirOf = async (dir) => dir }: Tricks = {},
): Promise<AdapterServer> {
  const loaded = new Map<string, string>()
  const refuse = (response: Parameters<Behaviour>[1], [status, body]: Refusal) => {
    response.statusCode = status
    return body
  }
  const server = await startHostileServer(async (call, response) => {
    const { path, body } = call
    if (path === '/health' || path === '/abort_request') return {}
    if (path === dialect.load) {
      if (loaded.has(body.lora_name)) return refuse(response, dialect.isThere(body.lora_name))
      loaded.set(body.lora_name, folderOf(body.lora_path))
      return said(response, dialect.loaded)
    }
    if (path === dialect.unload)
      return loaded.delete(body.lora_name)
        ? said(response, dialect.loaded)
        : refuse(response, dialect.isGone(body.lora_name))
    const adapter = dialect.adapterOf(call)
    const dir = adapter === undefined ? base : loaded.get(adapter)
    if (dir === undefined) return refuse(response, dialect.isGone(adapter ?? ''))
    return answerOf(dialect, call, await dirOf(dir, { loaded, isAction: isCanaryAction(dialect, call) }))
  })
  onTestFinished(() => server.close().catch(() => undefined))
  return Object.assign(server, { loaded })
}

/** An answer that may be no JSON. */
function said(response: Parameters<Behaviour>[1], answer: unknown): unknown {
  return typeof answer === 'string' ? response.end(answer) : answer
}
