/**
 * Advantages of a batch: by an algorithm that comes with Perdure, or by that of a module in a thread of its own.
 *
 * Invariants
 * - [ADVANTAGE-THREAD-1] A module sees copies, and neither ends nor blocks the process: one that calls `process.exit`, or does not
 *   answer in time, is refused by name.
 * - The thread ends with the process. A lost thread fails its calls; the next call starts another.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { algorithms, isAlgorithmName } from '../../learning/algorithms/algorithms.ts'
import {
  type BatchAdvantages,
  type BatchGroup,
  batchAdvantages,
  type ComparisonRules,
} from '../../learning/algorithms/batch-advantages.ts'
import { ExternalFault } from '../../machine/modules/external-module.ts'
import { ThreadCalls } from '../../machine/modules/thread-calls.ts'
import { clock } from '../../machine/services/clock.ts'

/** The methods of the thread. */
export type AdvantageMethods = {
  readonly advantages: {
    readonly request: ComparisonRules & {
      /** Path of the module. */
      readonly module: string
      readonly groups: readonly BatchGroup[]
    }
    readonly reply: BatchAdvantages
  }
}

/** Some arithmetic on the rewards of an update takes milliseconds. */
const answerMs = 60_000

let thread: { readonly worker: Worker; readonly calls: ThreadCalls<AdvantageMethods> } | undefined

/**
 * Advantages that an algorithm gives the groups of a batch.
 * @param algorithm name, or path of a module; no groups check whether that can be used
 * @throws ExternalFault
 */
export async function advantagesBy(
  algorithm: string,
  groups: readonly BatchGroup[],
  { stepGroups, earlier }: ComparisonRules,
  limitMs = answerMs,
): Promise<BatchAdvantages> {
  const rules = { stepGroups, ...(earlier === undefined ? {} : { earlier }) }
  if (isAlgorithmName(algorithm)) return batchAdvantages(algorithms[algorithm], groups, rules)
  if (thread === undefined || thread.calls.isLost) thread = start()
  const { worker, calls } = thread
  const answered = new AbortController()
  const tooLong = clock.sleep(limitMs, { signal: answered.signal }).then(
    () => {
      calls.fail(
        new ExternalFault(
          'bad_result',
          `the algorithm of ${algorithm} did not answer within ${limitMs / 1000} s`,
        ),
      )
      return worker.terminate()
    },
    () => undefined,
  )
  try {
    return await calls.call('advantages', { module: algorithm, groups, ...rules })
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
        `the thread of algorithms of modules ${'cause' in loss ? `failed: ${loss.cause}` : `ended with code ${loss.exitCode}`}`,
        'cause' in loss ? { cause: loss.cause } : {},
      ),
  })
  return { worker, calls }
}
