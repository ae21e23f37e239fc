/**
 * Groups of a run: admitted, reported, given up.
 *
 * Invariants
 * - A group is in flight, ready, skipped, in training or gone, never two of them; a second report changes nothing.
 * - A skipped group makes room for another, admitted with the version of then: staleness has the same bound with and without skipping.
 */

import type { GroupReport } from '../../../contract/messages.ts'
import { type GroupInFlight, rolloutSettings } from '../../../contract/training-state.ts'
import { rewardRules } from '../../../learning/evaluation/reward.ts'
import { overdue } from '../../../learning/rollout/admission.ts'
import { poolAt } from '../../../learning/rollout/cross-policy.ts'
import { mostSkipped, teaches } from '../../../learning/rollout/refill.ts'
import { nextTask } from '../../../learning/rollout/task-mix.ts'
import type { Changing } from './changing.ts'
import { admitPosition, endFailuresInARow, leaveOut } from './left-out.ts'
import { roomForGroups } from './pipeline.ts'

/**
 * Admits as many groups as there is room for, each for the current version. The task of each follows the mix, its
 * instance the task's own cursor, which passes over what is left out.
 * @returns those that are in flight now and were not before
 */
export function recordAdmissions(state: Changing): readonly GroupInFlight[] {
  const { version } = state
  const pool = poolAt(version, state.pool)
  const cursors = [...state.admitted]
  const groups = Array.from({ length: roomForGroups(state) }, (_, index): GroupInFlight => {
    const taskIndex = nextTask(state.weights, cursors)
    const admitted = cursors[taskIndex] ?? 0
    const position = admitPosition(state, taskIndex, admitted)
    cursors[taskIndex] = admitted + 1
    return { number: state.nextGroup + index, taskIndex, position, version, pool }
  })
  state.admitted = cursors
  state.nextGroup += groups.length
  state.inFlight = [...state.inFlight, ...groups]
  return groups
}

/**
 * Takes in a report. A group that is not in flight has reported before and counts no second time; one without
 * episodes leads to no update, and adds to the groups in a row that were fruitless. A group that teaches nothing is skipped,
 * up to the most that may be.
 */
export function receiveGroup(state: Changing, report: GroupReport): void {
  const { number, task, version, episodes, loss } = report
  const group = state.inFlight.find((each) => each.number === number)
  if (group === undefined) return
  state.inFlight = state.inFlight.filter((each) => each !== group)
  state.fruitless = episodes.length === 0 ? state.fruitless + 1 : 0
  if (episodes.length === 0) {
    if (loss !== undefined) leaveOut(state, group, loss)
    return
  }
  endFailuresInARow(state)
  const rewards = episodes.map(({ reward }) => reward ?? 0)
  const isLesson =
    report.teaches === true || teaches(rewards, state.config.learning, rewardRules(state.config, task))
  if (!isLesson && mayBeSkipped(state)) skip(state, number)
  else state.ready = [...state.ready, { number, version }]
  state.episodes += episodes.length
  state.tokens += episodes.reduce((sum, episode) => sum + episode.tokens, 0)
}

/**
 * Gives up the groups that no update can take within the staleness bound any more, after the bound was lowered
 * or the version has jumped.
 * @returns those in flight, to be cancelled
 */
export function giveUpOverdue(state: Changing): readonly GroupInFlight[] {
  const { ready, inFlight } = state
  const lost = overdue(rolloutSettings(state), {
    version: state.version + (state.training.length > 0 ? 1 : 0), // the update in progress publishes the next one
    ready: ready.map((group) => group.version),
    inFlight: inFlight.map((group) => group.version),
  })
  state.ready = ready.filter((_, index) => !lost.ready.includes(index))
  state.inFlight = inFlight.filter((_, index) => !lost.inFlight.includes(index))
  state.givenUp += lost.ready.length + lost.inFlight.length
  return inFlight.filter((_, index) => lost.inFlight.includes(index))
}

/** Gives up all groups in flight, where no update follows. @returns them, to be cancelled */
export function giveUpInFlight(state: Changing): readonly GroupInFlight[] {
  const { inFlight } = state
  state.inFlight = []
  state.givenUp += inFlight.length
  return inFlight
}

function mayBeSkipped(state: Changing): boolean {
  const skipped = state.skipped.find(({ step }) => step === nextStep(state))?.numbers ?? []
  return skipped.length < mostSkipped(state.config.rollout)
}

function skip(state: Changing, number: number): void {
  const step = nextStep(state)
  const own = state.skipped.find((skipped) => skipped.step === step)?.numbers ?? []
  const others = state.skipped.filter((skipped) => skipped.step !== step)
  state.skipped = [...others, { step, numbers: [...own, number] }]
}

/** The next update that begins. */
function nextStep({ step, training }: Changing): number {
  return step + (training.length > 0 ? 2 : 1)
}
