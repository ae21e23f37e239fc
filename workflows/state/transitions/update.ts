/**
 * An update: the groups that it takes, and what it leaves when it is done.
 *
 * Invariants
 * - [UPDATE-TRANSITION-1] A group is in one batch at most: a consumed group is neither ready nor skipped for another update, also
 *   where the store decided otherwise than this execution. A group that an update left out is ready again.
 */
import type { UpdateResult } from '../../../activities/update/policy-update.ts'
import type { GroupReady } from '../../../contract/training-state.ts'
import { groupId } from '../../../identity/identity.ts'
import { blendedWeights } from '../../../learning/rollout/adaptive-pool.ts'
import { type LearningSignal, standstillAfter } from '../../../learning/run/learning-signal.ts'
import type { Changing } from './changing.ts'
import { nextBatchOf } from './pipeline.ts'

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

/** Records the learning signal of an update. */
export function receiveSignal(state: Changing, signal: LearningSignal): void {
  state.nothingLearnt = standstillAfter(state.nothingLearnt, signal)
  if (state.nothingLearnt !== null) state.emptyUpdates += 1
}
