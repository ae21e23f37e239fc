/**
 * Metrics: the lines of `metrics.jsonl`, one per update, one per evaluation and one per roll-back.
 *
 * Invariants
 * - An update's step, an evaluation's id and a roll-back's version are each known by one key.
 * - A line never changes, except an evaluation's: the line of a repetition that played lost episodes replaces it.
 */
import { z } from 'zod'
import { type metrics, type NumberName, numberRows } from '../../learning/run/metrics.ts'

const count = z.int().min(0)
const perTask = z.record(z.string(), z.number())
const share = z.number().min(0).max(1)

const estimateSchema = z.object({ value: z.number(), low: z.number(), high: z.number() })

/** Importance ratios of tokens, by the kind of turn that sampled them. */
const ratiosSchema = z.object({
  tokens: count,
  /** Estimate of KL(behaviour ‖ policy), in nats per token. */
  kl: z.number(),
  /** Effective sample size by tokens. */
  effective_share: share,
  /** [bins] shares of the tokens; the edges are `ratioEdges`. */
  ratios: z.array(share),
})

/** The metrics under a prefix that are one number, by the rest of their names. */
type NumberSchemas<Prefix extends string> = {
  [Name in NumberName as Name extends `${Prefix}${infer Key}`
    ? Key extends `${string}.${string}`
      ? never
      : Key
    : never]: (typeof metrics)[Name] extends { isOptional: true } ? z.ZodOptional<z.ZodNumber> : z.ZodNumber
}

/** Their schemas, from the table. */
function numberSchemas<Prefix extends string>(prefix: Prefix): NumberSchemas<Prefix> {
  const found = numberRows.flatMap(([name, { isOptional }, { whole, atLeast, atMost }]) => {
    const key = name.slice(prefix.length)
    if (!name.startsWith(prefix) || key.includes('.')) return []
    let field: z.ZodNumber = whole === true ? z.int() : z.number()
    if (atLeast !== undefined) field = field.min(atLeast)
    if (atMost !== undefined) field = field.max(atMost)
    return [[key, isOptional === true ? field.optional() : field]]
  })
  return Object.fromEntries(found)
}

const updateSchema = z.looseObject({
  /** From 1. */
  step: count,
  /** The version that the update published. */
  version: count,
  /** ISO 8601, UTC. */
  time: z.iso.datetime(),
  ...numberSchemas(''),
  reward: perTask,
  shaped_reward: perTask,
  success: perTask,
  samples: z.record(z.string(), count),
  /** By task and name, of the environment's metrics. */
  metrics: z.record(z.string(), z.record(z.string(), estimateSchema)).optional(),
  staleness: z.object(numberSchemas('staleness.')),
  fresh: ratiosSchema.optional(),
  stale: ratiosSchema.optional(),
  pool_weights: z.record(z.string(), z.number()).optional(),
  skipped: z.object(numberSchemas('skipped.')),
  asked: z.object(numberSchemas('asked.')).optional(),
  tasks: z.record(
    z.string(),
    z.object({
      won: count,
      lost: count,
      mixed: count,
      mean: z.number(),
      deviation: z.number().min(0),
      gradient_share: z.number().min(0),
    }),
  ),
  seconds: z.object(numberSchemas('seconds.')),
})

const evaluationSchema = z.looseObject({
  /** The evaluation's id within the run. */
  evaluation: z.string().min(1),
  version: count,
  suite: z.string().min(1),
  success: share,
  /** Episodes that ended with a reward. */
  n: count,
  /** Episodes that were to be played, and by outcome those without a reward. */
  planned: count,
  lost: z.record(z.string(), count),
})

const rollbackSchema = z.looseObject({
  /** The version whose weights the run went on from. */
  rollback: count,
  /** The version that they got. */
  version: count,
  /** The version that was left behind. */
  from: count,
  /** ISO 8601, UTC. */
  time: z.iso.datetime(),
})

/** One update, with the keys that readers of the file rely on; further keys are kept. */
export type UpdateMetrics = z.output<typeof updateSchema>
/** One evaluation. */
export type EvaluationMetrics = z.output<typeof evaluationSchema>
/** One roll-back. */
export type RollbackMetrics = z.output<typeof rollbackSchema>
export type MetricsLine = UpdateMetrics | EvaluationMetrics | RollbackMetrics

/** True for the line of an update. */
export function isUpdateMetrics(line: MetricsLine): line is UpdateMetrics {
  return 'step' in line
}

/** True for the line of an evaluation. */
export function isEvaluationMetrics(line: MetricsLine): line is EvaluationMetrics {
  return 'evaluation' in line
}

/** Key and order of a line. */
export interface MetricsPlace {
  /** Unique within a run. */
  readonly key: string
  /** The version that the line is about. */
  readonly version: number
  /** Orders lines about one version: roll-back 0, update 1, evaluation 2. */
  readonly rank: 0 | 1 | 2
  /** Orders updates of one version, of which at most one published it: their step; else 0. */
  readonly number: number
}

/** The place of a line among those of its run; it follows from the line alone. */
export function placeOf(line: MetricsLine): MetricsPlace {
  const { version } = line
  if (isUpdateMetrics(line)) return { key: `step ${line.step}`, version, rank: 1, number: line.step }
  if (isEvaluationMetrics(line)) return { key: `evaluation ${line.evaluation}`, version, rank: 2, number: 0 }
  return { key: `rollback ${version}`, version, rank: 0, number: 0 }
}

/** Whether a line replaces an earlier one of the same key: that of an evaluation of which more episodes ended with a reward. */
export function replaces(line: MetricsLine, earlier: MetricsLine): boolean {
  return isEvaluationMetrics(line) && isEvaluationMetrics(earlier) && line.n > earlier.n
}

/** @throws RangeError a figure that is missing, not finite or out of bounds, by name */
export function checkMetrics(line: MetricsLine): void {
  const parsed = schemaOf(line).safeParse(line)
  if (!parsed.success)
    throw new RangeError(
      `metrics line ${placeOf(line).key} cannot be written: ${z.prettifyError(parsed.error)}`,
    )
}

/** A text as a line; undefined where it is none. */
export function parseMetrics(text: string): MetricsLine | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const parsed = z.union([updateSchema, evaluationSchema, rollbackSchema]).safeParse(value)
  return parsed.success ? parsed.data : undefined
}

function schemaOf(line: MetricsLine) {
  if (isUpdateMetrics(line)) return updateSchema
  return isEvaluationMetrics(line) ? evaluationSchema : rollbackSchema
}
