/**
 * Report of an experiment: results and costs of its arms, and a verdict on each claim stated before.
 *
 * Invariants
 * - [REPORT-1] The report has all arms, seeds and claims of the statement, also those that failed.
 * - [REPORT-2] The same runs give the same figures; only the costs depend on time and place.
 * - [REPORT-3] A claim is judged when all its runs are done; until then it says which are missing.
 * - [REPORT-4] An incomplete evaluation is reported as such, and is part of no mean, curve or claim.
 */
import { cpus } from 'node:os'
import type { ExperimentStatement, Hypothesis, StatedFile } from '../../config/files/experiment.ts'
import type { MeasuredPolicy, MeasuredVersion } from '../../config/schema/experiment-schema.ts'
import { seedOf } from '../../identity/identity.ts'
import { type Judgement, judgeFamily, type PairedTest, pairedTest } from '../../learning/claims/hypothesis.ts'
import { type Improvement, probabilityOfImprovement } from '../../learning/claims/improvement.ts'
import { differencesByKind, type KindDifference } from '../../learning/claims/kinds.ts'
import type { LookDesign } from '../../learning/claims/sequential.ts'
import { isComplete } from '../../learning/evaluation/evaluation-completeness.ts'
import { type DeclaredMetric, type Measure, measures } from '../../learning/evaluation/measure.ts'
import type { Interval } from '../../learning/statistics/interval.ts'
import { meanInterval } from '../../learning/statistics/student-t.ts'
import { claimDifferences } from './claim-differences.ts'
import type { Outcomes } from './experiment-outcomes.ts'
import { isSameFile, type KnownExperiment } from './experiments.ts'
import {
  figureOf,
  type MeasuredRun,
  meanCost,
  measureOfRuns,
  type ReportedFigure,
  type RunCost,
  type RunOfExperiment,
} from './measured-runs.ts'
import { choicesOf, isTuned } from './tuning.ts'

/** A mean over seeds; the interval is Student's, 95 %, from two seeds on. */
export interface SeedMean extends Partial<Interval> {
  readonly mean: number
  /** Seeds that it is a mean of. */
  readonly seeds: number
}

export interface ReportedRun extends RunOfExperiment {
  /** The version that counts, by suite; empty until the run is done. */
  readonly measured: readonly ReportedFigure[]
  /** Evaluations that lost too many episodes to count, by suite and version; absent without any. */
  readonly incomplete?: readonly ReportedFigure[]
  /** All evaluated versions, by suite and version. */
  readonly curve: readonly ReportedFigure[]
}

export interface ReportedArm {
  readonly arm: string
  readonly set: ExperimentStatement['set']
  /** The arm whose grid it is a point of; a point has the tuning seeds. */
  readonly pointOf?: string
  /** The point that it is, where it has a grid and all points are measured. */
  readonly chosen?: string
  readonly suites: readonly {
    readonly suite: string
    /** The mean of the experiment's measure. */
    readonly value: SeedMean
    /** In the order of seeds; null where there is none. */
    readonly seeds: readonly (number | null)[]
  }[]
  /** Mean over the runs that are done. */
  readonly cost?: RunCost
}

export interface ReportedHypothesis
  extends Omit<Hypothesis, 'better' | 'than'>,
    Partial<PairedTest>,
    Judgement {
  readonly better: string
  readonly than: string
  /** With a design: the seeds over which it is judged, or will be. */
  readonly look?: number
  /** Seeds of which a run is not done. */
  readonly missing: readonly number[]
  /** Instances that both played, by suite; of the seed that has the fewest. */
  readonly instances: number
  /** With suites of several tasks: how likely a run of one arm is better than one of the other on a task. */
  readonly improvement?: Improvement
  /** The difference on each kind of problem, where the environment names kinds; not judged. */
  readonly byKind?: readonly KindDifference[]
}

/** A mean over seeds at a version. */
export interface CurvePoint extends SeedMean {
  readonly version: number
}

/** The line of a suite's expert among those of the arms, whose names have no blank. */
export const expertName = 'the expert'

export interface ReportedCurve {
  readonly arm: string
  readonly suite: string
  readonly points: readonly CurvePoint[]
}

export interface ExperimentReport {
  readonly experiment: string
  readonly question?: string
  readonly source: StatedFile
  readonly base?: StatedFile
  /** Whether the file that was named is, to the byte, the one that the experiment began with. */
  readonly unchanged?: boolean
  /** ISO 8601, UTC. */
  readonly began: string
  readonly ended?: string
  readonly machine: string
  readonly set: ExperimentStatement['set']
  readonly seeds: readonly number[]
  readonly design?: LookDesign
  readonly tune?: ExperimentStatement['tune']
  /** The seeds that are to be run so far: all, unless a design has looks or grids have no choice yet. */
  readonly due: readonly number[]
  readonly version: MeasuredVersion
  readonly measure: string
  /** How the measure is read, where it is a metric of the task that a run has a result of. */
  readonly metric?: DeclaredMetric
  readonly test: ExperimentStatement['test']
  readonly level: number
  readonly arms: readonly ReportedArm[]
  readonly hypotheses: readonly ReportedHypothesis[]
  readonly curves: readonly ReportedCurve[]
  readonly runs: readonly ReportedRun[]
  /** The result of every version on every instance; only in a written report. */
  readonly outcomes?: Outcomes
}

/** @param given the statement of the file that was named */
export async function reportOn(
  measured: readonly MeasuredRun[],
  { name, statement, created, ended }: KnownExperiment,
  given?: ExperimentStatement,
): Promise<ExperimentReport> {
  const runs = measured.map((run) => reportedRun(statement, run))
  const { question, source, base, set, seeds, design, tune, version, measure = 'success' } = statement
  const { test, level } = statement
  const choices = choicesOf(statement, measured)
  const hypotheses = await claimsOf(statement, measured)
  const kind = measureOfRuns(statement, measured)
  return {
    experiment: name,
    ...(question === undefined ? {} : { question }),
    source,
    ...(base === undefined ? {} : { base }),
    ...(given === undefined ? {} : { unchanged: isSameFile(statement, given) }),
    began: new Date(created).toISOString(),
    ...(ended === undefined ? {} : { ended: new Date(ended).toISOString() }),
    machine: machineWords(),
    ...{ set, seeds, version, measure, test, level },
    ...(Object.hasOwn(measures, measure) ? {} : { metric: { better: kind.better, unit: kind.unit } }),
    ...(design === undefined ? {} : { design }),
    ...(tune === undefined ? {} : { tune }),
    due: [...(tune?.seeds ?? []), ...(isTuned(statement, choices) ? seedsDue(statement, hypotheses) : [])],
    arms: statement.arms.map(({ config: _, ...arm }) => ({
      ...armOf(statement, { ...arm, kind }, runs),
      ...(choices[arm.arm] && { chosen: choices[arm.arm] }),
    })),
    hypotheses,
    curves: [...curvesOf(statement, runs, kind), ...referencesOf(statement, measured)],
    runs,
  }
}

/** Processor and cores of this machine, where the runs were mostly done. */
function machineWords(): string {
  const all = cpus()
  return `${all.length} × ${all[0]?.model.trim() ?? 'unknown processor'}, Node ${process.versions.node}`
}

function reportedRun(
  { suites, version: counts }: ExperimentStatement,
  { figures, experts: _, ...run }: MeasuredRun,
): ReportedRun {
  const incomplete = figures.filter((each) => !isComplete(each)).map(shown)
  return {
    ...run,
    ...(incomplete.length === 0 ? {} : { incomplete }),
    measured: suites.flatMap((suite) => {
      const found = figureOf({ ...run, figures }, suite, counts)
      return found === undefined ? [] : [shown(found)]
    }),
    curve: figures.map(shown),
  }
}

function shown(figure: ReportedFigure): ReportedFigure {
  const { suite, version, value, success, n, planned, spent, measured, metric } = figure
  return {
    ...{ suite, version, value, success, n, planned },
    ...(spent && { spent }),
    ...(measured && { measured }),
    ...(metric && { metric }),
  }
}

function armOf(
  { suites, seeds: stated, tune }: ExperimentStatement,
  { arm, set, pointOf, kind }: Pick<ReportedArm, 'arm' | 'set' | 'pointOf'> & { readonly kind: Measure },
  runs: readonly ReportedRun[],
): ReportedArm {
  const own = runs.filter((each) => each.arm === arm)
  const seeds = pointOf === undefined ? stated : (tune?.seeds ?? [])
  const costs = own.flatMap(({ status, cost }) => (status === 'done' && cost !== undefined ? [cost] : []))
  return {
    arm,
    set,
    ...(pointOf && { pointOf }),
    suites: suites.flatMap((suite) => {
      const bySeed = seeds.map((seed) => {
        const run = own.find((each) => each.seed === seed)
        return run?.measured.find((each) => each.suite === suite)?.value ?? null
      })
      const values = bySeed.filter((each) => each !== null)
      const value = seedMean(values, kind)
      return value === undefined ? [] : [{ suite, value, seeds: bySeed }]
    }),
    ...(costs.length === 0 ? {} : { cost: meanCost(costs) }),
  }
}

function seedMean(
  values: readonly number[],
  { isShare }: Pick<Measure, 'isShare'> = measures.success,
): SeedMean | undefined {
  const [only, second] = values
  if (only === undefined) return undefined
  if (second === undefined) return { mean: only, seeds: 1 }
  const { mean, low, high } = meanInterval(values)
  const [least, most] = isShare ? [0, 1] : [low, high]
  return { mean, low: Math.max(least, low), high: Math.min(most, high), seeds: values.length }
}

function curvesOf(
  { arms, suites }: ExperimentStatement,
  runs: readonly ReportedRun[],
  kind: Measure,
): readonly ReportedCurve[] {
  return arms.flatMap(({ arm, pointOf }) =>
    (pointOf === undefined ? suites : []).flatMap((suite) => {
      const figures = runs
        .filter((each) => each.arm === arm)
        .flatMap(({ curve }) => curve.filter((each) => each.suite === suite && isComplete(each)))
      const points = [...Map.groupBy(figures, ({ version }) => version)]
        .toSorted(([a], [b]) => a - b)
        .flatMap(([version, found]): CurvePoint[] => {
          const mean = seedMean(
            found.map(({ value }) => value),
            kind,
          )
          return mean === undefined ? [] : [{ version, ...mean }]
        })
      return points.length === 0 ? [] : [{ arm, suite, points }]
    }),
  )
}

/** Reference curve of a suite: its expert, at the same height for all versions. */
function referencesOf(
  { suites, measure = 'success' }: ExperimentStatement,
  runs: readonly MeasuredRun[],
): readonly ReportedCurve[] {
  // Experts are measured by success alone.
  if (measure !== 'success') return []
  const all = runs.flatMap(({ experts }) => experts)
  return suites.flatMap((suite) => {
    const versions = runs.flatMap(({ figures }) =>
      figures.filter((each) => each.suite === suite).map(({ version }) => version),
    )
    if (versions.length === 0) return []
    const ends = [...new Set([Math.min(...versions), Math.max(...versions)])]
    const mean = seedMean(all.filter((each) => each.suite === suite).map(({ success }) => success))
    return mean === undefined
      ? []
      : [{ arm: expertName, suite, points: ends.map((version) => ({ version, ...mean })) }]
  })
}

/** The parts of a statement by which its claims are judged. */
export type ClaimedStatement = Omit<ExperimentStatement, 'arms'> & {
  readonly arms: readonly {
    readonly arm: string
    readonly config: {
      readonly evaluation: { readonly suites: readonly Pick<StatedSuite, 'name' | 'task'>[] }
    }
  }[]
}

type StatedSuite = ExperimentStatement['arms'][number]['config']['evaluation']['suites'][number]

/** Judges the claims of a statement by its runs. */
export async function claimsOf(
  statement: ClaimedStatement,
  runs: readonly MeasuredRun[],
): Promise<readonly ReportedHypothesis[]> {
  const { hypotheses, test: kind, level, design, seeds } = statement
  const looks = design?.looks ?? [seeds.length]
  const found: FoundTest[][] = []
  for (const count of looks) {
    const sofar = { ...statement, seeds: seeds.slice(0, count) }
    found.push(await Promise.all(hypotheses.map((claim) => testOf(sofar, claim, runs))))
  }
  // A claim whose runs are not all done has no figure to be judged by.
  const tests = found.map((ofLook) =>
    ofLook.map(({ test, missing }) => (missing.length === 0 ? test : undefined)),
  )
  const judgements = judgeFamily(tests, { claims: hypotheses, kind, level, design })
  return hypotheses.flatMap(({ better, than, ...claim }, at) => {
    const judged = judgements[at]
    if (judged === undefined) return []
    const { decidedAt, ...judgement } = judged
    // An undecided claim is reported at the first look that it has not all runs of.
    const open = found.findIndex((ofLook) => (ofLook[at]?.missing.length ?? 0) > 0)
    const look = decidedAt ?? (open === -1 ? looks.length - 1 : open)
    const figures = found[look]?.[at]
    if (figures === undefined) return []
    const { test, ...sides } = figures
    const words = { better: policyWords(better), than: policyWords(than) }
    const atLook = design === undefined ? {} : { look: looks[look] ?? seeds.length }
    return [{ ...claim, ...words, ...sides, ...test, ...judgement, ...atLook }]
  })
}

/** The seeds that the looks of a design ask for so far: more only while a claim that all runs are there for is not decided. */
function seedsDue(
  { design, seeds }: ExperimentStatement,
  claims: readonly ReportedHypothesis[],
): readonly number[] {
  if (design === undefined) return seeds
  const open = claims.filter(({ missing }) => missing.length > 0).map(({ look = seeds.length }) => look)
  const decided = claims.map(({ look = 0 }) => look)
  return seeds.slice(0, Math.max(...(open.length > 0 ? [Math.min(...open)] : decided), design.looks[0] ?? 0))
}

function policyWords({ arm, version }: MeasuredPolicy): string {
  return `${arm}@${version}`
}

interface FoundTest {
  /** Undefined where no seed has both runs. */
  readonly test: PairedTest | undefined
  readonly missing: readonly number[]
  readonly instances: number
  readonly improvement?: Improvement
  readonly byKind?: readonly KindDifference[]
}

/** Whether the suites of a claim are of more than one task. */
function areTasksSeveral({ arms }: ClaimedStatement, { better, on }: Hypothesis): boolean {
  const suites = arms.find(({ arm }) => arm === better.arm)?.config.evaluation.suites ?? []
  return new Set(suites.filter(({ name }) => on.includes(name)).map(({ task }) => task)).size > 1
}

async function testOf(
  statement: ClaimedStatement,
  claim: Hypothesis,
  runs: readonly MeasuredRun[],
): Promise<FoundTest> {
  const { name } = statement
  const { isShare } = measureOfRuns(statement, runs)
  const { differences, scores, kinds, missing, instances } = await claimDifferences(statement, claim, runs)
  if (instances === 0) return { test: undefined, missing, instances }
  const drawn = { seed: seedOf(0, 'experiment', name, claim.name), isShare }
  const byKind = differencesByKind(differences, kinds)
  return {
    test: pairedTest(differences, { ...claim, ...drawn }),
    ...{ missing, instances },
    ...(byKind.length === 0 ? {} : { byKind }),
    ...(areTasksSeveral(statement, claim)
      ? { improvement: probabilityOfImprovement(scores, drawn.seed) }
      : {}),
  }
}
