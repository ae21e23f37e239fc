/**
 * The statement of an experiment: one schema, which is also its documentation.
 *
 * Invariants
 * - Unknown keys are errors, and every field has bounds and a description.
 * - Names of an experiment and its arms have no dot, so that the names of its runs tell them.
 */
import { z } from 'zod'
import { spendingNames } from '../../learning/claims/sequential.ts'
import { metricName } from '../../learning/evaluation/measure.ts'
import { largestReward } from '../../learning/evaluation/reward.ts'
import { amount, probability, text } from './bounded-field.ts'

const name = (longest: number) =>
  z.string().regex(new RegExp(`^[a-z0-9][a-z0-9_-]{0,${longest - 1}}$`), {
    error: `up to ${longest} lower-case letters, digits, \`-\` and \`_\``,
  })

const setSchema = z.record(text, z.json())

/** Points of a grid at most: each has a run of every tuning seed. */
const mostPoints = 16

const gridSchema = z.record(text, z.array(z.json()).min(1)).refine(
  (grid) => {
    const points = Object.values(grid).reduce((product, { length }) => product * length, 1)
    return points >= 2 && points <= mostPoints
  },
  { error: `lists of values by key, with 2 to ${mostPoints} combinations` },
)
const armSchema = z.object({ grid: gridSchema.optional() }).catchall(z.json())
const suiteName = z.string().regex(/^[a-z0-9_]{1,40}$/, { error: 'the name of a suite' })
const version = z.enum(['first', 'last', 'best'])

const policyPattern = /^([a-z0-9][a-z0-9_-]{0,19})(?:@(first|last|best))?$/
const policySchema = z
  .string()
  .regex(policyPattern, { error: 'an arm, with or without `@first`, `@last` or `@best`' })

const hypothesisSchema = z.strictObject({
  name: name(60).optional().describe('Name of the claim in reports; made of its arms by default.'),
  better: policySchema.describe('The arm that is said to be better: ARM, or ARM@VERSION.'),
  than: policySchema.describe('The arm that it is compared with.'),
  by: z
    .number()
    .min(-largestReward)
    .max(largestReward)
    .default(0)
    .describe('How much better, in the unit of the measure: of success 0.1 claims more than 10 points.'),
  equivalent: z
    .strictObject({
      within: z
        .number()
        .positive()
        .max(largestReward)
        .describe(
          'The largest difference, either way, in the unit of the measure: of success 0.02 is 2 points.',
        ),
    })
    .optional()
    .describe('Instead of `by`: that the two are level, and differ by less than that.'),
  at: z
    .strictObject({
      updates: amount(1_000_000).optional(),
      episodes: amount(1_000_000_000).optional(),
      tokens: amount(1_000_000_000_000).optional(),
      seconds: amount(1_000_000_000).optional(),
      cpuSeconds: amount(1_000_000_000).optional(),
    })
    .refine((budget) => Object.values(budget).some((amount) => amount !== undefined), {
      error: 'one of updates, episodes, tokens, seconds, cpuSeconds',
    })
    .optional()
    .describe(
      'A budget: of each run the last evaluation counts that it had reached within so many updates, training episodes, sampled tokens, seconds or CPU seconds; `@first` stays the first.',
    ),
  detect: z
    .number()
    .min(-largestReward)
    .max(largestReward)
    .optional()
    .describe(
      'The true difference, in the unit of the measure, that `perdure experiment plan` finds seeds for.',
    ),
  on: z
    .union([suiteName, z.array(suiteName).min(1).max(64)])
    .optional()
    .describe('The suite, or several of which the mean counts; all that are measured by default.'),
})

const measureSchema = z.strictObject({
  of: z
    .string()
    .regex(metricName)
    .default('success')
    .describe(
      'The number that the claims are about: `success`, the mean `reward`, `turns` or `tokens` of an episode, of the last two the fewer the better, or a metric of the task.',
    ),
  suites: z
    .array(suiteName)
    .min(1)
    .max(64)
    .optional()
    .describe('Suites of the runs that are reported; all that every arm has by default.'),
  version: version
    .default('last')
    .describe(
      'Which version of a run counts: the `last`, the `first` (the warm start), or the `best` of each suite. The best is chosen by the very episodes that measure it, so it looks better than it is.',
    ),
})

/** The schema of an experiment's file. */
export const experimentSchema = z.strictObject({
  name: name(31).describe('Name of the experiment; its runs are called NAME.ARM.SEED.'),
  question: text.max(500).optional().describe('The question of the experiment, in words.'),
  pilot: text
    .optional()
    .describe(
      'The experiment that `perdure experiment plan` takes spread and costs from: its name in the home, or the path from this file of its report, NAME.json as `--out` writes it. By default the experiment of this name.',
    ),
  base: text.optional().describe('Configuration that all arms begin with: a path from the file.'),
  set: setSchema
    .default({})
    .describe('Values that all arms set, by their keys, e.g. `training.updates: 30`.'),
  arms: z
    .record(name(20), armSchema)
    .refine((arms) => Object.keys(arms).length > 0 && Object.keys(arms).length <= 32, {
      error: '1 to 32 arms',
    })
    .describe(
      'The values that each arm sets beside that, by its name. Its `grid: {KEY: [value, …]}` has values to choose among: see `tune`.',
    ),
  seeds: z
    .array(amount(4_294_967_295))
    .min(1)
    .max(64)
    .refine((seeds) => new Set(seeds).size === seeds.length, { error: 'each seed once' })
    .describe('Seeds; each arm has a run of each, and runs of a seed are compared with one another.'),
  tune: z
    .strictObject({
      seeds: z
        .array(amount(4_294_967_295))
        .min(1)
        .max(16)
        .refine((seeds) => new Set(seeds).size === seeds.length, { error: 'each seed once' })
        .describe('Seeds that are run at each point of a grid; none of `seeds`.'),
    })
    .optional()
    .describe(
      'How arms with a `grid` are tuned: of the points, run with these seeds first, the arm is the best by the measure on the first suite; of equal ones it is the first.',
    ),
  measure: measureSchema.prefault({}).describe('The measure of each run.'),
  hypotheses: z
    .array(hypothesisSchema)
    .max(64)
    .default([])
    .describe('Claims, stated before the runs; they are judged as one family.'),
  test: z
    .enum(['t', 'sign_flip'])
    .default('t')
    .describe(
      'Which p is held against the level: of the t test over seeds, or of the sign-flip test over seeds, which needs six seeds at least. Both are reported.',
    ),
  design: z
    .strictObject({
      looks: z
        .array(amount(64).min(2))
        .min(2)
        .max(10)
        .describe(
          'Seeds at each look, rising: the claims are judged over the first of them, and the last look has all.',
        ),
      spending: z
        .enum(spendingNames)
        .default('obrien-fleming')
        .describe(
          'How the level is spent on the looks (Lan and DeMets): `obrien-fleming` keeps most for the last, `pocock` spends it evenly.',
        ),
    })
    .optional()
    .describe(
      'Looks at which the experiment ends early when every claim is decided; without it, all seeds are run.',
    ),
  level: probability.gt(0).max(0.5).default(0.05).describe('Level of the family of claims, two-sided.'),
})

/** An experiment as its file states it, with defaults. */
export type ExperimentFile = z.output<typeof experimentSchema>

/** Values by key, of which an arm's are chosen. */
export type FileGrid = z.output<typeof gridSchema>

/** Which version of a run counts. */
export type MeasuredVersion = z.output<typeof version>

/** A policy that is measured. */
export interface MeasuredPolicy {
  readonly arm: string
  readonly version: MeasuredVersion
}

/** The policy that a claim names. @param usual where it names no version */
export function measuredPolicy(text: string, usual: MeasuredVersion): MeasuredPolicy {
  const [, arm = text, wanted] = policyPattern.exec(text) ?? []
  return { arm, version: (wanted as MeasuredVersion | undefined) ?? usual }
}
