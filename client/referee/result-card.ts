/**
 * Result card: what an experiment found, in one small file that anyone can grade again without its runs.
 *
 * Invariants
 * - A card has every episode of the evaluations of all runs that are done: how it ended, what it earned, and its actions.
 * - It names no folder of the machine: an environment of a user is named by its path from where the card was written.
 */
import { z } from 'zod'
import type { ExperimentStatement, Hypothesis } from '../../config/files/experiment.ts'
import { Fault } from '../../faults/fault.ts'
import { reasonOf } from '../../faults/reason.ts'
import { outcomes } from '../../learning/evaluation/outcome.ts'
import { notCompletedRules } from '../../learning/evaluation/reward.ts'
import { readTextSync } from '../../machine/files/text-file.ts'
import type { ReportedHypothesis } from '../experiment/experiment-report.ts'

const count = z.number().int().min(0)
const lost = z.partialRecord(z.enum(outcomes), count)
const values = z.record(z.string(), z.json())

/** Episodes that counted, a column each. */
const episodesSchema = z.object({
  /** Place of the instance in its panel, for each episode. */
  instances: z.array(count),
  outcomes: z.array(z.enum(outcomes)),
  rewards: z.array(z.number()),
  tokens: z.array(count),
  /** Places of its actions among the card's, blanks between them; `-` for one that could not be read. */
  actions: z.array(z.string()),
})

const evaluationSchema = z.object({
  suite: z.string(),
  version: count,
  value: z.number(),
  success: z.number(),
  n: count,
  planned: count,
  /** How the value is read, where the measure is a metric of the task. */
  metric: z
    .object({
      better: z.enum(['higher', 'lower']),
      unit: z.string().optional(),
      otherwise: z.number().optional(),
    })
    .optional(),
  /** Episodes that ended without a reward, by outcome. */
  lost,
  spent: z.record(z.string(), z.number().optional()).optional(),
  episodes: episodesSchema,
})

const cardSchema = z.object({
  card: z.literal(1),
  /** Version of Perdure, and its commit where it is known. */
  perdure: z.string(),
  statement: z.custom<CardStatement>((value) => typeof value === 'object' && value !== null),
  began: z.iso.datetime(),
  machine: z.string(),
  panels: z.array(
    z.object({
      suite: z.string(),
      task: z.string(),
      /** Where an environment of a user is, from the folder that the card was written in. */
      from: z.string().optional(),
      split: z.string(),
      settings: values,
      instances: z.array(z.string()),
      /** SHA-256 of the names, a line each. */
      sha256: z.string(),
    }),
  ),
  arms: z.array(
    z.object({
      arm: z.string(),
      set: values,
      /** The arm whose grid it is a point of. */
      pointOf: z.string().optional(),
      /** The point that it is. */
      chosen: z.string().optional(),
      /** SHA-256 of the whole configuration with the first seed. */
      configuration: z.string(),
      /** By task. */
      rewards: z.record(
        z.string(),
        z.object({
          atLeast: z.number(),
          demonstrated: z.number(),
          notCompleted: z.enum(notCompletedRules),
          penalty: z.number(),
        }),
      ),
      evaluation: z.object({ planned: count, played: count, lost }),
      training: z.object({
        played: count,
        lost,
        /** Episodes of groups without a preference. */
        skipped: count,
        /** At a limit of turns or of the context. */
        cutOff: count,
        /** Cancelled in groups that ended at their quorum. */
        timedOut: count,
        /** Attempts after the first. */
        retried: count,
      }),
    }),
  ),
  runs: z.array(
    z.object({
      run: z.string(),
      arm: z.string(),
      seed: count,
      machine: z.string().optional(),
      cost: z
        .object({
          seconds: z.number(),
          cpuSeconds: z.number().optional(),
          episodes: count,
          actionTokens: count,
        })
        .optional(),
      evaluations: z.array(evaluationSchema),
    }),
  ),
  /** Texts of all actions. */
  actions: z.array(z.string()),
  claims: z.custom<readonly ReportedHypothesis[]>((value) => Array.isArray(value)),
})

/** The statement without the configurations of arms. */
export type CardStatement = Omit<ExperimentStatement, 'arms' | 'hypotheses'> & {
  readonly hypotheses: readonly Hypothesis[]
}
export type ResultCard = z.infer<typeof cardSchema>
export type CardPanel = ResultCard['panels'][number]
export type CardRun = ResultCard['runs'][number]
export type CardEvaluation = z.infer<typeof evaluationSchema>
export type CardArm = ResultCard['arms'][number]

/** Kinds of {@link CardFault}: no card, what a card says differs from what grading finds, what a card needs is not here. */
export type CardFaultKind = 'bad_card' | 'changed_card' | 'cannot_grade'

/** Why a card is refused, or cannot be graded here; the same card is refused again. */
export class CardFault extends Fault<CardFaultKind> {
  protected static override readonly permanentKinds = 'all'
  override readonly name = 'CardFault'
}

/** @throws CardFault `bad_card` */
export function readCard(file: string): ResultCard {
  let value: unknown
  try {
    value = JSON.parse(readTextSync(file))
  } catch (error) {
    throw new CardFault('bad_card', `${file} cannot be read as a result card: ${reasonOf(error)}`, {
      cause: error,
    })
  }
  const { data, error } = cardSchema.safeParse(value)
  if (error === undefined) return data
  const [issue] = error.issues
  throw new CardFault(
    'bad_card',
    `${file} is no result card (${issue?.path.join('.')}: ${issue?.message}); give a NAME.card.json that \`perdure experiment report\` wrote with --out`,
  )
}
