/**
 * Measures: the numbers by which the episodes of a policy are judged.
 *
 * Invariants
 * - [MEASURE-1] A measure is a function of how an episode ended; its interval draws instances again, never samples.
 */
import { bootstrapInterval } from '../statistics/bootstrap.ts'
import type { Interval } from '../statistics/interval.ts'
import type { MeasureKind } from '../statistics/paired-difference.ts'

/** The figures of an episode that ended with a reward. */
export interface MeasuredEpisode {
  readonly success: boolean
  readonly reward: number | null
  readonly turns: number
  readonly actionTokens: number
  /** By name, of an environment that declares metrics. */
  readonly metrics?: Readonly<Record<string, number>>
}

/** A number that an environment reports in its `info`; the last one of an episode is the episode's. */
export interface DeclaredMetric {
  readonly better: MeasureKind['better']
  /** Written after a value, e.g. `points`. */
  readonly unit?: string | undefined
  /** The value of an episode without a report; 0 by default, and required where lower is better. */
  readonly otherwise?: number | undefined
}

export type DeclaredMetrics = Readonly<Record<string, DeclaredMetric>>

export interface Measure extends MeasureKind {
  /** The name that tables and sentences give it. */
  readonly words: string
  readonly unit?: string | undefined
  /** Undefined where the episode has none: it was played before its environment declared the metric. */
  readonly of: (episode: MeasuredEpisode) => number | undefined
}

/** All measures that every task has, in the order in which they are reported. */
export const measures = {
  success: { words: 'success', better: 'higher', isShare: true, of: ({ success }) => (success ? 1 : 0) },
  reward: { words: 'mean reward', better: 'higher', isShare: false, of: ({ reward }) => reward ?? 0 },
  turns: { words: 'turns', better: 'lower', isShare: false, of: ({ turns }) => turns },
  tokens: { words: 'tokens', better: 'lower', isShare: false, of: ({ actionTokens }) => actionTokens },
} as const satisfies Record<string, Measure>

export type MeasureName = keyof typeof measures
export const measureNames = Object.keys(measures) as MeasureName[]
const meanNames = measureNames.filter((name) => name !== 'success')

/** The measure of that name: of every task, or a metric that its environment declares. */
export function measureOf(name: string, metrics: DeclaredMetrics = {}): Measure | undefined {
  const isKnown = Object.hasOwn(measures, name) || Object.hasOwn(metrics, name)
  return isKnown ? statedMeasure(name, metrics[name]) : undefined
}

/** A name that was found to be one. @param metric how it is read where it is a metric; of one without results nothing is shown */
export function statedMeasure(
  name: string,
  { better, unit }: DeclaredMetric = { better: 'higher' },
): Measure {
  const found = measureNames.find((each) => each === name)
  if (found !== undefined) return measures[found]
  return { words: name, better, unit, isShare: false, of: ({ metrics }) => metrics?.[name] }
}

/** The measure of that name of a result, whose metrics say themselves how they are read. */
export function measureIn(name: string, figures: MeasureFigures | undefined): Measure | undefined {
  const { better, unit } = (figures !== undefined && Object.hasOwn(figures, name) && figures[name]) || {}
  return measureOf(name, better === undefined ? {} : { [name]: { better, unit } })
}

export const metricName = /^[a-z][a-z0-9_]{0,39}$/
export const longestUnit = 24

/** Why metrics cannot be declared so, in words; undefined where they can. */
export function metricsProblem(metrics: DeclaredMetrics): string | undefined {
  for (const [name, { better, unit = '', otherwise = better === 'lower' ? undefined : 0 }] of Object.entries(
    metrics,
  )) {
    const subject = `the metric "${name}"`
    if (!metricName.test(name) || measureOf(name) !== undefined)
      return `${subject} needs a name of up to 40 small letters, digits and "_", none of ${measureNames.join(', ')}`
    if (better !== 'higher' && better !== 'lower') return `${subject} needs better: 'higher' or 'lower'`
    if (typeof unit !== 'string' || unit.length > longestUnit)
      return `the unit of ${subject} is a text of at most ${longestUnit} characters`
    if (!Number.isFinite(otherwise))
      return `${subject} needs a number as otherwise, the value of an episode that reports none`
  }
  return undefined
}

export interface Estimate extends Interval {
  readonly value: number
}

/** The mean of a measure, with what is needed to read it; a metric says its unit and direction itself. */
export interface MeasureFigure extends Estimate {
  readonly better?: MeasureKind['better']
  readonly unit?: string | undefined
}

/** The mean of each measure over episodes, with its 95 % interval; success has its own. */
export type MeasureFigures = Readonly<Record<Exclude<MeasureName, 'success'>, Estimate>> &
  Readonly<Record<string, MeasureFigure>>

/**
 * @param instances [instances][samples] one episode at least
 * @param seed 32 bits, of the draws
 * @param metrics that the environment declares; one that no episode has is left out
 */
export function measureFigures(
  instances: readonly (readonly MeasuredEpisode[])[],
  seed: number,
  metrics: DeclaredMetrics = {},
): MeasureFigures {
  const figures = [...meanNames, ...Object.keys(metrics)].flatMap((name) => {
    const measure = measureOf(name, metrics)
    const values = instances
      .map((episodes) => episodes.flatMap((episode) => measure?.of(episode) ?? []))
      .filter(({ length }) => length > 0)
    if (measure === undefined || values.length === 0) return []
    const estimate = meanEstimate(
      values.map(sum),
      values.map(({ length }) => length),
      seed,
    )
    const { better, unit } = measure
    const read = name in metrics ? { better, ...(unit === undefined ? {} : { unit }) } : {}
    return [[name, { ...estimate, ...read }] as const]
  })
  return Object.fromEntries(figures) as unknown as MeasureFigures
}

/** Σ sums / Σ sizes with the percentile interval of the bootstrap over instances. @param sums, sizes [instances] */
export function meanEstimate(sums: readonly number[], sizes: readonly number[], seed: number): Estimate {
  const value = sum(sums) / sum(sizes)
  const drawn = (draw: () => number) => {
    let [above, below] = [0, 0]
    for (let i = 0; i < sums.length; i++) {
      const chosen = draw()
      above += sums[chosen] ?? 0
      below += sizes[chosen] ?? 0
    }
    return above / below
  }
  return { value, ...bootstrapInterval(value, drawn, { instances: sums.length, seed }) }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
