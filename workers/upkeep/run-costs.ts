/**
 * Cost of runs in this process: its processor time, divided among the runs in progress.
 *
 * Invariants
 * - [COSTS-1] All processor time of the process is counted, once: of one run at a time exactly, of several in equal parts.
 * - A killed process loses the time since its last count; the next count makes up for a failed one.
 */
import { reasonOf } from '../../faults/reason.ts'
import type { RunId } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import type { RunCosts } from '../../storage/records/run-costs.ts'

/** Rare enough to cost nothing, often enough that a killed process loses little. */
const usuallyEveryMs = 5_000

export interface CostCount {
  close(): Promise<void>
}

interface CostOptions {
  readonly costs: RunCosts
  /** Runs that have not ended. */
  readonly running: () => Promise<readonly { readonly run: RunId }[]>
  readonly log: (line: string) => void
  readonly everyMs?: number | undefined
  /** Seconds that this process has computed since it began. */
  readonly cpuSeconds?: () => number
}

/** Counts until it is closed. */
export function startCostCount(options: CostOptions): CostCount {
  const { costs, running, log, everyMs = usuallyEveryMs, cpuSeconds = ownCpuSeconds } = options
  const closing = new AbortController()
  const { signal } = closing
  let counted = cpuSeconds()
  /** Runs that were in progress at the last look: one that ended since has had its part. */
  let before: readonly RunId[] = []
  let hasFailed = false

  async function count(): Promise<void> {
    const now = (await running()).map(({ run }) => run)
    const shared = [...new Set([...before, ...now])]
    before = now
    const total = cpuSeconds()
    const part = (total - counted) / shared.length
    for (const run of shared) {
      await costs.add(run, part)
      counted += part
    }
    // CPU time that passes while no run is in progress is charged to none.
    counted = total
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(everyMs, { signal, ref: false }).catch(() => undefined)
      try {
        await count()
      } catch (error) {
        if (!hasFailed && !signal.aborted)
          log(`what runs cost is not counted at the moment: ${reasonOf(error)}`)
        hasFailed = true
      }
    }
  }

  const working = work()
  return {
    async close() {
      closing.abort()
      await working
    },
  }
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
