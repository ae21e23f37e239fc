/**
 * Experiments, as their report has them.
 *
 * Invariants
 * - Figures are those of `perdure experiment report`.
 */
import { type ExperimentReport, reportOn } from '../../client/experiment/experiment-report.ts'
import { runsOf } from '../../client/experiment/experiments.ts'
import { measureRuns } from '../../client/experiment/measured-runs.ts'
import type { ExperimentStatement } from '../../config/files/experiment.ts'
import { experimentId } from '../../identity/identity.ts'
import type { StoredExperiment } from '../../storage/records/experiments.ts'
import type {
  ExperimentAnswer,
  ExperimentClaim,
  ExperimentRow,
  ExperimentsAnswer,
} from '../contract/experiment.ts'
import type { ShownHome } from '../home/shown-home.ts'
import { Refused } from './known-run.ts'

export async function experimentsAnswer({ store }: ShownHome): Promise<ExperimentsAnswer> {
  const stored = await store.experiments.list()
  const done = new Set(
    stored.length === 0
      ? []
      : (await store.runs.list()).filter(({ status }) => status === 'done').map(({ id }) => id),
  )
  return {
    experiments: stored.map((each) => {
      const runs = runsOf(each.statement as ExperimentStatement)
      return rowOf(each, { runs: runs.length, done: runs.filter(({ run }) => done.has(run)).length })
    }),
  }
}

/** @throws Refused `unknown` */
export async function experimentAnswer(shown: ShownHome, name: string): Promise<ExperimentAnswer> {
  const { home, store } = shown
  const stored = (await store.experiments.list()).find((each) => each.name === name)
  if (stored === undefined) throw new Refused('unknown', `${home.dir} has no experiment "${name}"`)
  const statement = stored.statement as ExperimentStatement
  const report = await reportOn(await measureRuns(store, statement), { ...stored, statement })
  const { seeds, measure, metric, test, level, runs, hypotheses } = report
  const arms = report.arms.filter(isArm)
  return {
    ...rowOf(stored, { runs: runs.length, done: runs.filter(({ status }) => status === 'done').length }),
    ...{ seeds, measure, test, level },
    ...(metric && { metric }),
    suites: statement.suites.map((suite) => suiteOf({ ...report, arms }, suite)),
    costs: arms.map(({ cost }) => cost ?? null),
    claims: hypotheses.map(claimOf),
    plays: runs.map(({ run, arm, seed, status, incomplete = [] }) => ({
      ...{ run, arm, seed, status },
      incomplete: incomplete.map(({ suite, version, n, planned }) => ({ suite, version, n, planned })),
    })),
    ...shown.temporalPage(experimentId(stored.name)),
  }
}

/** Not a point of a grid. */
function isArm({ pointOf }: Pick<ExperimentStatement['arms'][number], 'pointOf'>): boolean {
  return pointOf === undefined
}

function rowOf(
  { name, statement, created, ended }: StoredExperiment,
  counts: Pick<ExperimentRow, 'runs' | 'done'>,
): ExperimentRow {
  const { question, arms } = statement as ExperimentStatement
  return {
    experiment: name,
    ...(question === undefined ? {} : { question }),
    arms: arms.filter(isArm).map(({ arm }) => arm),
    ...counts,
    created,
    ...(ended === undefined ? {} : { ended }),
  }
}

function suiteOf(
  { arms, curves, seeds }: ExperimentReport,
  suite: string,
): ExperimentAnswer['suites'][number] {
  return {
    suite,
    arms: arms.map(({ arm, suites }) => {
      const found = suites.find((each) => each.suite === suite)
      return { arm, value: found?.value ?? null, bySeed: found?.seeds ?? seeds.map(() => null) }
    }),
    curves: curves
      .filter((each) => each.suite === suite)
      .map(({ arm, points }) => ({ arm, points: points.map((point) => ({ ...point })) })),
  }
}

function claimOf(claim: ExperimentReport['hypotheses'][number]): ExperimentClaim {
  const { name, by, within, at, look, on, better, than, missing, instances, p, adjusted, verdict } = claim
  const { difference, t, bootstrap, signFlip } = claim
  return {
    ...{ name, by, on, better, than, missing, instances, p, adjusted, verdict },
    ...(within === undefined ? {} : { within }),
    ...(at === undefined ? {} : { at }),
    ...(look === undefined ? {} : { look }),
    ...(difference === undefined ? {} : { difference }),
    ...(t === undefined ? {} : { t }),
    ...(bootstrap === undefined ? {} : { bootstrap }),
    ...(signFlip === undefined ? {} : { signFlip }),
  }
}
