/**
 * Failure: how a fault leaves an activity.
 *
 * Invariants
 * - The failure's type is the class name of the fault, so that the UI and retry policies can tell them apart.
 * - Whether trying again can help is decided where the fault is defined, by its `permanent`.
 * - No secret that this process knows of leaves it: failures are kept in histories and in the store.
 * - [REWARDED-1] An episode without a reward is refused by name: a failed machine never becomes a reward of 0.
 * - [REPEATED-1] Failures of rules, code and commands end their work when the same message comes again; failures of disks, servers and
 *   processes that were killed do not.
 * - Messages that differ only in numbers and names of temporary files are the same.
 */

import { asyncLocalStorage } from '@temporalio/activity'
import { ApplicationFailure, TemporalFailure } from '@temporalio/common'
import { Fault } from '../../faults/fault.ts'
import type { EpisodeId } from '../../identity/identity.ts'
import { isRewarded, type Outcome } from '../../learning/evaluation/outcome.ts'
import { redact } from '../../machine/secrets/secret.ts'
import { type Activities, wrapEach } from './wrapping.ts'

/** The failure that Temporal records for a fault. @param isOver whether it was tried often enough */
export function failureOf(error: unknown, isOver = false): TemporalFailure {
  if (error instanceof TemporalFailure) return withoutSecrets(error)
  const fault = withoutSecrets(error instanceof Error ? error : new Error(String(error)))
  return ApplicationFailure.create({
    type: fault.name,
    message: fault.message,
    ...(fault instanceof Fault && { details: [{ kind: fault.kind }] }),
    nonRetryable: (fault instanceof Fault && fault.permanent) || isOver,
    cause: fault,
  })
}

/** The same error with secrets redacted in its message and those of its causes. */
function withoutSecrets<E extends Error>(error: E): E {
  error.message = redact(error.message)
  if (error.stack !== undefined) error.stack = redact(error.stack)
  if (error.cause instanceof Error) withoutSecrets(error.cause)
  return error
}

/** The same activities, with every fault turned into a failure. */
export function failing<A extends Activities>(activities: A): A {
  return wrapEach(activities, async (call) => {
    try {
      return await call()
    } catch (error) {
      throw failureOf(error, isGivenUp(error))
    }
  })
}

/** An episode whose outcome carries no reward is among those that learning compares. */
export class UnrewardedEpisode extends Fault<'unrewarded'> {
  override readonly name = 'UnrewardedEpisode'
  // A sealed outcome does not change.
  protected static override readonly permanentKinds = 'all'
}

/** @throws UnrewardedEpisode where it has none */
export function rewardOf(episode: EpisodeId, outcome: Outcome, reward: number | null): number {
  if (isRewarded(outcome) && reward !== null) return reward
  throw new UnrewardedEpisode(
    'unrewarded',
    `episode ${episode} ended with ${outcome}, which carries no reward, so it can take part in no group and no update; its sample is played again under a new attempt`,
  )
}

/** By class and kind: failures in a row with the same message after which the work is given up. */
const givenUpAfter: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // Each attempt computes the whole update again.
  TrainerFault: { bad_answer: 2, bad_checkpoint: 2, backend: 2, crashed: 2 },
  // An attempt takes milliseconds, and the network that an environment asks may fail for a moment.
  EnvironmentFault: { failed: 3, no_answer: 2 },
  // An attempt plays a whole episode, up to where the last one came at once.
  AgentFault: { crashed: 2, silent: 2 },
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
function isGivenUp(error: unknown): boolean {
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
