/**
 * The report of an experiment for people: a table of arms, one of claims, and what is missing.
 *
 * Invariants
 * - All arms and claims of the statement are in it; a claim that cannot be judged yet says why.
 */
import type {
  ExperimentReport,
  ReportedArm,
  ReportedHypothesis,
  SeedMean,
} from '../../client/experiment/experiment-report.ts'
import type { RunCost } from '../../client/experiment/measured-runs.ts'
import { verdictWords, withinWords } from '../../learning/claims/verdict.ts'
import { episodeCountWords } from '../../learning/evaluation/evaluation-completeness.ts'
import { statedMeasure } from '../../learning/evaluation/measure.ts'
import { budgetText } from '../../learning/run/budget.ts'
import {
  differenceBetween,
  differenceOf,
  measured,
  plain,
  probability,
} from '../../learning/statistics/figures.ts'
import type { Interval } from '../../learning/statistics/interval.ts'
import { percent } from '../../learning/statistics/percent.ts'
import { Table } from '../terminal/table.ts'
import { count, duration } from '../terminal/wording.ts'

/** The report in tables and lines. */
export function reportLines(report: ExperimentReport): readonly (string | Table)[] {
  const { experiment, question, arms, hypotheses, source } = report
  const changed =
    report.unchanged === false
      ? [
          `${source.file} is not, to the byte, the file that the experiment began with (SHA-256 ${source.sha256}).`,
        ]
      : []
  return [
    `${experiment}${question === undefined ? '' : `: ${question}`}`,
    ...changed,
    arms.some(({ suites }) => suites.length > 0) ? armsTable(report) : 'No run is done yet.',
    ...pointsTables(report),
    ...(hypotheses.length === 0
      ? []
      : [claimsTable(report), ...legend(report), ...improvements(report), ...kindsTable(report)]),
    ...unfinished(report),
  ]
}

/** The points of grids, and which of them were chosen. */
function pointsTables(report: ExperimentReport): readonly (string | Table)[] {
  const { arms, tune } = report
  const points = arms.filter(({ pointOf }) => pointOf !== undefined)
  if (tune === undefined || points.length === 0) return []
  const chosen = arms.flatMap(({ arm, chosen: point }) => {
    const { set = {} } = arms.find((each) => each.arm === point) ?? {}
    const values = Object.entries(set).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    return point === undefined ? [] : [`${arm} is ${point}, the best of its points (${values.join(', ')}).`]
  })
  return [
    armsTable({ ...report, arms: points.map(({ pointOf: _, ...each }) => each), seeds: tune.seeds }),
    ...chosen,
  ]
}

function armsTable({ arms, seeds, measure, metric }: ExperimentReport): Table {
  const { words, isShare } = statedMeasure(measure, metric)
  return new Table({
    head: ['arm', 'suite', words, `seeds ${seeds.join(', ')}`, 'time', 'CPU', 'tokens'],
    rows: arms.flatMap(({ arm, pointOf, suites, cost }: ReportedArm) =>
      (pointOf === undefined ? suites : []).map(({ suite, value, seeds: bySeed }, at) => [
        at === 0 ? arm : '',
        suite,
        meanWords(value, isShare),
        bySeed.map((each) => (each === null ? '–' : bare(each, isShare))).join(', '),
        ...(at === 0 && cost !== undefined ? costWords(cost) : ['', '', '']),
      ]),
    ),
  })
}

/** With the interval over seeds. */
function meanWords({ mean, low, high }: SeedMean, isShare: boolean): string {
  const words = measured(mean, isShare)
  if (low === undefined || high === undefined) return words
  return `${words} (${bare(low, isShare)}–${bare(high, isShare)})`
}

/** Without the sign of a share. */
function bare(value: number, isShare: boolean): string {
  return isShare ? (100 * value).toFixed(1) : plain(value)
}

/** Mean cost of one run. */
function costWords({ seconds, cpuSeconds, actionTokens }: RunCost): readonly string[] {
  return [duration(seconds), cpuSeconds === undefined ? '–' : duration(cpuSeconds), count(actionTokens)]
}

function claimsTable({ hypotheses, measure }: ExperimentReport): Table {
  const { isShare } = statedMeasure(measure)
  const intervalWords = (interval: Interval | undefined) =>
    interval === undefined ? '–' : differenceBetween(interval, isShare)
  return new Table({
    head: ['claim', 'difference', 't interval', 'bootstrap', 'p (t)', 'p (signs)', 'p (Holm)', 'verdict'],
    rows: hypotheses.map((claim) => [
      claimWords(claim, isShare),
      claim.difference === undefined ? '–' : differenceOf(claim.difference, isShare),
      intervalWords(claim.t),
      intervalWords(claim.bootstrap),
      probability(claim.t?.p),
      probability(claim.signFlip?.p),
      claim.missing.length > 0 ? '–' : probability(claim.adjusted),
      statedVerdict(claim, isShare),
    ]),
  })
}

/** A claim, by its name. */
export function claimWords(
  { name, by, within, at, on }: Pick<ReportedHypothesis, 'name' | 'by' | 'within' | 'at' | 'on'>,
  isShare: boolean,
): string {
  const more = by === 0 ? '' : ` by ${differenceOf(by, isShare)}`
  return `${name}${within === undefined ? more : ` within ${withinWords(within, isShare)}`}, on ${on.join(' + ')}${at === undefined ? '' : ` at ${budgetText(at)}`}`
}

function statedVerdict(claim: ReportedHypothesis, isShare: boolean): string {
  const { verdict, missing, look, bootstrap, t } = claim
  if (missing.length > 0) return `open: seeds ${missing.join(', ')} are missing`
  const atLook = look === undefined ? '' : `, at the look at ${look} seeds`
  if (verdict !== 'not shown') return `${verdictWords(claim, isShare)}${atLook}`
  if (claim.within !== undefined) return 'not shown at this scale'
  const most = Math.max(bootstrap?.high ?? Number.NaN, t?.high ?? Number.NEGATIVE_INFINITY)
  return `not shown at this scale (at most ${differenceOf(most, isShare)})`
}

function legend({ test, level, seeds, measure, metric, design }: ExperimentReport): readonly string[] {
  const { words, isShare, unit } = statedMeasure(measure, metric)
  const inUnit = unit === undefined ? words : `${words} in ${unit}`
  const kind = test === 't' ? 't test' : 'sign-flip test'
  return [
    ...(design === undefined
      ? []
      : [
          `Looks at ${design.looks.join(', ')} seeds, stated in advance; p (Holm) is that of all looks so far (${design.spending} spending), intervals are of the seeds of the look.`,
        ]),
    `Differences in ${isShare ? 'points' : inUnit}, over ${seeds.length} seeds; intervals 95 %: Student's over seeds, bootstrap over seeds and instances. Judged by the ${kind}, two-sided, at ${level} for all claims together (Holm).`,
  ]
}

/** Differences by kind of problem. */
function kindsTable({ hypotheses, measure, metric }: ExperimentReport): readonly Table[] {
  const { isShare } = statedMeasure(measure, metric)
  const rows = hypotheses.flatMap(({ name, byKind = [] }) =>
    byKind.map(({ kind, instances, difference, low, high }, at) => [
      at === 0 ? name : '',
      kind,
      count(instances),
      differenceOf(difference, isShare),
      low === undefined || high === undefined ? '–' : differenceBetween({ low, high }, isShare),
    ]),
  )
  if (rows.length === 0) return []
  return [new Table({ head: ['claim', 'kind, not judged', 'instances', 'difference', 't interval'], rows })]
}

/** Claims over several tasks: how often an arm helps, beside by how much. */
function improvements({ hypotheses }: ExperimentReport): readonly string[] {
  return hypotheses.flatMap(({ name, better, than, on, improvement }) => {
    if (improvement === undefined) return []
    const { value, low, high } = improvement
    return [
      `${name}: a run of ${better} is better than one of ${than} with a probability of ${percent(value, 0)} (${percent(low, 0)} to ${percent(high, 0)}), the mean over ${on.length} suites.`,
    ]
  })
}

function unfinished({ runs, due, seeds }: ExperimentReport): readonly string[] {
  const left = runs.filter(({ status, seed }) => status !== 'done' && due.includes(seed))
  const later = seeds.filter((seed) => !due.includes(seed))
  const incomplete = runs.flatMap(({ run, incomplete: own = [] }) => own.map((each) => ({ run, ...each })))
  return [
    ...(later.length === 0 ? [] : [`Seeds that are not due yet: ${later.join(', ')}`]),
    ...(left.length === 0
      ? []
      : [`Not done: ${left.map(({ run, status }) => `${run} (${status})`).join(', ')}`]),
    ...incomplete.map(({ run, version, suite, ...counts }) => {
      const again = `perdure eval ${run}@${version} --suite ${suite}`
      return `Not counted: ${run} v${version} on ${suite}, ${episodeCountWords(counts)}; \`${again}\` plays the lost ones`
    }),
  ]
}
