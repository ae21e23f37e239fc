/**
 * Servers in the forms of vLLM and SGLang whose weights are replaced while they run, for tests.
 *
 * Invariants
 * - The sample is the most likely token of the weights of that moment, and each token is reported with their name.
 * - A pause ends what runs with what it has, and what comes later waits; a server that starts again has its first weights and no name.
 */
import { readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { modelFile } from '../checkpoints/manifest.ts'
import { type Dialect, nextToken } from '../dialects/dialect-servers.testing.ts'
import {
  type Behaviour,
  type HeardCall,
  type HostileServer,
  startHostileServer,
} from './hostile-server.testing.ts'
import type { ServerRequestBody } from './server-protocol.ts'

/** The time until vLLM reports that it has ended its requests. */
const pauseMs = 20

/** The conduct of a server, as a test orders it. */
export interface Conduct {
  /** Before a token of a call is sampled. */
  readonly beforeToken?: (call: HeardCall, at: number) => Promise<void> | void
  /** In the place of loading a folder: a status that tells of a failure. */
  readonly onReload?: (dir: string) => Promise<number | undefined> | number | undefined
  /** Before it answers a call that is none for tokens. */
  readonly onControl?: (call: HeardCall) => Promise<void> | void
}

export interface InPlaceServer extends HostileServer {
  /** Name of its weights, and the checkpoint that they are of. */
  readonly now: { readonly name: string; readonly dir: string; readonly isPaused: boolean }
  /** Checkpoints that were loaded since it was first started. */
  readonly loaded: readonly string[]
  conduct: Conduct
  /** Ends it, and what runs there. */
  kill(): Promise<void>
  /** Starts it again at its address, with its first weights. */
  restart(): Promise<void>
}

/** @param base the checkpoint that it is started with */
export async function startInPlaceServer(
  dialect: Dialect,
  { base, ...conduct }: Conduct & { readonly base: string },
): Promise<InPlaceServer> {
  const loaded: string[] = []
  const calls: HeardCall[] = []
  const started = new PausableModel(dialect, base, loaded)
  let model = started
  let current: Conduct = conduct
  const behave: Behaviour = (call, response) => {
    calls.push(call)
    return model.answer(call, response, current)
  }
  let server = await startHostileServer(behave)
  const port = Number(new URL(server.url).port)
  onTestFinished(() => server.close().catch(() => undefined))
  return {
    ...server,
    calls,
    loaded,
    get now() {
      return model
    },
    get conduct() {
      return current
    },
    set conduct(other) {
      current = other
    },
    kill: () => server.close(),
    async restart() {
      model = new PausableModel(dialect, base, loaded)
      server = await startHostileServer(behave, port)
    },
  }
}

/** The weights of a server, and what runs with them. */
class PausableModel {
  name = 'default'
  dir: string
  isPaused = false
  readonly #dialect: Dialect
  readonly #loaded: string[]
  readonly #running = new Set<AbortController>()
  #resumed = Promise.withResolvers<void>()

  constructor(dialect: Dialect, base: string, loaded: string[]) {
    this.#dialect = dialect
    this.dir = base
    this.#loaded = loaded
  }

  async answer(call: HeardCall, response: Parameters<Behaviour>[1], conduct: Conduct): Promise<unknown> {
    const { inPlace } = this.#dialect.protocol
    if (inPlace === undefined) throw new RangeError('its weights are never replaced')
    const { path, body } = call
    const { pause, resume, rename, reload, statePath } = inPlace
    const of = ({ path: own }: ServerRequestBody) => path === own
    if (path === this.#dialect.protocol.abort?.('').path) return {}
    if (path === '/health' || [pause, resume, rename(''), reload('')].some(of) || path === statePath)
      await conduct.onControl?.(call)
    if (path === '/health') return {}
    if (path === statePath) return { weight_version: this.name }
    if (of(pause)) return await this.#pause()
    if (of(resume)) return this.#resume()
    if (of(rename(''))) {
      this.name = body.new_version
      return { success: true }
    }
    if (/[@/\\]/.test(body.cache_salt ?? '')) {
      response.statusCode = 400
      return { error: { message: "Parameter 'cache_salt' must not contain '@', '/', or '\\\\'" } }
    }
    if (!of(reload(''))) return await this.#sample(call, conduct)
    const failure = await this.#reload(body.model_path ?? body.kwargs.weights_path, conduct)
    if (failure === undefined) return { success: true }
    response.statusCode = failure
    return { error: { message: 'the weights could not be loaded' } }
  }

  async #pause(): Promise<object> {
    if (!this.isPaused) this.#resumed = Promise.withResolvers()
    this.isPaused = true
    for (const running of this.#running) running.abort()
    await delay(pauseMs)
    return { status: 'paused' }
  }

  #resume(): object {
    this.isPaused = false
    this.#resumed.resolve()
    return { status: 'resumed' }
  }

  /** @returns the status of a failure */
  async #reload(folder: string, { onReload }: Conduct): Promise<number | undefined> {
    const failure = await onReload?.(folder)
    if (failure !== undefined) return failure
    // As vLLM does it: whatever is a file of tensors is read for weights.
    const files = (await readdir(folder)).filter((file) => file.endsWith('.safetensors'))
    if (files.length !== 1) return 500
    this.dir = dirname(await realpath(join(folder, modelFile)))
    this.#loaded.push(this.dir)
    return undefined
  }

  async #sample(call: HeardCall, { beforeToken }: Conduct): Promise<unknown> {
    if (this.isPaused) await this.#resumed.promise
    const { count } = this.#dialect.asked(call)
    const running = new AbortController()
    const { signal } = running
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    this.#running.add(running)
    const sampled: Awaited<ReturnType<typeof nextToken>>[] = []
    const weights: string[] = []
    while (sampled.length < count) {
      await Promise.race([beforeToken?.(call, sampled.length), aborted])
      if (signal.aborted) break
      const { dir, name } = this
      const next = await nextToken(this.#dialect, call, { dir, before: sampled })
      if (signal.aborted) break
      sampled.push(next)
      weights.push(name)
    }
    this.#running.delete(running)
    return this.#dialect.spoken(call, sampled, { isCut: sampled.length < count, weights })
  }
}
