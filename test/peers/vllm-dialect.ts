/**
 * A server in the form of vLLM's, with adapters by name: samples with the embedded engine, where the real one is not installed.
 *
 * Invariants
 * - It has the adapters that it was asked to load, and none once it was killed, as a server that starts again.
 * - A call that it does not know is answered with 404.
 * - Actions are drawn at the asked temperature by the asked seed, and their logprobs are those of the named adapter.
 */
import { createEmbeddedEngine } from '../../policy/embedded-engine/embedded.ts'
import type { Engine } from '../../policy/engines/engine.ts'
import { type Behaviour, startHostileServer } from '../../policy/served/hostile-server.testing.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import type { Trainer } from '../../policy/trainer/trainer.ts'
import type { SamplingServer } from './foreign-run.ts'

interface ServedModel {
  readonly vocabulary: number
  readonly contextLength: number
  readonly port: number
}

interface Loaded {
  /** Its number in the engine. */
  readonly version: number
  readonly dir: string
}

export async function startDialectServer(model: ServedModel): Promise<SamplingServer> {
  const { contextLength, port } = model
  const engine = await createEmbeddedEngine({ threads: 1, maxBatch: 16, contextLength, exact: false })
  const trainer = createTrainer({ threads: 1 })
  const loaded = new Map<string, Loaded>()
  let versions = 0
  let requests = 0

  const behave: Behaviour = async ({ path, body }, response) => {
    const refuse = (status: number, message: string) => {
      response.statusCode = status
      return { error: { message } }
    }
    if (path === '/health' || path === '/version') return {}
    if (body === undefined) return refuse(404, 'not found')
    if (path === '/v1/load_lora_adapter') {
      if (loaded.has(body.lora_name)) return refuse(400, `'${body.lora_name}' has already been loaded.`)
      const one = { version: versions++, dir: body.lora_path }
      await engine.load(one.version, one.dir)
      loaded.set(body.lora_name, one)
      return response.end('Success')
    }
    const one = loaded.get(body.lora_name ?? body.model)
    if (one === undefined) return refuse(404, 'not found')
    if (path === '/v1/unload_lora_adapter') {
      loaded.delete(body.lora_name)
      await engine.unload(one.version)
      return response.end('Success')
    }
    // The canary alone asks for alternatives, which the engine does not tell.
    if (body.logprobs > 1) return await likeliest(trainer, one.dir, body, model.vocabulary)
    return await sampled(engine, one.version, body, `request-${requests++}`)
  }

  const server = await startHostileServer(behave, port)
  return {
    url: server.url,
    async kill() {
      await server.close()
      await Promise.all([engine.close(), trainer.close()])
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the body of a call, which Perdure has sent
type Body = any

async function sampled(engine: Engine, version: number, body: Body, cacheKey: string): Promise<object> {
  const { tokens, logprobs } = await engine.sample({
    ...{ cacheKey, version, borders: [], context: Int32Array.from(body.prompt) },
    ...{ maxNewTokens: body.max_tokens, temperature: body.temperature, stopTokens: body.stop_token_ids },
    seed: body.seed,
  })
  engine.release(cacheKey)
  return answerOf(body, [...tokens], [...logprobs])
}

/** Always the most likely token, with the others' logprobs. */
async function likeliest(trainer: Trainer, dir: string, body: Body, vocabulary: number): Promise<object> {
  const tokens: number[] = []
  const likeliestTokens: (readonly (readonly [token: number, logprob: number])[])[] = []
  while (tokens.length < body.max_tokens) {
    const context = [...body.prompt, ...tokens]
    const length = context.length + 1
    const candidates = Array.from({ length: vocabulary }, (_, token) => [...context, token]).flat()
    const all = await trainer.logprobs({
      ...{ checkpointDir: dir, temperature: body.temperature, microBatchTokens: 4096 },
      tokens: Int32Array.from(candidates),
      offsets: Int32Array.from({ length: vocabulary + 1 }, (_, at) => at * length),
      lossMask: Uint8Array.from(candidates, (_, at) => (at % length === length - 1 ? 1 : 0)),
    })
    const sorted = Array.from(
      { length: vocabulary },
      (_, token) => [token, all[token * length + length - 1] ?? 0] as const,
    ).sort(([, a], [, b]) => b - a)
    likeliestTokens.push(sorted.slice(0, 5))
    tokens.push(sorted[0]?.[0] ?? 0)
  }
  return answerOf(
    body,
    tokens,
    likeliestTokens.map(([best]) => best?.[1] ?? 0),
    likeliestTokens.map((likely) =>
      Object.fromEntries(likely.map(([token, logprob]) => [`token_id:${token}`, logprob])),
    ),
  )
}

function answerOf(
  body: Body,
  tokens: readonly number[],
  logprobs: readonly number[],
  top?: readonly object[],
): object {
  const sampled = { tokens: tokens.map((token) => `token_id:${token}`), token_logprobs: logprobs }
  return {
    choices: [
      {
        token_ids: tokens,
        prompt_token_ids: body.prompt,
        logprobs: top === undefined ? sampled : { ...sampled, top_logprobs: top },
      },
    ],
    usage: { prompt_tokens: body.prompt.length },
  }
}
