/**
 * Plan of an experiment: the seeds and instances that its claims need, and what they cost, by the spread and costs of a pilot.
 *
 * Invariants
 * - [PLAN-1] A claim is planned at the level, by the test and in the family of the file, with differences that a report would judge.
 * - A pilot gives a spread, never a result: its seeds are none of those that are planned.
 */
import { basename } from 'node:path'
import type { ExperimentStatement, Hypothesis, LoadedExperiment } from '../../config/files/experiment.ts'
import { detectableWords, isDetectable } from '../../learning/claims/hypothesis.ts'
import {
  likelyExcess,
  type PlannedClaim,
  powerOf,
  type Spread,
  seedsNeeded,
  spreadOf,
} from '../../learning/claims/power.ts'
import type { Home } from '../../storage/disk/home.ts'
import { hasStore } from '../../storage/place.ts'
import { openStore } from '../../storage/store.ts'
import { SessionFault } from '../run/session-fault.ts'
import { claimDifferences } from './claim-differences.ts'
import { knownExperiment, runsOf } from './experiments.ts'
import { type MeasuredRun, meanCost, measureRuns, type RunCost } from './measured-runs.ts'
import { readReportedRuns } from './written-reports.ts'

/** Instances of each suite, beside those that the file states. */
const factors = [1, 0.5, 2, 4]

/** One size of the experiment. */
export interface PlannedSize {
  /** [suites of the claim] */
  readonly instances: readonly number[]
  /** Seeds of each arm; null where 64 do not find the difference in 80 of 100 experiments. */
  readonly seeds: number | null
  /** The share of experiments that find it. */
  readonly power: number | null
  /** The cost of all arms and seeds together; the seconds are those of runs one after another. Absent where the pilot has none. */
  readonly cost?: RunCost
}

export interface PlannedHypothesis extends Pick<Hypothesis, 'name' | 'by' | 'within' | 'at' | 'on'> {
  /** The true difference that is to be found. */
  readonly difference: number
  readonly spread: Spread
  /** Seeds of the pilot that the spread is from. */
  readonly pilotSeeds: number
  /** The share of experiments with the seeds and instances of the file that find the difference. */
  readonly statedPower: number
  /** With the instances of the file first. */
  readonly sizes: readonly PlannedSize[]
  /** Seeds with those instances, if the deviation of seeds is as large as the pilot's few leave likely; null above 64. */
  readonly cautiousSeeds: number | null
}

export interface ExperimentPlanReport {
  readonly experiment: string
  /** Its name, or its report. */
  readonly pilot: string
  readonly seeds: readonly number[]
  readonly arms: number
  readonly claims: readonly PlannedHypothesis[]
}

/**
 * @param points the true difference, in the unit of the measure, of claims that state none
 * @throws SessionFault `unknown_experiment`, `bad_report`, `bad_pilot`
 */
export async function planExperiment(
  home: Home,
  { statement, pilot }: Pick<LoadedExperiment, 'statement' | 'pilot'>,
  points?: number,
): Promise<ExperimentPlanReport> {
  const { name, seeds, arms, hypotheses } = statement
  if (hypotheses.length === 0)
    throw new SessionFault('bad_pilot', `${name} states no claim to plan for: add one to \`hypotheses\``)
  await using store =
    'name' in pilot && (await hasStore(home.storeFile))
      ? await openStore(home.storeFile, { create: false, access: 'read' })
      : undefined
  const runs =
    'report' in pilot
      ? readReportedRuns(pilot.report)
      : store && (await measureRuns(store, (await knownExperiment(store, home, pilot.name)).statement))
  if (runs === undefined)
    throw new SessionFault('bad_pilot', `${home.dir} has no experiment to be the pilot of ${name}: ${wanted}`)
  const claims: PlannedHypothesis[] = []
  for (const claim of hypotheses) claims.push(await planClaim(statement, claim, runs, points))
  const named = 'report' in pilot ? basename(pilot.report) : pilot.name
  return {
    experiment: name,
    pilot: named,
    seeds,
    arms: arms.filter(({ pointOf }) => pointOf === undefined).length,
    claims,
  }
}

const wanted = 'run it with two seeds or more first, or let `pilot` name a report of one like it'

async function planClaim(
  statement: ExperimentStatement,
  claim: Hypothesis,
  runs: readonly MeasuredRun[],
  points: number | undefined,
): Promise<PlannedHypothesis> {
  const { test: kind, level, design, seeds, arms, hypotheses } = statement
  const { name, by, within, at, on } = claim
  const difference = differenceOf(claim, points)
  const pilotSeeds = [...new Set(runs.map(({ seed }) => seed))]
  const found = await claimDifferences({ ...statement, seeds: pilotSeeds }, claim, runs)
  const paired = found.differences[0]?.length ?? 0
  if (paired < 2)
    throw new SessionFault(
      'bad_pilot',
      `claim ${name}: the pilot has ${paired} seeds of which both runs are done and evaluated on ${on.join(', ')}: ${wanted}`,
    )
  const spread = spreadOf(found.differences)
  const shared = { spread, by, ...(within === undefined ? {} : { within }), kind, level, design, difference }
  const own = arms.filter(({ pointOf }) => pointOf === undefined)
  const tuning = runsOf({ ...statement, seeds: [] }).length
  const stated = on.map((suite) => instancesOf(statement, claim.better.arm, suite))
  const planned = (factor: number): PlannedClaim => ({
    ...shared,
    claims: hypotheses.length,
    instances: stated.map((count) => Math.max(2, Math.round(factor * count))),
  })
  const [usual] = [planned(1)]
  const cautious = { ...spread, seeds: spread.seeds * likelyExcess(paired) }
  return {
    ...{ name, by, ...(within === undefined ? {} : { within }), on, difference, spread },
    ...(at === undefined ? {} : { at }),
    pilotSeeds: paired,
    statedPower: seeds.length < 2 ? 0 : powerOf(usual, seeds.length),
    sizes: factors.map((factor): PlannedSize => {
      const { instances } = planned(factor)
      const needed = seedsNeeded(planned(factor))
      if (needed === undefined) return { instances, seeds: null, power: null }
      const cost = costOf(runs, on, { instances, runs: needed.seeds * own.length + tuning })
      return { instances, ...needed, ...(cost === undefined ? {} : { cost }) }
    }),
    cautiousSeeds: seedsNeeded({ ...usual, spread: cautious })?.seeds ?? null,
  }
}

/** The true difference to be found: arms that are said to be level are planned as equal. */
function differenceOf(claim: Hypothesis, points: number | undefined): number {
  const { name, within, detect = within === undefined ? points : 0 } = claim
  if (detect !== undefined && isDetectable(claim, detect)) return detect
  throw new SessionFault(
    'bad_pilot',
    `claim ${name} ${detect === undefined ? 'states no difference to be found' : `cannot be true where the difference is ${detect}`}: give --points, or \`detect\` in the file, with ${detectableWords(claim)}`,
  )
}

/** Instances of a suite, as the file states them. */
function instancesOf({ arms }: ExperimentStatement, arm: string, name: string): number {
  const suites = arms.find((each) => each.arm === arm)?.config.evaluation.suites
  return suites?.find((suite) => suite.name === name)?.episodes ?? 0
}

/** The cost of so many runs as the pilot's, with other evaluations: all but the time is of episodes, and time is taken to be. */
function costOf(
  runs: readonly MeasuredRun[],
  suites: readonly string[],
  size: { readonly instances: readonly number[]; readonly runs: number },
): RunCost | undefined {
  const costs = runs.flatMap(({ status, cost, figures }) => {
    if (status !== 'done' || cost === undefined) return []
    const more = suites.reduce((sum, suite, at) => {
      const own = figures.filter((figure) => figure.suite === suite)
      const played = Math.max(1, ...own.map(({ planned }) => planned))
      return sum + own.length * ((size.instances[at] ?? played) - played)
    }, 0)
    return [scaled(cost, Math.max(0, 1 + more / Math.max(1, cost.episodes)))]
  })
  return costs.length === 0 ? undefined : scaled(meanCost(costs), size.runs)
}

function scaled({ seconds, cpuSeconds, episodes, actionTokens }: RunCost, factor: number): RunCost {
  return {
    seconds: factor * seconds,
    ...(cpuSeconds === undefined ? {} : { cpuSeconds: factor * cpuSeconds }),
    episodes: factor * episodes,
    actionTokens: factor * actionTokens,
  }
}
