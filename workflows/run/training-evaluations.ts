/**
 * Evaluations of a training run, which outlive each execution of it.
 *
 * Invariants
 * - An evaluation is started once per identity; starting it again finds it, or its result in the store. An order plays again what
 *   an incomplete one lost; the run by itself does not, because each of those episodes has had its attempts.
 * - An evaluation that ended without a result, however it ended, is done again, and reported as failed after its last attempt. An
 *   evaluation in which no episode ended with a reward is not done again: it would find the same episodes.
 */
import { ApplicationFailure, log, ParentClosePolicy, sleep, startChild } from '@temporalio/workflow'
import type { EvaluationPlan } from '../../contract/messages.ts'
import type { Evaluating, TrainingState } from '../../contract/training-state.ts'
import type { EvaluationId } from '../../identity/identity.ts'
import { isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { isEvaluationDue } from '../../learning/evaluation/evaluation-schedule.ts'
import {
  type AcceptEndings,
  type ChildEnding,
  startOnce,
  watchOthers,
  watchOwn,
} from '../calls/child-watch.ts'
import { childrenActivities, evaluationActivities } from '../calls/dispatch.ts'
import { here, idHere } from '../page/place.ts'
import { evaluation } from '../play/evaluation.ts'
import { evaluationPlan, evaluationStart } from '../play/evaluation-plan.ts'
import {
  beginEvaluation,
  giveUpEvaluation,
  isSameEvaluation,
  loseEvaluation,
  recordEvaluating,
} from '../state/transitions/evaluations.ts'
import { judgeEvaluation } from './gates.ts'

/** Executions of an evaluation that may end without a result. */
const mostAttempts = 3
/** An evaluation that fails at once is not done again at once. */
const againAfterSeconds = 5

/** Starts the evaluations that the schedule asks for at this step; `last` asks for all suites. */
export async function startEvaluations(state: TrainingState, when: 'due' | 'last'): Promise<void> {
  const { every, suites } = state.config.evaluation
  if (when === 'due' && !isEvaluationDue(state.step, every)) return
  const { version } = state
  const hasFailed = (suite: string) =>
    state.failedEvaluations.some((failed) => isSameEvaluation(failed, { suite, version }))
  for (const { name } of suites) if (!hasFailed(name)) await startEvaluation(state, name)
}

/** Starts one evaluation of the current version, unless it has been asked for before; an order repeats an incomplete one. */
export async function startEvaluation(
  state: TrainingState,
  suite: string,
  { isOrdered = false } = {},
): Promise<EvaluationId> {
  const { version } = state
  const plan = planOf(state, { suite, version })
  const isKnown = (among: readonly Pick<Evaluating, 'suite' | 'version'>[]) =>
    among.some((each) => isSameEvaluation(each, plan))
  const known = isOrdered ? state.evaluations.filter(isComplete) : state.evaluations
  if (isKnown(known) || isKnown(state.evaluating)) return plan.evaluation
  recordEvaluating(state, plan)
  await begin(state, plan, { repeats: isKnown(state.evaluations) })
  return plan.evaluation
}

/** Starts evaluations that the run waits for, or finds those that were started before, and watches them; or gives them up. */
export async function resumeEvaluations(
  state: TrainingState,
  evaluations: readonly Evaluating[],
): Promise<void> {
  for (const each of evaluations) await proceed(state, planOf(state, each), reasonOf(each))
}

/** Why an evaluation is given up, where it is; the execution that saw it end knows more. */
function reasonOf({ waits, lost = 0 }: Evaluating): string | undefined {
  return waits === 'to_be_given_up' ? withoutResult(lost) : undefined
}

function withoutResult(lost: number): string {
  return `it ended ${lost} times without a result`
}

/** Workflow ids of evaluations. */
export function evaluationIds(state: TrainingState, evaluations: readonly Evaluating[]): readonly string[] {
  return evaluations.map((each) => idHere(planOf(state, each).evaluation))
}

/** Accepts evaluations that have ended: their results, or their loss. */
export function acceptEndedEvaluations(state: TrainingState): AcceptEndings {
  return async (endings) => {
    await Promise.all(
      endings.map(async ({ child, ...ended }) => {
        const find = () => state.evaluating.find((each) => idHere(planOf(state, each).evaluation) === child)
        const running = find()
        if (running === undefined || isCounted(running, running)) return
        if (await acceptResult(state, running)) return
        const now = find()
        if (now !== undefined && !isCounted(now, running)) await repeatEvaluation(state, now, ended)
      }),
    )
  }
}

/** Whether its ending is recorded already: its repetition waits, or has begun since `seen` was read. */
function isCounted({ waits, lost }: Evaluating, seen: Evaluating): boolean {
  return waits !== undefined || lost !== seen.lost
}

async function repeatEvaluation(
  state: TrainingState,
  running: Evaluating,
  { ending, isFinal = false }: Omit<ChildEnding, 'child'>,
): Promise<void> {
  const plan = planOf(state, running)
  const lost = (running.lost ?? 0) + 1
  log.warn('an evaluation ended without a result', { evaluation: plan.evaluation, ending, lost })
  const why = lost >= mostAttempts ? `${withoutResult(lost)}, at last: ${ending}` : undefined
  const reason = isFinal ? ending : why
  loseEvaluation(state, running, { lost, waits: reason === undefined ? 'for_another' : 'to_be_given_up' })
  if (reason === undefined && lost > 1) await sleep(`${againAfterSeconds} seconds`)
  await proceed(state, plan, reason)
}

/** Begins an evaluation again, or gives it up. */
async function proceed(
  state: TrainingState,
  plan: EvaluationPlan,
  reason: string | undefined,
): Promise<void> {
  if (reason === undefined) {
    await begin(state, plan)
    return
  }
  const { evaluation, suite, version } = plan
  await evaluationActivities.failEvaluation({ evaluation, run: state.run, suite, version, reason })
  giveUpEvaluation(state, { suite, version, reason })
}

async function begin(state: TrainingState, plan: EvaluationPlan, { repeats = false } = {}): Promise<void> {
  beginEvaluation(state, plan)
  const start = () =>
    startOnce(() =>
      startChild(evaluation, {
        ...evaluationStart(plan, here()),
        parentClosePolicy: ParentClosePolicy.ABANDON,
      }),
    )
  let child = await start()
  // The execution that is to be repeated reports its result before it ends.
  if (child === undefined && repeats) {
    await childrenActivities.awaitEnded({ children: [idHere(plan.evaluation)] })
    child = await start()
  }
  if (child !== undefined) watchOwn(state, child, acceptEndedEvaluations(state))
  else if (!(await acceptResult(state, plan)))
    watchOthers(state, [idHere(plan.evaluation)], acceptEndedEvaluations(state))
}

/** @returns whether there is a result, or none is waited for any more */
async function acceptResult(state: TrainingState, { suite, version }: Evaluating): Promise<boolean> {
  const { evaluation: id } = planOf(state, { suite, version })
  const { summaries } = await evaluationActivities.findEvaluations({ evaluations: [id] })
  for (const summary of summaries) await judgeEvaluation(state, summary)
  return !state.evaluating.some((each) => isSameEvaluation(each, { suite, version }))
}

function planOf({ run, config }: TrainingState, { suite: name, version }: Evaluating): EvaluationPlan {
  const suite = config.evaluation.suites.find((candidate) => candidate.name === name)
  if (suite === undefined) throw ApplicationFailure.nonRetryable(`unknown suite ${name}`, 'UnknownSuite')
  return evaluationPlan(run, config, { suite, version })
}
