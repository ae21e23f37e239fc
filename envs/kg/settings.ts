/**
 * Settings of the knowledge graph task: which graph, which questions, and which prompt.
 *
 * Invariants
 * - Every setting has a default; empty settings are valid ones.
 * - Kinds that are given win over those of the difficulty.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { type Difficulty, difficultySetting, promptSetting, settingsOf } from '../contract/task-settings.ts'
import { isSafeName } from './graph/sparql.ts'

/** Kinds of generated questions. */
export const questionKinds = [
  'one_hop',
  'two_hop',
  'three_hop',
  'intersection',
  'argmax',
  'argmin',
  'count',
] as const
export type QuestionKind = (typeof questionKinds)[number]

const settingsSchema = z.strictObject({
  difficulty: difficultySetting.describe(
    'Generated questions: `easy` is one hop and counting, `hard` has sets that take two hops.',
  ),
  kinds: z
    .array(z.enum(questionKinds))
    .min(1)
    .optional()
    .describe('Kinds of generated questions, taken in turn; by default those of the difficulty.'),
  prompt: promptSetting,
  endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('SPARQL endpoint that holds the graph of the questions in the data folder.'),
  namespace: z
    .string()
    .refine(isSafeName, 'has characters that no IRI has')
    .default('http://rdf.freebase.com/ns/')
    .describe('The prefix of every entity and relation at the endpoint.'),
  timeoutSeconds: z.number().positive().max(100).default(30).describe('Deadline of a query at the endpoint.'),
  maxRows: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(10_000)
    .describe('Members of a set that the endpoint hands out; a larger set is never a right answer.'),
})

const kindsOf: Readonly<Record<Difficulty, readonly QuestionKind[]>> = {
  easy: ['one_hop', 'count'],
  normal: ['one_hop', 'two_hop', 'intersection', 'argmax', 'argmin', 'count'],
  hard: ['two_hop', 'three_hop', 'intersection', 'argmax', 'argmin', 'count'],
}

/** Settings, complete. */
export interface KgSettings {
  readonly kinds: readonly QuestionKind[]
  /** Hops that lead to a set which is then intersected, compared or counted. */
  readonly setHops: 1 | 2
  readonly prompt: 'short' | 'full'
  readonly endpoint: string | undefined
  readonly namespace: string
  readonly timeoutMs: number
  readonly maxRows: number
}

/** Fills in what is not given. @throws EnvironmentFault bad_settings, naming key and allowed values */
export function readSettings(settings: JsonObject | undefined): KgSettings {
  const { difficulty, kinds, prompt, endpoint, namespace, timeoutSeconds, maxRows } = settingsOf(
    'kg',
    settingsSchema,
    settings,
  )
  return {
    kinds: kinds ?? kindsOf[difficulty],
    setHops: difficulty === 'hard' ? 2 : 1,
    prompt,
    endpoint,
    namespace,
    timeoutMs: timeoutSeconds * 1000,
    maxRows,
  }
}
