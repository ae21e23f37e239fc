/**
 * Gates: a run pauses or rolls back when an evaluation finds that it has become worse.
 *
 * Invariants
 * - An evaluation is judged once, when its complete result first arrives.
 * - [GATES-1] An incomplete evaluation closes no gate, is no reference for another one, and is not rolled back to.
 * - A version that a roll-back has left behind closes no gate.
 * - Each action of a gate is in the audit trail, with the figures that it was judged by.
 */
import { log } from '@temporalio/workflow'
import type { EvaluationSummary } from '../../contract/messages.ts'
import { gatesInForce, type TrainingState } from '../../contract/training-state.ts'
import { bestOf } from '../../learning/evaluation/best-version.ts'
import { isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { hasFallen, type Trials } from '../../learning/evaluation/gate.ts'
import { figuresOfBoth, measureWords, valueWords } from '../../learning/evaluation/judgement.ts'
import { percent } from '../../learning/statistics/percent.ts'
import { receiveEvaluation } from '../state/transitions/evaluations.ts'
import { pauseRun } from '../state/transitions/phase.ts'
import { updatesLeft } from '../state/transitions/pipeline.ts'
import { askForRollBack } from '../state/transitions/versions.ts'
import { recordOrders } from './audit-trail.ts'

type Gate = TrainingState['config']['evaluation']['gates'][number]

/** Records a finished evaluation, and judges it by the gates of its suite. */
export async function judgeEvaluation(state: TrainingState, summary: EvaluationSummary): Promise<void> {
  const isNew = receiveEvaluation(state, summary)
  if (!isNew || !isComplete(summary) || summary.version < state.lineStart) return
  for (const gate of gatesInForce(state)) {
    const reference = referenceOf(state, gate, summary)
    if (gate.suite !== summary.suite || reference === undefined) continue
    if (hasFallen(trialsOf(state, reference), trialsOf(state, summary), gate))
      await close(state, gate, { before: reference, after: summary })
  }
}

/** The earlier evaluation with which a version is compared; undefined for the first. */
function referenceOf(
  state: TrainingState,
  { against }: Gate,
  summary: EvaluationSummary,
): EvaluationSummary | undefined {
  const earlier = earlierThan(state, summary)
  return against === 'last' ? earlier.toSorted((a, b) => a.version - b.version).at(-1) : bestOf(earlier)
}

/** Instances as trials: samples of one instance are not independent of each other. */
function trialsOf({ config }: TrainingState, summary: EvaluationSummary): Trials {
  const samples = config.evaluation.suites.find(({ name }) => name === summary.suite)?.samples ?? 1
  return { ...summary, instances: Math.max(1, Math.round(summary.n / samples)) }
}

async function close(
  state: TrainingState,
  gate: Gate,
  { before, after }: { readonly before: EvaluationSummary; readonly after: EvaluationSummary },
): Promise<void> {
  const reason = reasonOf(gate, before, after)
  if (state.stopRequested || updatesLeft(state) === 0) {
    log.warn('a gate closed at the end of the run', { reason })
    return
  }
  const by = `gate ${gate.suite}`
  if (gate.action === 'pause') {
    if (state.paused) return // by an earlier evaluation, or by a person who knows
    const from = state.phase
    pauseRun(state, reason)
    await recordOrders(state, [{ by, what: 'pause', from, to: state.phase, holds: 'now', reason }])
    return
  }
  const to = (gate.against === 'best' ? before : (bestOf(earlierThan(state, after)) ?? before)).version
  askForRollBack(state, to)
  await recordOrders(state, [{ by, what: 'rollback', from: state.version, to, holds: 'later', reason }])
}

function earlierThan(state: TrainingState, { suite, version }: EvaluationSummary) {
  return state.evaluations.filter(
    (other) => other.suite === suite && other.version < version && isComplete(other),
  )
}

function reasonOf(
  { suite, drop, confidence }: Gate,
  before: EvaluationSummary,
  after: EvaluationSummary,
): string {
  const figures = figuresOfBoth(before, after)
  const [one] = figures ?? []
  const words = (value: number) => (one === undefined ? percent(value) : valueWords(value, one))
  const [first, second] = figures?.map(({ value }) => value) ?? [before.success, after.success]
  const at = (value: number, { n, version }: EvaluationSummary) =>
    `${words(value)} of ${n} at version ${version}`
  const name = one === undefined ? suite : `${measureWords(one)} on ${suite}`
  const changed = one?.better === 'lower' ? 'rose' : 'fell'
  return `${name} ${changed} from ${at(first ?? 0, before)} to ${at(second ?? 0, after)}: by more than ${words(drop)} with confidence ${confidence}`
}
