/**
 * Evaluations of a run: in flight, found, given up.
 *
 * Invariants
 * - An evaluation that has a result or was given up is no longer in flight.
 * - A complete result is final; an incomplete one is replaced by the result of a repetition.
 * - [LOST-EVALUATION-1] An execution that ended without a result is counted once, also where two watchers or two executions of the run see it.
 */

import type { EvaluationSummary, FailedEvaluation } from '../../../contract/messages.ts'
import { type Evaluating, keptEvaluations } from '../../../contract/training-state.ts'
import { isComplete } from '../../../learning/evaluation/evaluation-completeness.ts'
import { carriedFailures, clipped, shortTextBytes } from '../../../learning/run/state-bounds.ts'
import type { Changing } from './changing.ts'

type EvaluationKey = Pick<Evaluating, 'suite' | 'version'>

/** True for evaluations of the same suite and version. */
export function isSameEvaluation(each: EvaluationKey, { suite, version }: EvaluationKey): boolean {
  return each.suite === suite && each.version === version
}

/** Adds an evaluation to those in flight. */
export function recordEvaluating(state: Changing, evaluation: EvaluationKey): void {
  const { suite, version } = evaluation
  state.evaluating = [...state.evaluating, { suite, version }]
}

/** Counts an execution of it that ended without a result. @param now.lost how many did @param now.waits for what follows */
export function loseEvaluation(
  state: Changing,
  evaluation: EvaluationKey,
  now: Required<Pick<Evaluating, 'lost' | 'waits'>>,
): void {
  replace(state, evaluation, (each) => ({ ...each, ...now }))
}

/** Begins another execution of an evaluation, which waits no longer. */
export function beginEvaluation(state: Changing, evaluation: EvaluationKey): void {
  replace(state, evaluation, ({ waits: _, ...each }) => each)
}

function replace(state: Changing, of: EvaluationKey, by: (each: Evaluating) => Evaluating): void {
  state.evaluating = state.evaluating.map((each) => (isSameEvaluation(each, of) ? by(each) : each))
}

/** Takes in a finished evaluation, once. @returns whether no complete result of it was known before */
export function receiveEvaluation(state: Changing, summary: EvaluationSummary): boolean {
  const isOther = (other: EvaluationKey) => !isSameEvaluation(other, summary)
  state.evaluating = state.evaluating.filter(isOther)
  if (state.evaluations.some((each) => !isOther(each) && isComplete(each))) return false
  state.failedEvaluations = state.failedEvaluations.filter(isOther)
  const evaluations = [...state.evaluations.filter(isOther), summary]
  state.evaluations = keptEvaluations({ ...state, evaluations })
  return true
}

/** Records that an evaluation cannot be done: the run stops waiting for it. */
export function giveUpEvaluation(state: Changing, failed: FailedEvaluation): void {
  const { suite, version } = failed
  const reason = clipped(failed.reason, shortTextBytes)
  state.evaluating = state.evaluating.filter((each) => !isSameEvaluation(each, failed))
  state.failedEvaluations = [...state.failedEvaluations, { suite, version, reason }].slice(-carriedFailures)
}
