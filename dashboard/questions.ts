/**
 * Questions: what a page may ask, read from requests and checked at the border.
 *
 * Invariants
 * - [QUESTIONS-1] Each parameter and body has bounds; one that breaks them is refused by its name.
 */
import { z } from 'zod'
import { Refused } from './answers/known-run.ts'
import { episodeSorts, mostEpisodeRows } from './contract/episodes.ts'

const number = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)

const episodeQuery = z.object({
  filter: z.string().max(4000).default(''),
  sort: z
    .templateLiteral([z.enum(['', '-']), z.enum(episodeSorts)])
    .default('-created')
    .transform((text) => ({
      sort: text.replace(/^-/, '') as (typeof episodeSorts)[number],
      descending: text.startsWith('-'),
    })),
  offset: number.default(0),
  limit: number.max(mostEpisodeRows).default(100),
  mark: number.optional(),
})

const curvesQuery = z.object({ after: number.default(0) })
const comparisonQuery = z.object({ of: z.string().min(1).max(2000) })
const liveQuery = z.object({ run: z.string().max(100).optional() })

const branchBody = z.strictObject({
  turn: z.int().min(0).max(1_000_000),
  samples: z.int().min(1).max(64).optional(),
  version: z.int().min(0).max(1_000_000_000).optional(),
})

const text = z.string().min(1).max(500)
const version = z.int().min(0).max(1_000_000_000)
const orderBody = z.discriminatedUnion('order', [
  z.strictObject({ order: z.literal('pause'), reason: text.optional() }),
  z.strictObject({ order: z.literal('continue') }),
  z.strictObject({ order: z.literal('stop'), now: z.boolean().optional() }),
  z.strictObject({ order: z.literal('set'), settings: z.record(z.string().max(100), z.number().nullable()) }),
  z.strictObject({ order: z.literal('evaluate'), suite: text.optional() }),
  z.strictObject({ order: z.literal('checkpoint') }),
  z.strictObject({ order: z.literal('rollback'), version }),
  z.strictObject({ order: z.literal('promote'), version: version.optional() }),
])

export const questions = {
  episodes: episodeQuery,
  curves: curvesQuery,
  comparison: comparisonQuery,
  live: liveQuery,
  branch: branchBody,
  order: orderBody,
}

/** @throws Refused `bad_request` */
export function asked<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const read = schema.safeParse(given)
  if (read.success) return read.data
  throw new Refused('bad_request', z.prettifyError(read.error))
}
