/**
 * Versions of a run: published, kept, rolled back.
 *
 * Invariants
 * - The version of a state only grows.
 * - [UPDATE-TRANSITION-1] A group is in one batch at most: a consumed group is neither ready nor skipped for another update, also
 *   where the store decided otherwise than this execution. A group that an update left out is ready again.
 */

import type { UpdateResult } from '../../../activities/update/policy-update.ts'
import type { GroupReady } from '../../../contract/training-state.ts'
import { groupId } from '../../../identity/identity.ts'
import { blendedWeights } from '../../../learning/rollout/adaptive-pool.ts'
import { refreshPool } from '../../../learning/rollout/cross-policy.ts'
import { type LearningSignal, standstillAfter } from '../../../learning/run/learning-signal.ts'
import { carriedPins } from '../../../learning/run/state-bounds.ts'
import type { Changing } from './changing.ts'
import { nextBatchOf } from './pipeline.ts'

/** Turns are sampled from the version from now on; after an update the pool may admit it. */
export function recordVersion(state: Changing, version: number): void {
  const { version: before, pool, config } = state
  state.version = version
  if (state.step > 0) state.pool = refreshPool(pool, { before, current: version }, config.crossPolicy)
}

/** Keeps the checkpoint of a version; the state holds the latest of them. */
export function pin(state: Changing, version: number): void {
  state.pinned = [...state.pinned.filter((other) => other !== version), version].slice(-carriedPins)
}

/** Asks for an earlier version's weights after the update in progress; a later order replaces this one. */
export function askForRollBack(state: Changing, to: number): void {
  state.rollBackTo = to
}

/** Ends the request for a roll-back that was tried; a later request is carried out next. */
export function settleRollBack(state: Changing, to: number): void {
  if (state.rollBackTo === to) state.rollBackTo = null
}

/** Begins a new line with the restored version; versions newer than its origin are sampled from no more. */
export function beginLine(
  state: Changing,
  { version, origin }: { readonly version: number; readonly origin: number },
): void {
  state.version = version
  state.lineStart = version
  state.pool = state.pool.filter((member) => member <= origin)
}

/** Moves the groups of the next update into training, in the order of their numbers. */
export function startBatch(state: Changing): readonly GroupReady[] {
  const taken = new Set(nextBatchOf(state))
  state.training = state.ready.filter((_, index) => taken.has(index)).sort((a, b) => a.number - b.number)
  state.ready = state.ready.filter((_, index) => !taken.has(index))
  return state.training
}

/** Groups that were skipped for the next update, which consumes them too. */
export function skippedFor({ skipped, step }: Pick<Changing, 'skipped' | 'step'>): readonly number[] {
  return skipped.find((each) => each.step === step + 1)?.numbers ?? []
}

/** Counts an update that is done: its groups are gone, its figures are the latest. Its version is published next. */
export function settleUpdate(
  state: Changing,
  { groups, success, reward, samples, staleness, signal, memberWeights = [] }: Omit<UpdateResult, 'version'>,
): void {
  const taken = new Set<string>(groups)
  const isLeft = ({ number }: Pick<GroupReady, 'number'>) => !taken.has(groupId(state.run, number))
  state.step += 1
  state.ready = [...state.training, ...state.ready].filter(isLeft)
  state.training = []
  // Played again because the workflow had lost it: its report comes too late for any update.
  state.inFlight = state.inFlight.filter(isLeft)
  // A group that an update was to skip and left out is spent all the same: it teaches nothing.
  state.skipped = state.skipped
    .filter(({ step }) => step > state.step)
    .map(({ step, numbers }) => ({ step, numbers: numbers.filter((number) => isLeft({ number })) }))
  state.success = success
  state.reward = reward
  state.samples = samples
  state.staleness = staleness
  state.memberWeights = blendedWeights(state.memberWeights, memberWeights, state.pool)
  receiveSignal(state, signal)
}

/** Records the learning signal of an update; an older build of the trainer reports none. */
export function receiveSignal(state: Changing, signal: LearningSignal | undefined): void {
  if (signal === undefined) return
  state.nothingLearnt = standstillAfter(state.nothingLearnt, signal)
  if (state.nothingLearnt !== null) state.emptyUpdates += 1
}
