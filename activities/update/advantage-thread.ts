/**
 * Advantages of modules, computed in a thread of their own.
 *
 * Invariants
 * - [ADVANTAGE-THREAD-1] A module sees copies, and neither ends nor blocks the process: one that calls `process.exit`, or does not
 *   answer in time, is refused by name.
 * - The thread ends with the process. A lost thread fails its calls; the next call starts another.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { AdvantageGroup } from '../../learning/algorithms/custom-advantage.ts'
import { ExternalFault } from '../../machine/modules/external-module.ts'
import { ThreadCalls } from '../../machine/modules/thread-calls.ts'
import { clock } from '../../machine/services/clock.ts'

/** The methods of the thread. */
export type AdvantageMethods = {
  readonly advantages: {
    readonly request: {
      /** Path of the module. */
      readonly module: string
      readonly groups: readonly AdvantageGroup[]
    }
    /** [groups][group] one number, or [turns] */
    readonly reply: readonly (readonly (readonly number[])[])[]
  }
}

/** Some arithmetic on the rewards of an update takes milliseconds. */
const answerMs = 60_000

let thread: { readonly worker: Worker; readonly calls: ThreadCalls<AdvantageMethods> } | undefined

/**
 * Advantages that a module computes for groups; for no groups, a check whether the module can be used.
 * @returns [groups][group] one number, or [turns]
 * @throws ExternalFault
 */
export async function moduleAdvantages(
  module: string,
  groups: readonly AdvantageGroup[],
  limitMs = answerMs,
): Promise<AdvantageMethods['advantages']['reply']> {
  if (thread === undefined || thread.calls.isLost) thread = start()
  const { worker, calls } = thread
  const answered = new AbortController()
  const tooLong = clock.sleep(limitMs, { signal: answered.signal }).then(
    () => {
      calls.fail(
        new ExternalFault(
          'bad_result',
          `the advantage of ${module} did not answer within ${limitMs / 1000} s`,
        ),
      )
      return worker.terminate()
    },
    () => undefined,
  )
  try {
    return await calls.call('advantages', { module, groups })
  } finally {
    answered.abort()
    await tooLong
  }
}

function start() {
  // The same folder holds the thread's module as source and in the package, under either extension.
  const worker = new Worker(new URL(`./advantage-worker${extname(import.meta.url)}`, import.meta.url), {
    name: 'advantages',
  })
  const calls = new ThreadCalls<AdvantageMethods>(worker, {
    faults: [ExternalFault],
    onLoss: (loss) =>
      new ExternalFault(
        'bad_result',
        `the thread of advantages of modules ${'cause' in loss ? `failed: ${loss.cause}` : `ended with code ${loss.exitCode}`}`,
        'cause' in loss ? { cause: loss.cause } : {},
      ),
  })
  return { worker, calls }
}
