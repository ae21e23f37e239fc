/**
 * Repeated failures: work whose attempts fail with the same message is given up, because another attempt would fail too.
 *
 * Invariants
 * - [REPEATED-1] Failures of rules, code and commands end their work when the same message comes again; failures of disks, servers and
 *   processes that were killed do not.
 * - Messages that differ only in numbers and names of temporary files are the same.
 */
import { asyncLocalStorage } from '@temporalio/activity'
import { Fault } from '../../faults/fault.ts'

/** By class and kind: failures in a row with the same message after which the work is given up. */
const givenUpAfter: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // Each attempt computes the whole update again.
  TrainerFault: { bad_answer: 2, bad_checkpoint: 2, backend: 2, crashed: 2 },
  // An attempt takes milliseconds, and the network that an environment asks may fail for a moment.
  EnvironmentFault: { failed: 3, no_answer: 2 },
}
/** Errors of code, by the names that JavaScript gives them. */
const errorsOfCode: ReadonlySet<string> = new Set([
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
])
const errorOfCodeLimit = 2
/** Works whose failures are remembered. */
const mostRemembered = 1000

interface Remembered {
  readonly words: string
  readonly count: number
}

/** The last failure of each work of this process. */
const remembered = new Map<string, Remembered>()

/** Counts a failure of the call in progress. @returns whether the work is to be given up */
export function isGivenUp(error: unknown): boolean {
  const limit = limitOf(error)
  const work = workInProgress()
  if (limit === undefined || work === undefined || !(error instanceof Error)) return false
  const words = `${error.name} ${wordsOf(error)}`
  const before = remembered.get(work)
  const count = before?.words === words ? before.count + 1 : 1
  remembered.delete(work)
  remembered.set(work, { words, count })
  const [oldest] = remembered.keys()
  if (remembered.size > mostRemembered && oldest !== undefined) remembered.delete(oldest)
  return count >= limit
}

function limitOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  if (!(error instanceof Fault)) return errorsOfCode.has(error.name) ? errorOfCodeLimit : undefined
  // The process was killed for lack of memory, or by a person: the next attempt may succeed.
  if (error.kind === 'crashed' && /ended with SIG/.test(error.message)) return undefined
  return givenUpAfter[error.name]?.[error.kind]
}

function workInProgress(): string | undefined {
  const info = asyncLocalStorage.getStore()?.info
  return info && `${info.workflowExecution?.workflowId} ${info.activityId}`
}

function wordsOf({ message }: Error): string {
  return message.replaceAll(/[0-9a-f]{6,}|\d+/g, '#')
}
