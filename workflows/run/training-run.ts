/**
 * Training run: the algorithm of AgentRL as one durable workflow.
 *
 * Invariants
 * - [RUN-1] Every admitted group takes part in at most one update, and every update is done once.
 * - [RUN-2] Generation and training overlap, bounded by the staleness η; η = 0 is synchronous training.
 * - [RUN-3] The run continues as new with its whole state; groups and evaluations outlive it and report by id.
 * - [RUN-4] A child that ends without a report is noticed, and another child does its work.
 * - [RUN-5] Evaluations do not block training, unless several rounds of them pile up or `evaluation.blocking`; the run ends when the last of
 *   them has reported.
 * - [RUN-6] Where the store is older or newer than the workflow, as after a power cut, the store holds (`stored-restart.ts`).
 *
 * From the paper (arXiv 2510.04206) to the line
 * - asynchronous pipeline: `trainingRun` here, `admitGroups` in `workflows/run/training-groups.ts`, `admissible` and `nextBatch` in
 *   `learning/rollout/admission.ts`
 * - cross-policy sampling: `drawVersion`, `refreshPool` in `learning/rollout/cross-policy.ts`
 * - group advantage: `groupAdvantages` in `learning/algorithms/group-rewards.ts`
 * - task advantage normalization: `normalizeByTask` in `learning/algorithms/task-normalization.ts`
 * - objective: of one token `tokenLoss` in `learning/loss/objective.ts`, of one update `runUpdate` in `policy/trainer/update/update.ts`
 * - controller: `rolloutGroup` in `workflows/play/rollout-group.ts`, `episode` in `workflows/play/episode.ts`, `createSessions` in `activities/play/sessions.ts`
 * - function-call interface: `parseActionText` in `policy/calls/action-parsing.ts`, `Environment` in `envs/contract/environment.ts`
 * - containers: `openSandbox` in `worlds/containers/open.ts`
 * - evaluation: `evaluation` in `workflows/play/evaluation.ts`, `suiteStatistics` in `learning/evaluation/suite-statistics.ts`
 */
import {
  ApplicationFailure,
  CancellationScope,
  condition,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow'
import { type RunProgress, searchAttributes } from '../../contract/messages.ts'
import { isWarm, type TrainingState } from '../../contract/training-state.ts'
import { groupId } from '../../identity/identity.ts'
import { budgetText } from '../../learning/run/budget.ts'
import { keptVersions, versionsInUse } from '../../learning/run/versions-in-use.ts'
import { whileWatching } from '../calls/child-watch.ts'
import { runActivities, trainingActivities } from '../calls/dispatch.ts'
import { differsFromStore } from '../calls/failure-reason.ts'
import { retryOnFileFaults } from '../calls/file-fault-retry.ts'
import { describe, showPhase } from '../page/training-details.ts'
import { unplayableWords } from '../state/fruitless-groups.ts'
import { progressOf } from '../state/training-progress.ts'
import { giveUpInFlight } from '../state/transitions/groups.ts'
import { followInstances } from '../state/transitions/left-out.ts'
import {
  beginWarmStart,
  countChunk,
  preparingPhase,
  settleSpending,
  trainingPhase,
} from '../state/transitions/phase.ts'
import { mayUpdate, roomForGroups, updatesLeft } from '../state/transitions/pipeline.ts'
import { settleUpdate, skippedFor, startBatch } from '../state/transitions/update.ts'
import { recordVersion } from '../state/transitions/versions.ts'
import { recordOrders, settleOrders } from './audit-trail.ts'
import { continueWhenLong, isLong } from './continuation.ts'
import { holdOff } from './hold-off.ts'
import { pauseAfterRefusal } from './refused-update.ts'
import { restoreVersion } from './rollback.ts'
import { cancelGroups, leaveOverdue, listen } from './steering.ts'
import { restartFromStore } from './stored-restart.ts'
import { takeOverChildren } from './training-children.ts'
import { fail, finish, unlessStoppedNow } from './training-ending.ts'
import { startEvaluations } from './training-evaluations.ts'
import { admitGroups } from './training-groups.ts'

/** Trains a policy until all updates are done or the run is stopped. */
export async function trainingRun(state: TrainingState): Promise<RunProgress> {
  listen(state)
  const training = new CancellationScope()
  try {
    await training.run(() => whileWatching(state, () => train(state)))
    return progressOf(state)
  } catch (error) {
    // The restart from the store needs nothing of this state.
    if (differsFromStore(error)) training.cancel()
    await CancellationScope.nonCancellable(() =>
      differsFromStore(error) ? restartFromStore(state, error) : fail(state, error),
    )
    throw error
  }
}

async function train(state: TrainingState): Promise<void> {
  await takeOverChildren(state)
  await warmStart(state)
  await settleMadeUpdate(state)
  let waitedSeconds = 0
  while (updatesLeft(state) > 0 && !state.stopRequested) {
    await continueWhenLong(state)
    await rollBack(state)
    endWhereNothingPlays(state)
    // More groups than fit may be due where the store had the last update with others than this execution chose.
    await leaveOverdue(state)
    await holdOff(state)
    await admitGroups(state)
    waitedSeconds += await waitForBatch(state)
    if (!mayUpdate(state)) continue
    await updatePolicy(state, waitedSeconds)
    waitedSeconds = 0
  }
  await finish(state)
}

/** @throws ApplicationFailure, which ends the run with the reason */
function endWhereNothingPlays(state: TrainingState): void {
  const reason = unplayableWords(state)
  if (reason !== undefined) throw ApplicationFailure.nonRetryable(reason, 'EnvironmentFault')
}

/** Version 0: a fresh or given policy, after supervised training on demonstrations where asked for. */
async function warmStart(state: TrainingState): Promise<void> {
  if (isWarm(state)) return
  showPhase(state, preparingPhase(state.config))
  const { run } = state
  if (state.warmStart === null) {
    const { sizes } = await retryOnFileFaults(() => trainingActivities.preparePolicy({ run }))
    followInstances(state, sizes)
    beginWarmStart(state)
  }
  while (!isWarm(state) && !state.stopRequested) {
    await continueWhenLong(state)
    const chunk = state.warmStart?.done ?? 0
    const imitation = await unlessStoppedNow(state, () =>
      retryOnFileFaults(() => trainingActivities.imitateDemonstrations({ run, chunk })),
    )
    if (imitation === undefined) return
    countChunk(state, imitation)
    setCurrentDetails(describe(state))
  }
  if (!isWarm(state)) return
  // The store keeps this phase until the first update; readers must not see the warm start again.
  showPhase(state, trainingPhase(state))
  await publish(state, 0)
  await startEvaluations(state, 'due')
}

/** Waits until an update can start, a group can be admitted, an order arrives, or the history is long. */
async function waitForBatch(state: TrainingState): Promise<number> {
  showPhase(state, trainingPhase(state))
  const since = Date.now()
  const mayProceed = () => !state.paused && (mayUpdate(state) || roomForGroups(state) > 0)
  await condition(() => state.stopRequested || state.rollBackTo !== null || mayProceed() || isLong(state))
  return (Date.now() - since) / 1000
}

/** One update: the oldest ready groups train the policy, and the next version is published. */
async function updatePolicy(state: TrainingState, waitedSeconds: number): Promise<void> {
  const groups = startBatch(state)
  const updating = () =>
    trainingActivities.updatePolicy({
      run: state.run,
      step: state.step + 1,
      version: state.version,
      groups: groups.map(({ number, version }) => ({ group: groupId(state.run, number), version })),
      skipped: skippedFor(state).map((number) => groupId(state.run, number)),
      learning: state.learning,
      taskWeights: state.weights,
      waitedSeconds,
    })
  const [update] = await Promise.all([
    unlessStoppedNow(state, () => retryOnFileFaults(updating)),
    settleOrders(state),
  ])
  if (update === undefined) return
  settleUpdate(state, update)
  if (update.refused !== undefined) await pauseAfterRefusal(state, update.refused)
  await publish(state, update.version)
  if (!state.stopNow) await startEvaluations(state, 'due')
}

/** Counts an update that the execution before made, also where the run must stop. */
async function settleMadeUpdate(state: TrainingState): Promise<void> {
  if (state.made === state.step + 1) await updatePolicy(state, 0)
}

/** Continues from an earlier version's weights, if an order asked for it. */
async function rollBack(state: TrainingState): Promise<void> {
  const version = await restoreVersion(state)
  if (version !== undefined) await publish(state, version)
}

/** Turns are sampled from the version from now on; versions without a use are deleted. */
async function publish(state: TrainingState, version: number): Promise<void> {
  recordVersion(state, version)
  const published = await runActivities.publishVersion({
    run: state.run,
    step: state.step,
    version,
    inUse: [...versionsInUse(state)],
    kept: [...keptVersions(state)],
    state: JSON.stringify(state),
    at: Date.now(),
  })
  // An activity of an earlier build answers nothing.
  if (settleSpending(state, published?.spent)) await endByBudget(state)
  upsertSearchAttributes([{ key: searchAttributes.version, value: version }])
  setCurrentDetails(describe(state))
}

/** Where the budget is spent no update takes the groups that are being played. */
async function endByBudget(state: TrainingState): Promise<void> {
  const reason = `the budget is spent: ${budgetText(state.config.training.stop ?? {})}`
  await cancelGroups(state, giveUpInFlight(state))
  await recordOrders(state, [
    { by: 'training.stop', what: 'budget', from: state.phase, to: 'done', holds: 'now', reason },
  ])
}
