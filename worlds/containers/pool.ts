/**
 * The warm pool: containers that are ready before they are asked for.
 *
 * Invariants
 * - [WARM-POOL-1] A container is handed out once; one that has ended while it waited is never handed out.
 * - [WARM-POOL-2] As many as are wanted are kept ready, and no more than `startsAtOnce` are started at a time.
 * - [WARM-POOL-3] After `close` nothing is started, and nothing that was ready is left.
 */

import { reasonOf } from '../../faults/reason.ts'
import { ContainerFault } from './fault.ts'
import type { Container, ContainerSpec } from './sandbox.ts'

/** Starting a container keeps a core busy; more at once only delay each other. */
const startsAtOnce = 4
/** After a failed start of a container that no session waits for. */
const retryMs = 5_000

export interface Pool {
  acquire(spec: ContainerSpec): Promise<Container>
  keepWarm(spec: ContainerSpec, count: number): void
  /** Settles when as many are ready as are wanted, or none more can be had. */
  whenWarm(): Promise<void>
  close(): Promise<void>
}

interface Shelf {
  readonly spec: ContainerSpec
  readonly ready: Container[]
  wanted: number
  starting: number
  /** No start before this time, in milliseconds since the epoch. */
  notBefore: number
}

/** @param start makes a container that `close` of the pool, or its user, releases */
export function createPool(
  start: (spec: ContainerSpec) => Promise<Container>,
  log: (line: string) => void,
): Pool {
  const shelves = new Map<string, Shelf>()
  const background = new Set<Promise<void>>()
  const turns: (() => void)[] = []
  let running = 0
  let closed = false
  let retry: NodeJS.Timeout | undefined

  function shelfOf(spec: ContainerSpec): Shelf {
    const key = JSON.stringify(spec)
    const known = shelves.get(key)
    if (known !== undefined) return known
    const shelf: Shelf = { spec, ready: [], wanted: 0, starting: 0, notBefore: 0 }
    shelves.set(key, shelf)
    return shelf
  }

  async function startInTurn(spec: ContainerSpec): Promise<Container> {
    if (running >= startsAtOnce) await new Promise<void>((resolve) => turns.push(resolve))
    else running += 1
    try {
      if (closed) throw new ContainerFault('backend', 'the sandbox was closed')
      return await start(spec)
    } finally {
      // The turn goes to the next, or ends.
      const next = turns.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }

  function refill(shelf: Shelf): void {
    if (closed || Date.now() < shelf.notBefore) return
    while (shelf.ready.length + shelf.starting < shelf.wanted) {
      shelf.starting += 1
      const work = startOne(shelf).finally(() => background.delete(work))
      background.add(work)
    }
  }

  async function startOne(shelf: Shelf): Promise<void> {
    try {
      const container = await startInTurn(shelf.spec)
      if (closed) await container.release()
      else shelf.ready.push(container)
    } catch (error) {
      if (closed) return
      log(`no container could be made ready: ${reasonOf(error)}`)
      shelf.notBefore = Date.now() + retryMs
      retry ??= setTimeout(() => {
        retry = undefined
        for (const each of shelves.values()) refill(each)
      }, retryMs + 1).unref()
    } finally {
      shelf.starting -= 1
    }
  }

  async function whenWarm(): Promise<void> {
    while (background.size > 0) await Promise.all(background)
  }

  return {
    async acquire(spec) {
      const shelf = shelfOf(spec)
      for (;;) {
        const container = shelf.ready.shift()
        refill(shelf)
        if (container === undefined) return startInTurn(spec)
        if (container.alive) return container
        await container.release()
      }
    },

    keepWarm(spec, count) {
      const shelf = shelfOf(spec)
      shelf.wanted = count
      refill(shelf)
    },

    whenWarm,

    async close() {
      closed = true
      clearTimeout(retry)
      await whenWarm()
      const ready = [...shelves.values()].flatMap((shelf) => shelf.ready.splice(0))
      await Promise.all(ready.map((container) => container.release()))
    },
  }
}
