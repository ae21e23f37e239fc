/**
 * An engine that answers from a script, for tests and benchmarks of what is above an engine.
 *
 * Invariants
 * - It keeps the contract of engines: versions, limits, stop tokens, cancellation, closing.
 */
import {
  type Engine,
  EngineFault,
  type EngineStatistics,
  type SampledTokens,
  type SamplingRequest,
} from './engine.ts'

/** Tokens to answer with; cut at the first stop token and at `maxNewTokens`. */
export type Script = (request: SamplingRequest) => readonly number[] | Promise<readonly number[]>

export interface ScriptedEngineOptions {
  /** Tokens of a context at most. */
  readonly contextLength?: number
  /** The logprob of every token. */
  readonly logprob?: number
}

/** @example createScriptedEngine(() => tokenizer.encode('go to shelf 1')) */
export function createScriptedEngine(script: Script, options: ScriptedEngineOptions = {}): Engine {
  return new ScriptedEngine(script, options)
}

/** Leaves work as soon as the signal is aborted, as real engines and trainers do. @throws the signal's reason */
export async function unlessAborted<T>(work: T | Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return work
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    const result = await Promise.race([work, aborted])
    signal.throwIfAborted()
    return result
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

class ScriptedEngine implements Engine {
  readonly capabilities = { versions: 'many', scoring: false, exact: true } as const
  readonly #script: Script
  readonly #contextLength: number
  readonly #logprob: number
  readonly #versions = new Set<number>()
  #running = 0
  #sampledTokens = 0
  #prefilledTokens = 0
  #closed = false

  constructor(script: Script, options: ScriptedEngineOptions) {
    this.#script = script
    this.#contextLength = options.contextLength ?? Number.POSITIVE_INFINITY
    this.#logprob = options.logprob ?? -0.5
  }

  get versions(): readonly number[] {
    return [...this.#versions].sort((left, right) => left - right)
  }

  async load(version: number): Promise<void> {
    this.#refuseWhenClosed()
    this.#versions.add(version)
  }

  async unload(version: number): Promise<void> {
    this.#versions.delete(version)
  }

  async sample(request: SamplingRequest, signal?: AbortSignal): Promise<SampledTokens> {
    signal?.throwIfAborted()
    this.#refuseWhenClosed()
    const { version, context } = request
    if (!this.#versions.has(version))
      throw new EngineFault('version_not_loaded', `policy version ${version} is not loaded`)
    if (context.length >= this.#contextLength)
      throw new EngineFault('context_too_long', `the context has ${context.length} tokens`)
    this.#running++
    try {
      const scripted = await unlessAborted(this.#script(request), signal)
      this.#refuseWhenClosed()
      const limited = scripted.slice(0, request.maxNewTokens)
      const stop = limited.findIndex((token) => request.stopTokens.includes(token))
      const tokens = Int32Array.from(stop < 0 ? limited : limited.slice(0, stop + 1))
      this.#sampledTokens += tokens.length
      this.#prefilledTokens += context.length
      return {
        version,
        tokens,
        logprobs: new Float32Array(tokens.length).fill(this.#logprob),
        finish: stop < 0 ? 'length' : 'stop',
      }
    } finally {
      this.#running--
    }
  }

  release(): void {}

  async statistics(): Promise<EngineStatistics> {
    this.#refuseWhenClosed()
    return {
      sampledTokens: this.#sampledTokens,
      prefilledTokens: this.#prefilledTokens,
      reusedTokens: 0,
      busySeconds: 0,
      waiting: 0,
      running: this.#running,
    }
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new EngineFault('closed', 'the engine is closed: create another one')
  }
}
