/**
 * A pool of processes of one command: a session borrows one, and gives it back for the next session.
 *
 * Invariants
 * - A process serves one session at a time, so that what one agent does reaches no other's session.
 * - A process that is lost or was asked for more than it answered is never lent again.
 * - After closing, no process is left.
 */
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

/** Idle processes that are kept for the next session. */
const idleLimit = 16

/** @param start starts a process and waits until it can serve a session */
export function createProcessPool(start: () => Promise<LineProcess>): ProcessPool {
  const idle: LineProcess[] = []
  const all = new Set<LineProcess>()
  let closed = false

  async function discard(process: LineProcess): Promise<void> {
    all.delete(process)
    await process.end()
  }

  return {
    async borrow() {
      for (let process = idle.pop(); process !== undefined; process = idle.pop()) {
        if (process.alive) return process
        await discard(process)
      }
      if (closed) throw new EnvironmentFault('session_lost', 'the task is closed')
      const process = await start()
      all.add(process)
      if (!closed) return process
      await discard(process)
      throw new EnvironmentFault('session_lost', 'the task is closed')
    },

    async adopt(process) {
      all.add(process)
      await this.giveBack(process)
    },

    async giveBack(process) {
      if (!all.has(process)) return
      if (process.alive && !closed && idle.length < idleLimit) idle.push(process)
      else await discard(process)
    },

    async close() {
      closed = true
      idle.length = 0
      await Promise.all([...all].map(discard))
    },
  }
}
