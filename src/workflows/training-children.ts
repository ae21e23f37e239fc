/**
 * Children of a training run: groups and evaluations, which outlive each execution of it.
 *
 * Invariants
 * - A child is started once per identity; starting it again finds it, or its result in the store.
 * - The next group's task follows the mix, its instance the task's own cursor.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import { ApplicationFailure, ParentClosePolicy, startChild } from '@temporalio/workflow'
import { type EvaluationId, groupId } from '../identity.ts'
import { nextTask } from '../learning/task-mix.ts'
import { groupFacts } from './details.ts'
import { evaluationActivities, groupActivities } from './dispatch.ts'
import { evaluation } from './evaluation.ts'
import { episodeRules, evaluationPlan, evaluationStart, playedOnce } from './evaluation-plan.ts'
import { hearEvaluation } from './gates.ts'
import { type GroupPlan, searchAttributes } from './messages.ts'
import { here, idHere } from './place.ts'
import { rolloutGroup } from './rollout-group.ts'
import { workflowTaskTimeout } from './task-queues.ts'
import { type GroupInFlight, receiveGroup, roomForGroups, type TrainingState } from './training-state.ts'

/** Starts as many groups as the staleness bound allows. */
export async function admitGroups(state: TrainingState): Promise<void> {
  if (state.paused || state.stopRequested) return
  const admitted: GroupInFlight[] = []
  for (let room = roomForGroups(state); room > 0; room--) {
    const taskIndex = nextTask(state.weights, state.admitted)
    const position = state.admitted[taskIndex] ?? 0
    state.admitted[taskIndex] = position + 1
    const group = { number: state.nextGroup, taskIndex, position, version: state.version, pool: state.pool }
    state.nextGroup += 1
    state.inFlight.push(group)
    admitted.push(group)
  }
  await Promise.all(admitted.map((group) => startGroup(state, group)))
}

/** After an execution that ended with children in flight: takes in what ended meanwhile, starts the rest again. */
export async function reattachChildren(state: TrainingState): Promise<void> {
  state.reattach = false
  await takeReports(state, state.inFlight)
  await Promise.all(state.inFlight.map((group) => startGroup(state, group)))
  const evaluating = state.evaluating
  state.evaluating = []
  for (const { suite, version } of evaluating) await startEvaluation(state, suite, version)
}

async function startGroup(state: TrainingState, group: GroupInFlight): Promise<void> {
  const plan = groupPlan(state, group)
  const isNew = await startOnce(() =>
    startChild(rolloutGroup, {
      workflowId: idHere(plan.group),
      workflowIdReusePolicy: playedOnce,
      workflowTaskTimeout,
      args: [plan],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: `${plan.episode.task} · ${plan.episode.split} #${group.position} · version ${group.version}`,
      staticDetails: groupFacts(plan, here()),
      typedSearchAttributes: [
        { key: searchAttributes.run, value: idHere(state.run) },
        { key: searchAttributes.task, value: plan.episode.task },
        { key: searchAttributes.group, value: idHere(plan.group) },
        { key: searchAttributes.version, value: group.version },
      ],
    }),
  )
  if (!isNew) await takeReports(state, [group])
}

/** Takes in what has ended of groups that reported while no execution of the run was there to hear them. */
async function takeReports(state: TrainingState, among: readonly GroupInFlight[]): Promise<void> {
  const { findReports } = groupActivities(state.config.orchestration.dispatch)
  const groups = among.map((group) => groupId(state.run, group.number))
  const { reports } = await findReports({ run: state.run, groups, step: state.step })
  for (const report of reports) receiveGroup(state, report)
}

function groupPlan(state: TrainingState, group: GroupInFlight): GroupPlan {
  const { rollout, crossPolicy } = state.config
  return {
    group: groupId(state.run, group.number),
    run: state.run,
    number: group.number,
    groupSize: rollout.groupSize,
    quorum: rollout.quorum ?? rollout.groupSize,
    timeoutSeconds: rollout.groupTimeoutSeconds,
    maxAttempts: rollout.maxAttempts,
    version: group.version,
    episode: {
      ...episodeRules(state.run, state.config, group.taskIndex),
      split: state.config.tasks[group.taskIndex]?.split ?? 'train',
      position: group.position,
      versions: { kind: 'cross_policy', staleShare: crossPolicy.staleShare, pool: group.pool },
      temperature: rollout.temperature,
    },
  }
}

/** Starts the evaluations that the schedule asks for at this step; `last` asks for all suites. */
export async function startEvaluations(state: TrainingState, when: 'due' | 'last'): Promise<void> {
  const { every, suites } = state.config.evaluation
  const due = state.step === 0 || (every > 0 && state.step % every === 0)
  if (when === 'due' && !due) return
  for (const suite of suites) await startEvaluation(state, suite.name)
}

/** Starts one evaluation, of the current version by default, unless it has been asked for before. */
export async function startEvaluation(
  state: TrainingState,
  name: string,
  version = state.version,
): Promise<EvaluationId> {
  const { config, run } = state
  const suite = config.evaluation.suites.find((candidate) => candidate.name === name)
  if (suite === undefined) throw ApplicationFailure.nonRetryable(`unknown suite ${name}`, 'UnknownSuite')
  const plan = evaluationPlan(run, config, { suite, version })
  const isSame = (other: { suite: string; version: number }) =>
    other.suite === name && other.version === version
  if (state.evaluations.some(isSame) || state.evaluating.some(isSame)) return plan.evaluation
  state.evaluating.push({ suite: name, version })
  const isNew = await startOnce(() =>
    startChild(evaluation, {
      ...evaluationStart(plan, here()),
      workflowIdReusePolicy: playedOnce,
      parentClosePolicy: ParentClosePolicy.ABANDON,
    }),
  )
  if (!isNew) {
    const { summaries } = await evaluationActivities.findEvaluations({ evaluations: [plan.evaluation] })
    for (const summary of summaries) await hearEvaluation(state, summary)
  }
  return plan.evaluation
}

/** @returns false where the child of that identity runs or has ended already */
async function startOnce(start: () => Promise<unknown>): Promise<boolean> {
  try {
    await start()
    return true
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    return false
  }
}
