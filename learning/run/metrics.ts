/**
 * Metrics of an update: each is one row of this table. The figures that activities and trainers compute, the checks of what trainers
 * answer, the lines of `metrics.jsonl`, the charts of the page, the help of the command and the documents are made from the rows.
 *
 * Invariants
 * - [METRICS-TABLE-1] A metric has its unit, its bounds, its words and its place on the page here and nowhere else.
 * - The rows are in the order of the keys of a line.
 */
import { boundedK3 } from '../loss/objective.ts'
import type { Bounds } from './bounds.ts'

const amount = { atLeast: 0 } as const
const count = { whole: true, ...amount } as const

/** The bounds of a metric by its unit; null: it is not one number. */
export const units = {
  episodes: count,
  tokens: count,
  groups: count,
  turns: amount,
  questions: count,
  cost: amount,
  share: { ...amount, atMost: 1 },
  updates: amount,
  steps: count,
  seconds: amount,
  norm: amount,
  nats: {},
  loss: {},
  weight: amount,
  'by task': null,
  'by version': null,
  'importance ratios': null,
  text: null,
} as const satisfies Readonly<Record<string, Bounds | null>>

/** Charts of the page that are drawn from rows alone. */
export interface MetricChart {
  readonly section: 'health' | 'speed'
  readonly title: string
  /** The lowest value that always shows. */
  readonly from?: number
  readonly kind?: 'stack'
  /** [rows] places among the colours of series; absent: their order. */
  readonly colours?: readonly number[]
}

export const charts = {
  entropy: { section: 'health', title: 'Entropy, nats per token', from: 0 },
  divergence: { section: 'health', title: 'KL divergence, nats per token' },
  clipped: { section: 'health', title: 'Tokens beyond the clip range', from: 0 },
  gradient: { section: 'health', title: 'Gradient norm before clipping', from: 0 },
  rejected: { section: 'health', title: 'Optimizer steps left out', from: 0 },
  pool: { section: 'health', title: 'Turns by older versions', from: 0 },
  useless: { section: 'health', title: 'Actions of no use', from: 0 },
  staleness: { section: 'health', title: 'Staleness, in updates', from: 0 },
  length: { section: 'health', title: 'Turns of an episode', from: 0 },
  seconds: { section: 'speed', title: 'Seconds per update', kind: 'stack', colours: [8, 0, 3] },
} as const satisfies Readonly<Record<string, MetricChart>>

/** Counts over all groups that were played for an update. */
export interface PlayedCounts {
  readonly episodes: number
  readonly tokens: number
  readonly actionTokens: number
  readonly turns: number
  /** Turns that were drawn from the pool of older versions. */
  readonly staleTurns: number
  /** Turns in a state that another turn of their group is in too. */
  readonly comparedTurns: number
}

/** A token that an update learns from, as a step of the optimizer finds it. */
export interface TrainedToken {
  readonly logprob: number
  readonly entropy: number
  /** Absent in supervised training. */
  readonly behaviourLogprob?: number
  /** Absent without a reference policy. */
  readonly referenceLogprob?: number | undefined
  /** Whether a clip made its part of the objective constant. */
  readonly isClipped: boolean
}

export interface Metric {
  readonly unit: Unit
  /** The direction that is better by itself; null: it depends. */
  readonly better: 'higher' | 'lower' | null
  /** The chart that draws it, and its label there; null: none, or a view of its own. */
  readonly chart: readonly [chart: ChartName, label: string] | null
  readonly words: string
  /** A line may lack it. */
  readonly isOptional?: true
  /** Where it is among the stored figures of an update; absent: under its name in camel case. */
  readonly figure?: string
  /** The stored figure that is subtracted. */
  readonly less?: string
  /** Its value, where it follows from what was played. */
  readonly ofPlayed?: (played: PlayedCounts) => number
  /** Whether each trainer reports it, or some do. */
  readonly trainer?: 'required' | 'optional'
  /** Its value for a token, where the embedded trainer reports the mean over tokens. */
  readonly ofToken?: (token: TrainedToken) => number
}

/** Rows about models that environments ask. */
const asked = { chart: null, isOptional: true } as const

/** By key of a line; a dot leads into an object. */
export const metrics = {
  episodes: {
    ...{ unit: 'episodes', better: null, chart: null },
    ofPlayed: ({ episodes }) => episodes,
    words: 'episodes played',
  },
  tokens: {
    ...{ unit: 'tokens', better: null, chart: null },
    ofPlayed: ({ tokens }) => tokens,
    words: 'tokens of the episodes',
  },
  action_tokens: {
    ...{ unit: 'tokens', better: null, chart: null },
    ofPlayed: ({ actionTokens }) => actionTokens,
    words: 'tokens that the policy sampled',
  },
  reward: {
    ...{ unit: 'by task', better: 'higher', chart: null },
    words: 'mean reward that the environment paid',
  },
  shaped_reward: {
    ...{ unit: 'by task', better: 'higher', chart: null },
    words: 'mean reward that learning uses: paid, or the penalty',
  },
  success: {
    ...{ unit: 'by task', better: 'higher', chart: null },
    words: 'share of the episodes that succeeded',
  },
  samples: { unit: 'by task', better: null, chart: null, words: 'episodes behind the success' },
  metrics: {
    ...{ unit: 'by task', better: null, chart: null, isOptional: true },
    words: 'metrics that the environment declares: mean, and its interval over groups',
  },
  'staleness.mean': {
    ...{ unit: 'updates', better: 'lower', chart: ['staleness', 'mean'] },
    words: 'mean staleness of the groups',
  },
  'staleness.max': {
    ...{ unit: 'updates', better: 'lower', chart: ['staleness', 'largest'] },
    words: 'largest staleness of a group',
  },
  stale_share: {
    ...{ unit: 'share', better: null, chart: ['pool', 'share'] },
    ofPlayed: ({ staleTurns, turns }) => ratio(staleTurns, turns),
    words: 'turns that were drawn from the pool of older versions',
  },
  compared_share: {
    ...{ unit: 'share', better: 'higher', chart: null },
    ofPlayed: ({ comparedTurns, turns }) => ratio(comparedTurns, turns),
    words: 'turns in a state that another turn of their group is in too',
  },
  turns_per_episode: {
    ...{ unit: 'turns', better: null, chart: ['length', 'mean'], isOptional: true },
    ofPlayed: ({ turns, episodes }) => ratio(turns, episodes),
    words: 'mean number of turns of an episode',
  },
  fresh: {
    ...{ unit: 'importance ratios', better: null, chart: null },
    words: 'tokens of the newest version',
  },
  stale: { unit: 'importance ratios', better: null, chart: null, words: 'tokens from the pool' },
  pool_weights: {
    ...{ unit: 'by version', better: null, chart: null },
    words: 'how often turns of a member of the pool are taken, where sampling adapts',
  },
  kl: {
    ...{ unit: 'nats', better: 'lower', chart: ['divergence', 'from the behaviour policy'] },
    ...{ trainer: 'required' },
    ofToken: ({ logprob, behaviourLogprob = logprob }) => boundedK3(logprob - behaviourLogprob).value,
    words: 'KL divergence from the behaviour policy, per token',
  },
  drift: {
    ...{ unit: 'nats', better: 'lower', chart: ['divergence', 'of it made within the update'] },
    ...{ isOptional: true, trainer: 'optional' },
    words: 'the part of `kl` that the update itself made; 0 of a single step',
  },
  reference_kl: {
    ...{ unit: 'nats', better: 'lower', chart: ['divergence', 'from the reference'], trainer: 'required' },
    ofToken: ({ logprob, referenceLogprob = logprob }) => boundedK3(referenceLogprob - logprob).value,
    words: 'KL divergence from the warm-started policy, per token',
  },
  entropy: {
    ...{ unit: 'nats', better: null, chart: ['entropy', 'entropy'], trainer: 'required' },
    ofToken: ({ entropy }) => entropy,
    words: 'entropy of the policy, per token',
  },
  entropy_coefficient: {
    ...{ unit: 'weight', better: null, chart: null, isOptional: true },
    words: 'weight of the entropy bonus, where it follows a target',
  },
  clip_fraction: {
    ...{ unit: 'share', better: 'lower', chart: ['clipped', 'share'], trainer: 'required' },
    ofToken: ({ isClipped }) => (isClipped ? 1 : 0),
    words: 'tokens beyond the clip range',
  },
  grad_norm: {
    ...{ unit: 'norm', better: null, chart: ['gradient', 'norm'], trainer: 'required' },
    figure: 'gradientNorm',
    words: 'norm of the gradient before it was clipped',
  },
  rejected: {
    ...{ unit: 'steps', better: 'lower', chart: ['rejected', 'rejected'] },
    ...{ isOptional: true, trainer: 'optional' },
    words: 'optimizer steps that were left out: rejected by the algorithm, or after `learning.targetKl`',
  },
  loss: {
    ...{ unit: 'loss', better: null, chart: null, trainer: 'required' },
    words: 'the objective that was minimized',
  },
  groups_with_preference: {
    ...{ unit: 'groups', better: 'higher', chart: null },
    words: 'groups in which an episode or a turn was better than another, from which the update learnt',
  },
  groups: {
    ...{ unit: 'groups', better: null, chart: null, figure: 'signal.groups', less: 'skipped.groups' },
    words: 'groups in the batch',
  },
  groups_won: {
    ...{ unit: 'groups', better: null, chart: null, figure: 'signal.won', less: 'skipped.won' },
    words: 'groups of which every episode succeeded',
  },
  groups_lost: {
    ...{ unit: 'groups', better: null, chart: null, figure: 'signal.lost', less: 'skipped.lost' },
    words: 'groups of which no episode succeeded',
  },
  unusable_share: {
    ...{ unit: 'share', better: 'lower', chart: ['useless', 'unusable'], figure: 'signal.unusable' },
    words: 'actions that could not be used',
  },
  cut_off_share: {
    ...{ unit: 'share', better: 'lower', chart: ['useless', 'cut off'], figure: 'signal.cutOff' },
    words: "actions that were cut off at the limit of a turn's tokens",
  },
  'skipped.groups': {
    ...{ unit: 'groups', better: 'lower', chart: null },
    words: 'groups that were played and left out, because they teach nothing',
  },
  'skipped.won': {
    unit: 'groups',
    better: null,
    chart: null,
    words: 'those of which every episode succeeded',
  },
  'skipped.lost': { unit: 'groups', better: null, chart: null, words: 'those of which no episode succeeded' },
  'skipped.episodes': { unit: 'episodes', better: 'lower', chart: null, words: 'their episodes' },
  'skipped.tokens': { unit: 'tokens', better: 'lower', chart: null, words: 'their tokens' },
  replayed: {
    ...{ unit: 'groups', better: null, chart: null, isOptional: true },
    words: 'groups of earlier updates that were learnt from once more',
  },
  'asked.answers': { ...asked, unit: 'questions', better: null, words: 'answers of models to environments' },
  'asked.faults': { ...asked, unit: 'questions', better: 'lower', words: 'tries that gave no answer' },
  'asked.tokens': { ...asked, unit: 'tokens', better: 'lower', words: 'tokens of questions and answers' },
  'asked.cost': { ...asked, unit: 'cost', better: 'lower', words: 'their cost, by the configured prices' },
  tasks: {
    ...{ unit: 'by task', better: null, chart: null },
    words: 'groups won, lost and mixed; mean and deviation of the advantages; share of the gradient',
  },
  refused: { unit: 'text', better: null, chart: null, words: 'why the update was refused' },
  'seconds.wait': {
    ...{ unit: 'seconds', better: 'lower', chart: ['seconds', 'waited'] },
    figure: 'waitSeconds',
    words: 'time spent waiting for groups',
  },
  'seconds.train': {
    ...{ unit: 'seconds', better: 'lower', chart: ['seconds', 'trained'] },
    figure: 'trainSeconds',
    words: 'time of the trainer',
  },
  'seconds.publish': {
    ...{ unit: 'seconds', better: 'lower', chart: ['seconds', 'published'] },
    figure: 'publishSeconds',
    words: 'time from the checkpoint until engines served it',
  },
  'seconds.skipped': {
    ...{ unit: 'seconds', better: 'lower', chart: null, figure: 'skipped.seconds' },
    words: 'durations of the episodes of skipped groups, added up',
  },
} as const satisfies Readonly<Record<string, Metric>>

export type Unit = keyof typeof units
export type ChartName = keyof typeof charts
type Rows = typeof metrics
export type MetricName = keyof Rows

/** The metrics whose row has such a property. */
type NamesWith<Property> = {
  [Name in MetricName]: Rows[Name] extends Property ? Name : never
}[MetricName]

/** Metrics that are one number. */
export type NumberName = {
  [Name in MetricName]: (typeof units)[Rows[Name]['unit']] extends null ? never : Name
}[MetricName]

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name
/** The key of a metric among the stored figures. */
type FigureOf<Name extends MetricName> = Name extends MetricName
  ? Rows[Name] extends { figure: infer Figure extends string }
    ? Figure
    : CamelCase<Name>
  : never

/** The figures that follow from what was played. */
export type PlayedFigures = {
  readonly [Name in NamesWith<{ ofPlayed: unknown }> as FigureOf<Name>]: number
}
/** The figures that the embedded trainer computes token by token. */
export type TokenFigure = FigureOf<NamesWith<{ ofToken: unknown }>>
type RequiredFigure = FigureOf<NamesWith<{ trainer: 'required' }>>
/** The figures that trainers report. */
export type TrainerFigures = { readonly [Figure in RequiredFigure]: number } & {
  readonly [Figure in FigureOf<NamesWith<{ trainer: 'optional' }>>]?: number | undefined
}

/** The rows of the table, in order. */
export const metricRows: readonly (readonly [MetricName, Metric])[] = Object.entries(metrics) as never

/** The rows whose metric is one number, with its bounds. */
export const numberRows: readonly (readonly [NumberName, Metric, Bounds])[] = metricRows.flatMap(
  ([name, row]) => {
    const bounds = units[row.unit]
    return bounds === null ? [] : [[name as NumberName, row, bounds] as const]
  },
)

/** The charts of the table, in order. */
export const chartRows: readonly (readonly [ChartName, MetricChart])[] = Object.entries(charts) as never

/** The metrics that a chart draws, each with its place there. */
export function metricsOfChart(chart: ChartName) {
  return numberRows
    .filter(([, row]) => row.chart?.[0] === chart)
    .map(([metric, row], place) => ({ metric, unit: row.unit, label: row.chart?.[1] ?? metric, place }))
}

/** Where the metric is among the stored figures. @example figureOf('clip_fraction') // 'clipFraction' */
export function figureOf(name: MetricName): string {
  const { figure = name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()) }: Metric =
    metrics[name]
  return figure
}

/** The figures of what was played. */
export function playedFigures(played: PlayedCounts): PlayedFigures {
  const found = metricRows.flatMap(([name, { ofPlayed }]) =>
    ofPlayed === undefined ? [] : [[figureOf(name), ofPlayed(played)]],
  )
  return Object.fromEntries(found)
}

/** The figures that the embedded trainer computes token by token. */
export const tokenRows: readonly (readonly [TokenFigure, (token: TrainedToken) => number])[] =
  metricRows.flatMap(([name, { ofToken }]) =>
    ofToken === undefined ? [] : [[figureOf(name) as TokenFigure, ofToken] as const],
  )

/** Sums of these figures over no token. */
export const noTokenFigures = Object.fromEntries(tokenRows.map(([figure]) => [figure, 0])) as Readonly<
  Record<TokenFigure, number>
>

/** The stored value of a metric that is one number; undefined where an update has none. */
export function storedNumber(name: NumberName, figures: object): number | undefined {
  const { less }: Metric = metrics[name]
  const value = numberAt(figures, figureOf(name))
  return value === undefined || less === undefined ? value : value - (numberAt(figures, less) ?? 0)
}

/** The number at a path of an object; undefined where there is none. @example numberAt(line, 'staleness.mean') */
export function numberAt(object: object, path: string): number | undefined {
  const found = path
    .split('.')
    .reduce<unknown>((part, key) => (part as Readonly<Record<string, unknown>> | undefined)?.[key], object)
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole
}
