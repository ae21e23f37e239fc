/** The evaluations of a run, and its gates. */
import { inSuiteOrder } from '../../config/suite-order.ts'
import { gatesInForce } from '../../contract/gate-settings.ts'
import type { Estimate } from '../../learning/evaluation/suite-statistics.ts'
import { stepOfVersion } from '../../learning/run/version-step.ts'
import type { StoredEvaluation, SuiteFigures } from '../../storage/records/evaluations.ts'
import type { EvaluationRow, EvaluationsAnswer, GateRow } from '../contract/evaluation.ts'
import { estimateOf } from '../home/estimate.ts'
import type { ShownHome } from '../home/shown-home.ts'
import { knownRun, type ShownRun } from './known-run.ts'

/** @throws Refused `unknown` */
export async function evaluationsAnswer(shown: ShownHome, name: string): Promise<EvaluationsAnswer> {
  const { store } = shown
  const run = await knownRun(shown, name)
  const updates = await store.updates.list(run.id)
  const listed = inSuiteOrder(run.config, await store.evaluations.list(run.id))
  const evaluations = listed.map((stored) => rowOf(stored, stepOfVersion(updates, stored.version)))
  const experts = (await store.experts.list(run.id)).map(({ suite, success, n }) => ({
    suite,
    success: estimateOf({ success, n }),
    n,
  }))
  return { evaluations, experts, gates: gatesOf(run) }
}

function rowOf(stored: StoredEvaluation, step: number): EvaluationRow {
  const { id, suite, version, seed, created, result, failure } = stored
  const row = { id, suite, version, step, seed, created, ...(failure === undefined ? {} : { failure }) }
  if (result === undefined) return row
  const { success, n, planned, lost, ended, statistics } = result
  const figures: SuiteFigures & { readonly meanReward?: unknown } = statistics
  return {
    ...row,
    ended,
    found: {
      // Wilson's interval follows from n; it is stored too where instances have several samples.
      success: estimateOf({ success, n, interval: figures.passAt && figures.interval }),
      n,
      planned,
      lost,
      instances: figures.instances ?? n,
      meanReward: typeof figures.meanReward === 'number' ? figures.meanReward : null,
      passAt: passAtOf(figures),
    },
  }
}

function passAtOf({ passAt = {}, passAtIntervals = {} }: SuiteFigures): Readonly<Record<string, Estimate>> {
  return Object.fromEntries(
    Object.entries(passAt).map(([k, value]) => [k, passAtIntervals[k] ?? { value, low: value, high: value }]),
  )
}

function gatesOf({ state, trail }: ShownRun): readonly GateRow[] {
  return gatesInForce(state).map((gate) => ({
    ...gate,
    closed: trail
      .filter(({ by, what }) => by === `gate ${gate.suite}` && what === gate.action)
      .map(({ time, version, what, reason }) => ({ time, version, what, reason: reason ?? '' })),
  }))
}
