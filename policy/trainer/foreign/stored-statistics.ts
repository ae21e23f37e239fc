/**
 * Statistics as the checkpoint of an update or a part of a warm start keeps them, in `facts.statistics` of `state.json`.
 *
 * Invariants
 * - All figures are finite, and no time is among them: work done again has the same.
 */
import { z } from 'zod'
import type { TrainerFigures } from '../../../learning/run/metrics.ts'
import { trainerRows } from '../../../learning/run/trainer-figures.ts'

/** The figures of the table of metrics that trainers report. */
const figureSchemas = Object.fromEntries(
  trainerRows.map(([figure, { trainer }]) => [
    figure,
    trainer === 'required' ? z.number() : z.number().optional(),
  ]),
) as {
  readonly [Figure in keyof TrainerFigures]-?: undefined extends TrainerFigures[Figure]
    ? z.ZodOptional<z.ZodNumber>
    : z.ZodNumber
}

/** The statistics of an update. */
export const statisticsSchema = z.strictObject({
  ...figureSchemas,
  actionTokens: z.int(),
  tokens: z.int(),
  origins: z
    .array(
      z
        .strictObject({
          version: z.int(),
          stale: z.boolean(),
          tokens: z.int(),
          divergence: z.number(),
          ratios: z.number(),
          squares: z.number(),
          histogram: z.array(z.int()).readonly(),
        })
        .readonly(),
    )
    .readonly()
    // Not every trainer measures them.
    .default([]),
})

/** `UpdateStatistics` without its seconds. */
export type Statistics = z.output<typeof statisticsSchema>

/** The statistics of a part of a warm start. */
export const warmStartStatisticsSchema = z.strictObject({
  loss: z.number(),
  lastLoss: z.number(),
  gradientNorm: z.number(),
  actionTokens: z.int(),
  tokens: z.int(),
})
