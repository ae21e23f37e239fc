/** Processes that are frozen by a test. */
import { readdirSync, readFileSync } from 'node:fs'
import { vi } from 'vitest'

/**
 * Freezes a process, and waits until all its threads stand still: on a busy machine some of them run on for a moment
 * after the signal, and may still answer a call.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await vi.waitFor(
    () => {
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')
        const state = stat.slice(stat.lastIndexOf(')') + 2)[0]
        if (state !== 'T') throw new Error(`thread ${thread} of process ${pid} still runs (${state})`)
      }
    },
    { timeout: 60_000, interval: 20 },
  )
}
