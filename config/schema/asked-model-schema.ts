/**
 * The models that an environment asks, in the configuration: a judge and a user.
 *
 * Invariants
 * - A model is the policy of the run, or behind an endpoint; a key of the one is refused beside the other (`consistency.ts`).
 */
import { z } from 'zod'
import { amount, count, positive, text } from './bounded-field.ts'

const price = z.number().min(0).max(1_000_000).default(0)

const askedModelSchema = z.strictObject({
  from: z
    .string()
    .regex(/^(policy|https?:\/\/[^\s/]+\S*)$/)
    .default('policy')
    .describe("`policy`, or the base URL of a chat endpoint in OpenAI's form."),
  version: z
    .union([amount(1_000_000), z.literal('newest')])
    .optional()
    .describe('Version of the policy, 0 by default; until it is there, the newest.'),
  model: text.optional().describe("The endpoint's model."),
  apiKey: text.optional().describe("The endpoint's token, as a reference to a secret."),
  temperature: z
    .number()
    .min(0)
    .max(10)
    .default(0)
    .describe('Sampling temperature; at least 0.5 after an unreadable answer.'),
  maxTokens: count(32_768).default(64).describe('Tokens of an answer.'),
  timeoutSeconds: positive(3600).default(60).describe('Seconds of one try.'),
  tries: count(100).default(3).describe('Tries of a question.'),
  promptPrice: price.describe('Price of a million tokens of questions.'),
  completionPrice: price.describe('Price of a million tokens of answers.'),
})

/** A model that is asked. */
export type AskedModelConfig = z.output<typeof askedModelSchema>

/** Older versions of the policy that models of these tasks answer from. */
export function askedVersions(
  tasks: readonly {
    readonly judge?: AskedModelConfig | undefined
    readonly user?: AskedModelConfig | undefined
  }[],
): readonly number[] {
  const models = tasks.flatMap(({ judge, user }) => [judge, user])
  return models.flatMap((model) =>
    model?.from === 'policy' && model.version !== 'newest' ? [model.version ?? 0] : [],
  )
}

/** The fields of a task that configure models. */
export const askedModels = {
  judge: askedModelSchema
    .optional()
    .describe('The model that [judges](environments.md#a-judge-or-a-user), where the environment asks one.'),
  user: askedModelSchema.optional().describe('The model that speaks as the user.'),
}
