/**
 * Groups of a training run, which outlive each execution of it.
 *
 * Invariants
 * - A group is started once per identity; starting it again finds it, or its report in the store.
 * - A group that ended without a report, however it ended, is recorded as given up, and another takes its place. A completed
 *   group had a report: if the store has lost it, the group is played again.
 */
import { log, ParentClosePolicy, startChild } from '@temporalio/workflow'
import { type GroupPlan, type GroupReport, searchAttributes } from '../../contract/messages.ts'
import { priorityOf, workflowTaskTimeout } from '../../contract/task-queues.ts'
import { fleetShare, type GroupInFlight, type TrainingState } from '../../contract/training-state.ts'
import { groupId } from '../../identity/identity.ts'
import { adaptedRule } from '../../learning/rollout/adaptive-pool.ts'
import type { CrossPolicyRule } from '../../learning/rollout/cross-policy.ts'
import { type AcceptEndings, checkEnded, startOnce, watchOthers, watchOwn } from '../calls/child-watch.ts'
import { childrenActivities, groupActivities } from '../calls/dispatch.ts'
import { groupFacts } from '../page/details.ts'
import { here, idHere } from '../page/place.ts'
import { episodeRules } from '../play/evaluation-plan.ts'
import { rolloutGroup } from '../play/rollout-group.ts'
import { receiveGroup, recordAdmissions } from '../state/transitions/groups.ts'

/** A group that ended well is played once, while its result is in the store. */
const playedOnce = 'ALLOW_DUPLICATE_FAILED_ONLY'
type Reuse = typeof playedOnce | 'ALLOW_DUPLICATE'

/** Starts as many groups as the staleness bound allows. */
export async function admitGroups(state: TrainingState): Promise<void> {
  if (state.paused || state.stopRequested) return
  await startGroups(state, recordAdmissions(state))
}

/** Starts groups, or finds those that were started before, and watches them. */
export async function startGroups(
  state: TrainingState,
  groups: readonly GroupInFlight[],
  reuse: Reuse = playedOnce,
): Promise<void> {
  const isNew = await Promise.all(groups.map((group) => startGroup(state, group, reuse)))
  const begun = groups.filter((_, index) => isNew[index] === false)
  if (begun.length === 0) return
  await acceptReports(state, begun)
  // A group that completed without a report, as on an older store, would otherwise be noticed half a minute later.
  await checkEnded(idsOf(state, awaited(state, begun)), acceptEndedGroups(state))
  watchOthers(state, idsOf(state, awaited(state, begun)), acceptEndedGroups(state))
}

/** @returns false where it was started before */
async function startGroup(state: TrainingState, group: GroupInFlight, reuse: Reuse): Promise<boolean> {
  const plan = groupPlan(state, group)
  const child = await startOnce(() =>
    startChild(rolloutGroup, {
      workflowId: idHere(plan.group),
      workflowIdReusePolicy: reuse,
      workflowTaskTimeout,
      args: [plan],
      priority: priorityOf('training', state.run, fleetShare(state)),
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
  if (child === undefined) return false
  watchOwn(state, child, acceptEndedGroups(state))
  return true
}

/** Accepts groups that have ended: their reports, or their loss. */
export function acceptEndedGroups(state: TrainingState): AcceptEndings {
  return async (endings) => {
    const children = new Set(endings.map(({ child }) => child))
    const ended = state.inFlight.filter(({ number }) => children.has(idHere(groupId(state.run, number))))
    if (ended.length === 0) return
    await acceptReports(state, ended)
    const silent = awaited(state, ended)
    const completed = new Set(
      endings.filter(({ ending }) => ending === 'completed').map(({ child }) => child),
    )
    const isLost = ({ number }: GroupInFlight) => completed.has(idHere(groupId(state.run, number)))
    const lost = silent.filter(isLost)
    if (lost.length > 0) await startGroups(state, lost, 'ALLOW_DUPLICATE')
    const others = silent.filter((group) => !isLost(group))
    if (others.length > 0) await giveUp(state, await notBegunAgain(state, others))
  }
}

/** Another build that takes over may end a group and begin it again in one step: the new execution is waited for. */
async function notBegunAgain(
  state: TrainingState,
  groups: readonly GroupInFlight[],
): Promise<readonly GroupInFlight[]> {
  const { ended } = await childrenActivities.findEnded({ children: idsOf(state, groups) })
  const gone = new Set(ended.map(({ child }) => child))
  const isGone = ({ number }: GroupInFlight) => gone.has(idHere(groupId(state.run, number)))
  const again = groups.filter((group) => !isGone(group))
  watchOthers(state, idsOf(state, again), acceptEndedGroups(state))
  return groups.filter(isGone)
}

async function giveUp(state: TrainingState, groups: readonly GroupInFlight[]): Promise<void> {
  const { recordGroup } = groupActivities(state.config.orchestration.dispatch)
  const reports = groups.map((group) => emptyReport(state, group))
  await Promise.all(reports.map((report) => recordGroup({ run: state.run, report })))
  for (const report of reports) {
    log.warn('a group ended without a report, another takes its place', { group: report.group })
    receiveGroup(state, report)
  }
}

function emptyReport(
  { run, config }: TrainingState,
  { number, taskIndex, version }: GroupInFlight,
): GroupReport {
  const task = config.tasks[taskIndex]?.task ?? ''
  return { group: groupId(run, number), number, taskIndex, task, version, episodes: [] }
}

function awaited(state: TrainingState, among: readonly GroupInFlight[]): readonly GroupInFlight[] {
  const numbers = new Set(state.inFlight.map(({ number }) => number))
  return among.filter(({ number }) => numbers.has(number))
}

/** Workflow ids of groups. */
export function idsOf({ run }: TrainingState, groups: readonly GroupInFlight[]): readonly string[] {
  return groups.map(({ number }) => idHere(groupId(run, number)))
}

/** Accepts reports from the store: the groups may have reported while no execution of the run received them. */
export async function acceptReports(state: TrainingState, among: readonly GroupInFlight[]): Promise<void> {
  const { findReports } = groupActivities(state.config.orchestration.dispatch)
  const groups = among.map((group) => groupId(state.run, group.number))
  const { reports } = await findReports({ run: state.run, groups, step: state.step })
  for (const report of reports) receiveGroup(state, report)
}

/** The rule that draws the version of each turn of a group. */
function ruleOf({ config, memberWeights }: TrainingState, { pool }: GroupInFlight): CrossPolicyRule {
  const { staleShare, weighting } = config.crossPolicy
  const rule = { staleShare, pool }
  return weighting === 'adaptive' ? adaptedRule(rule, memberWeights) : rule
}

function groupPlan(state: TrainingState, group: GroupInFlight): GroupPlan {
  const { rollout } = state.config
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
      versions: { kind: 'cross_policy', ...ruleOf(state, group) },
      temperature: rollout.temperature,
    },
  }
}
