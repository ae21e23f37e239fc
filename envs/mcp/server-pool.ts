/**
 * Servers of one environment: some are started before an episode needs them, and each plays one episode.
 *
 * Invariants
 * - [SERVER-POOL-1] A server is given out once; a lost one is never given out.
 * - [SERVER-POOL-2] After closing, no server is left; one that was still starting is given up at once.
 * - [SERVER-POOL-3] Only so many start at once: more would take longer than each of them may.
 */
import { EnvironmentFault } from '../contract/environment.ts'
import type { ServerFolder } from './episode-folder.ts'
import type { McpConnection } from './mcp-connection.ts'

/** A server that is ready for an episode. */
export interface StartedServer {
  readonly connection: McpConnection
  readonly folder: ServerFolder
  /** Ends the server, and removes its folder; may be called twice. */
  end(): Promise<void>
}

export interface PoolLimits {
  /** Servers that wait for an episode. */
  readonly ahead: number
  /** Servers that start at once. */
  readonly starting: number
}

export class ServerPool {
  readonly #start: (signal: AbortSignal) => Promise<StartedServer>
  readonly #limits: PoolLimits
  readonly #ahead: Promise<StartedServer>[] = []
  readonly #all = new Set<StartedServer>()
  readonly #waiting: (() => void)[] = []
  readonly #starts = new Set<Promise<StartedServer>>()
  readonly #closing = new AbortController()

  constructor(start: (signal: AbortSignal) => Promise<StartedServer>, limits: PoolLimits) {
    this.#start = start
    this.#limits = limits
  }

  /** A server for one episode. @throws EnvironmentFault */
  async take(): Promise<StartedServer> {
    const early = await this.#ahead.shift()?.catch(() => undefined)
    const isReady = early !== undefined && !early.connection.isLost
    if (!isReady) await early?.end()
    const server = isReady ? early : await this.#started()
    while (!this.#isClosed && this.#ahead.length < this.#limits.ahead) this.#add(this.#started())
    return server
  }

  /** Takes back a server that has played nothing. */
  async putBack(server: StartedServer): Promise<void> {
    if (this.#isClosed || this.#limits.ahead === 0) await server.end()
    else this.#ahead.unshift(Promise.resolve(server))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    for (const go of this.#waiting.splice(0)) go()
    this.#ahead.length = 0
    await Promise.allSettled(this.#starts)
    await Promise.all([...this.#all].map((server) => server.end()))
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  #add(server: Promise<StartedServer>): void {
    // Its fault is that of the episode that would have it, which starts another.
    server.catch(() => undefined)
    this.#ahead.push(server)
  }

  async #started(): Promise<StartedServer> {
    while (!this.#isClosed && this.#starts.size >= this.#limits.starting)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    if (this.#isClosed) throw closed()
    const start = this.#start(this.#closing.signal).then((server) => this.#owned(server))
    this.#starts.add(start)
    try {
      return await start
    } finally {
      this.#starts.delete(start)
      this.#waiting.shift()?.()
    }
  }

  async #owned(started: StartedServer): Promise<StartedServer> {
    const server: StartedServer = {
      connection: started.connection,
      folder: started.folder,
      end: async () => {
        this.#all.delete(server)
        await started.end()
      },
    }
    this.#all.add(server)
    if (!this.#isClosed) return server
    await server.end()
    throw closed()
  }
}

function closed(): EnvironmentFault {
  return new EnvironmentFault('session_lost', 'the task is closed')
}
