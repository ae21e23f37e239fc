/**
 * Ids that no token has: the rows of a model's vocabulary beyond its tokenizer's, as where the size is padded, and holes in it.
 *
 * Such an id reads as nothing, and servers refuse a context that has one. So it is never sampled, and the softmax that sampling and
 * training share is over the other ids alone.
 *
 * Invariants
 * - [TOKENLESS-1] An id has a token where `model.vocab` or `added_tokens` of the `tokenizer.json` names it. A text that lists no
 *   vocabulary says nothing of ids, and none is tokenless.
 */
import { z } from 'zod'

/** Ids from the first to before the second. */
export type IdRange = readonly [begin: number, end: number]

const id = z.int().min(0)
const vocabularySchema = z.looseObject({
  added_tokens: z.array(z.looseObject({ id })).default([]),
  // Unigram models list their tokens in the order of their ids.
  model: z.looseObject({ vocab: z.union([z.record(z.string(), id), z.array(z.unknown())]) }),
})

/**
 * The tokenless ids below the size of a vocabulary, rising.
 * @param tokenizer the text of a `tokenizer.json`
 * @example tokenlessIds('{"model": {"vocab": {"a": 0, "b": 2}}}', 5) // [[1, 2], [3, 5]]
 */
export function tokenlessIds(tokenizer: string, vocabulary: number): IdRange[] {
  const parsed = vocabularySchema.safeParse(jsonOf(tokenizer))
  if (!parsed.success) return []
  const { added_tokens, model } = parsed.data
  const has = new Uint8Array(vocabulary)
  for (const named of Array.isArray(model.vocab) ? model.vocab.keys() : Object.values(model.vocab))
    has[named] = 1
  for (const added of added_tokens) has[added.id] = 1
  const ranges: [number, number][] = []
  for (const [at, named] of has.entries()) {
    const last = ranges.at(-1)
    if (named === 1) continue
    if (last?.[1] === at) last[1]++
    else ranges.push([at, at + 1])
  }
  // A vocabulary without any token is no vocabulary.
  return ranges[0]?.[1] === vocabulary && ranges[0][0] === 0 ? [] : ranges
}

/** Each id of the ranges. */
export function idsIn(ranges: readonly IdRange[] = []): number[] {
  return ranges.flatMap(([begin, end]) => Array.from({ length: end - begin }, (_, at) => begin + at))
}

/** Whether an id is in one of the ranges. */
export function isIn(ranges: readonly IdRange[] = [], id: number): boolean {
  return ranges.some(([begin, end]) => id >= begin && id < end)
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Whether it is a tokenizer is found where it is opened, by name.
    return undefined
  }
}
