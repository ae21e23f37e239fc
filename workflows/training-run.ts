/**
 * Training run: the algorithm of AgentRL as one durable workflow.
 *
 * Invariants
 * - Every admitted group takes part in at most one update, and every update is done once.
 * - Generation and training overlap, bounded by the staleness η; η = 0 is synchronous training.
 * - The run continues as new with its whole state; groups and evaluations outlive it and report by id.
 * - A child that ends without a report is noticed, and what it was to do is done by another.
 * - Evaluations do not block training, unless several rounds of them pile up; the run ends when the last of them has reported.
 */
import { CancellationScope, condition, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow'
import { groupId } from '../identity.ts'
import { refreshPool } from '../learning/cross-policy.ts'
import { settleOrders } from './audit-trail.ts'
import { whileWatching } from './child-watch.ts'
import { continueWhenLong, isLong } from './continuation.ts'
import { runActivities, trainingActivities } from './dispatch.ts'
import { holdOff } from './hold-off.ts'
import { type RunProgress, searchAttributes } from './messages.ts'
import { patiently } from './patience.ts'
import { restoreVersion } from './rollback.ts'
import { listen } from './steering.ts'
import { takeOverChildren } from './training-children.ts'
import { describe, enter } from './training-details.ts'
import { fail, finish, unlessStoppedNow } from './training-ending.ts'
import { startEvaluations } from './training-evaluations.ts'
import { admitGroups } from './training-groups.ts'
import {
  currentState,
  keptVersions,
  mayUpdate,
  progressOf,
  receiveSignal,
  roomForGroups,
  settleBatch,
  type TrainingState,
  takeBatch,
  versionsInUse,
} from './training-state.ts'

/** Trains a policy until all updates are done or the run is stopped. */
export async function trainingRun(carried: TrainingState): Promise<RunProgress> {
  const state = currentState(carried)
  listen(state)
  try {
    await whileWatching(state, () => train(state))
    return progressOf(state)
  } catch (error) {
    await CancellationScope.nonCancellable(() => fail(state, error))
    throw error
  }
}

async function train(state: TrainingState): Promise<void> {
  await takeOverChildren(state)
  await warmStart(state)
  while (state.step < state.config.training.updates && !state.stopRequested) {
    await continueWhenLong(state)
    await rollBack(state)
    await holdOff(state)
    await admitGroups(state)
    const waitedSeconds = await waitForBatch(state)
    if (mayUpdate(state)) await updatePolicy(state, waitedSeconds)
  }
  await finish(state)
}

/** Version 0: a fresh or given policy, after supervised training on demonstrations where asked for. */
async function warmStart(state: TrainingState): Promise<void> {
  if (state.warmStart !== null && state.warmStart.done === state.warmStart.total) return
  enter(state, 'warm_start')
  const { run, config } = state
  if (state.warmStart === null) {
    await patiently(() => trainingActivities.preparePolicy({ run }))
    state.warmStart = { done: 0, total: config.warmStart.demonstrations === 0 ? 0 : config.warmStart.chunks }
  }
  while (state.warmStart.done < state.warmStart.total && !state.stopRequested) {
    await continueWhenLong(state)
    const chunk = state.warmStart.done
    await unlessStoppedNow(state, () =>
      patiently(() => trainingActivities.imitateDemonstrations({ run, chunk })),
    )
    if (state.stopNow) return
    state.warmStart.done += 1
    setCurrentDetails(describe(state))
  }
  if (state.warmStart.done < state.warmStart.total) return
  await publish(state, 0)
  await startEvaluations(state, 'due')
}

/** Waits until an update can start, a group can be admitted, somebody steers, or the history is long. */
async function waitForBatch(state: TrainingState): Promise<number> {
  enter(state, state.paused ? 'paused' : 'training')
  const since = Date.now()
  const mayGoOn = () => !state.paused && (mayUpdate(state) || roomForGroups(state) > 0)
  await condition(() => state.stopRequested || state.rollBackTo !== null || mayGoOn() || isLong(state))
  return (Date.now() - since) / 1000
}

/** One update: the oldest ready groups train the policy, and the next version is published. */
async function updatePolicy(state: TrainingState, waitedSeconds: number): Promise<void> {
  const groups = takeBatch(state)
  const updating = () =>
    trainingActivities.updatePolicy({
      run: state.run,
      step: state.step + 1,
      version: state.version,
      groups: groups.map(({ number, version }) => ({ group: groupId(state.run, number), version })),
      learning: state.learning,
      waitedSeconds,
    })
  const [update] = await Promise.all([
    unlessStoppedNow(state, () => patiently(updating)),
    settleOrders(state),
  ])
  if (update === undefined) return
  state.step += 1
  settleBatch(state, update.groups)
  state.success = update.success
  state.reward = update.reward
  state.samples = update.samples
  state.staleness = update.staleness
  receiveSignal(state, update.signal)
  await publish(state, update.version)
  if (!state.stopNow) await startEvaluations(state, 'due')
}

/** Goes on from an earlier version's weights, when somebody asked for it. */
async function rollBack(state: TrainingState): Promise<void> {
  const version = await restoreVersion(state)
  if (version !== undefined) await publish(state, version)
}

/** Makes a version the one that turns are sampled from, and forgets those that nothing asks for. */
async function publish(state: TrainingState, version: number): Promise<void> {
  state.version = version
  if (state.step > 0)
    state.pool = refreshPool(state.pool, { step: state.step, current: version }, state.config.crossPolicy)
  await runActivities.publishVersion({
    run: state.run,
    step: state.step,
    version,
    inUse: [...versionsInUse(state)],
    kept: [...keptVersions(state)],
    state: JSON.stringify(state),
  })
  upsertSearchAttributes([{ key: searchAttributes.version, value: version }])
  setCurrentDetails(describe(state))
}
