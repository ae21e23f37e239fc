/**
 * Counts what runs cost in a process with workers.
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

interface CostOptions {
  readonly costs: Pick<RunCosts, 'add'>
  /** Runs that have not ended. */
  readonly running: () => Promise<readonly { readonly run: RunId }[]>
  readonly log: (line: string) => void
  readonly everyMs?: number | undefined
  /** Seconds that this process has computed since it began. */
  readonly cpuSeconds?: () => number
}

/** Cost of runs in this process: its processor time, divided among the runs in progress. */
export interface CostCount extends AsyncDisposable {
  /** Counts now; a count that fails is made up for later. */
  count(): Promise<void>
}

/** Counts now and then until it is disposed of. */
export function startCostCount(options: CostOptions): CostCount {
  const { costs, running, log, everyMs = usuallyEveryMs, cpuSeconds = ownCpuSeconds } = options
  const closing = new AbortController()
  const { signal } = closing
  let counted = cpuSeconds()
  /** Runs that were in progress at the last look: one that ended since has had its part. */
  let before: readonly RunId[] = []
  let hasFailed = false
  /** One count at a time: another would count the same time. */
  let counting: Promise<void> = Promise.resolve()

  async function countOnce(): Promise<void> {
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

  function count(): Promise<void> {
    counting = counting.then(countOnce).catch((error: unknown) => {
      if (!hasFailed && !signal.aborted)
        log(`what runs cost is not counted at the moment: ${reasonOf(error)}`)
      hasFailed = true
    })
    return counting
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(everyMs, { signal, ref: false }).catch(() => undefined)
      await count()
    }
  }

  const working = work()
  return {
    count,
    async [Symbol.asyncDispose]() {
      closing.abort()
      await working
    },
  }
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
