/**
 * A pool of processes of one command: a session borrows one, and gives it back for the next session.
 *
 * Invariants
 * - A process serves one session at a time, so that what one agent does reaches no other's session.
 * - A process that is lost or was asked for more than it answered is never lent again.
 * - [PROCESS-POOL-1] After closing, no process is left, and no session waits for one.
 * - [PROCESS-POOL-2] Only so many start at once: more would take longer together than each may. A session that waits for a start gets a
 *   process that is given back meanwhile.
 * - [PROCESS-POOL-3] A process that no session has used for a minute is ended: the pool of a run that is over keeps none.
 */
import { availableParallelism } from 'node:os'
import { clock, type Timer } from '../../machine/services/clock.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import type { LineProcess } from './line-process.ts'

export interface ProcessPool {
  /** A ready process. @throws EnvironmentFault none can be started */
  borrow(): Promise<LineProcess>
  /** Takes in a process that was started elsewhere and is ready. */
  adopt(process: LineProcess): Promise<void>
  /** Takes a process back; a lost one is ended. */
  giveBack(process: LineProcess): Promise<void>
  /** Ends all processes, lent ones too. */
  close(): Promise<void>
}

/** Idle processes that are kept: those of the episodes of an update, for a start can cost more than the episode. */
const idleLimit = 128

/** Longer than most updates take between their episodes. */
const idleMs = 60_000

interface Idle {
  readonly process: LineProcess
  readonly ending: Timer
}

/** @param start starts a process and waits until it can serve a session */
export function createProcessPool(
  start: () => Promise<LineProcess>,
  startLimit = availableParallelism() + 1,
): ProcessPool {
  const idle: Idle[] = []
  const all = new Set<LineProcess>()
  const waiting: (() => void)[] = []
  let starting = 0
  let closed = false

  async function discard(process: LineProcess): Promise<void> {
    await process.end()
    all.delete(process)
  }

  function keep(process: LineProcess): void {
    const entry: Idle = { process, ending: clock.after(idleMs, () => endIdle(entry)).unref() }
    idle.push(entry)
  }

  function endIdle(entry: Idle): void {
    const position = idle.indexOf(entry)
    if (position < 0) return
    idle.splice(position, 1)
    // The pool tries again when it closes, and reports a failure then.
    discard(entry.process).catch(() => undefined)
  }

  async function started(): Promise<LineProcess> {
    starting++
    try {
      const process = await start()
      all.add(process)
      if (!closed) return process
      await discard(process)
      throw new EnvironmentFault('session_lost', 'the task is closed')
    } finally {
      starting--
      waiting.shift()?.()
    }
  }

  return {
    async borrow() {
      for (;;) {
        const { process, ending } = idle.pop() ?? {}
        ending?.cancel()
        if (process?.alive) return process
        if (process !== undefined) await discard(process)
        else if (closed) throw new EnvironmentFault('session_lost', 'the task is closed')
        else if (starting < startLimit) return started()
        // Nothing is awaited between the look at the idle ones and this, or what is given back in between would be missed.
        else await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },

    async adopt(process) {
      all.add(process)
      await this.giveBack(process)
    },

    async giveBack(process) {
      if (!all.has(process)) return
      if (process.alive && !closed && idle.length < idleLimit) keep(process)
      else await discard(process)
      waiting.shift()?.()
    },

    async close() {
      closed = true
      for (const { ending } of idle.splice(0)) ending.cancel()
      for (const go of waiting.splice(0)) go()
      await Promise.all([...all].map(discard))
    },
  }
}
