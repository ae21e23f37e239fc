/**
 * Layout of a batch for the gradient: episodes sorted by length, padded to the longest of their
 * micro-batch.
 *
 * Padding costs little once sorted and cut where it is least (a few per cent), while packing episodes into one long
 * row would make attention, the square part of the work, cross episodes only to mask them out.
 *
 * Invariants
 * - Every counted token is in exactly one micro-batch; an episode is never cut.
 * - Tokens on which no counted token depends (an episode's end, an episode without counted tokens) are left out.
 * - [LAYOUT-1] The layout follows from lengths and order alone; no other cuts of the sorted episodes feed fewer
 *   tokens, a run of the graph counted as `runTokens` of them.
 */
import { timeMultiple } from '../../transformer/forward.ts'
import type { UpdateBatch } from '../batch.ts'

/** Episodes of about equal length. */
export interface MicroBatch {
  readonly batch: number
  readonly time: number
  /** [batch, time] token ids, 0 as padding */
  readonly tokens: BigInt64Array
  /** [rows] index into batch · time of the position that predicts a counted token */
  readonly rows: BigInt64Array
  /** [rows] the counted tokens */
  readonly targets: BigInt64Array
  /** [rows] where the counted tokens are in the batch's own arrays */
  readonly sources: Int32Array
}

/** The cost of a graph's run beside its tokens, in tokens: mostly the sum of its gradients, of whatever width. */
export const runTokens = 32

interface Span {
  readonly begin: number
  /** Tokens fed: all before the last counted one. */
  readonly length: number
}

/**
 * Cuts a batch into micro-batches.
 * @param tokenLimit tokens of one micro-batch, padding included; a longer episode is alone
 * @param episodes which episodes; all when left out
 * @param counted `learnt`: what was sampled, and what else is imitated; `all`: every token up to the last of those
 *   but the first
 */
export function microBatches(
  batch: Pick<UpdateBatch, 'tokens' | 'offsets' | 'lossMask' | 'imitation'>,
  tokenLimit: number,
  episodes?: readonly number[],
  counted: 'learnt' | 'all' = 'learnt',
): MicroBatch[] {
  const chosen = episodes ?? Array.from({ length: batch.offsets.length - 1 }, (_, index) => index)
  const spans = chosen
    .map((episode) => spanOf(batch, episode))
    .filter((span) => span.length > 0)
    .sort((a, b) => b.length - a.length) // stable: equal lengths keep their order
  const times = spans.map(({ length }) => Math.ceil(length / timeMultiple) * timeMultiple)
  const sizes = cheapestSizes(times, tokenLimit)
  const result: MicroBatch[] = []
  for (let first = 0; first < spans.length; ) {
    const size = sizes[first] as number
    result.push(layOut(batch, spans.slice(first, first + size), times[first] as number, counted))
    first += size
  }
  return result
}

/** How many episodes the micro-batch takes that begins with each. @param times falling, padded */
function cheapestSizes(times: readonly number[], tokenLimit: number): readonly number[] {
  const sizes = times.map(() => 1)
  /** The cost of the micro-batches from each episode on. */
  const costs = [...times.map(() => Number.POSITIVE_INFINITY), 0]
  for (const [first, time] of [...times.entries()].reverse()) {
    const most = Math.min(times.length - first, Math.max(1, Math.floor(tokenLimit / time)))
    for (let size = 1; size <= most; size++) {
      const cost = size * time + runTokens + (costs[first + size] as number)
      if (cost >= (costs[first] as number)) continue
      costs[first] = cost
      sizes[first] = size
    }
  }
  return sizes
}

/** The rows of a micro-batch that were sampled, each with its place in the batch; the others are imitated alone. */
export function sampledRows(
  { lossMask }: Pick<UpdateBatch, 'lossMask'>,
  { sources }: Pick<MicroBatch, 'sources'>,
): (readonly [row: number, source: number])[] {
  return [...sources.entries()].filter(([, source]) => lossMask[source] === 1)
}

/** Tokens that an episode's gradient is computed from: all before the last that it teaches. */
export function spanOf(
  batch: Pick<UpdateBatch, 'offsets' | 'lossMask' | 'imitation'>,
  episode: number,
): Span {
  const begin = batch.offsets[episode] as number
  let last = (batch.offsets[episode + 1] as number) - 1
  while (last > begin && !isLearnt(batch, last)) last--
  return { begin, length: Math.max(0, last - begin) }
}

/** Whether a token was sampled, or is imitated. */
function isLearnt(
  { lossMask, imitation }: Pick<UpdateBatch, 'lossMask' | 'imitation'>,
  source: number,
): boolean {
  return lossMask[source] === 1 || (imitation?.[source] ?? 0) > 0
}

function layOut(
  batch: Pick<UpdateBatch, 'tokens' | 'lossMask' | 'imitation'>,
  spans: readonly Span[],
  time: number,
  counted: 'learnt' | 'all',
): MicroBatch {
  const tokens = new BigInt64Array(spans.length * time)
  const rows: number[] = []
  const sources: number[] = []
  for (const [index, { begin, length }] of spans.entries()) {
    for (let position = 0; position < length; position++) {
      const source = begin + position
      tokens[index * time + position] = BigInt(batch.tokens[source] as number)
      if (counted === 'all' || isLearnt(batch, source + 1)) {
        rows.push(index * time + position)
        sources.push(source + 1)
      }
    }
  }
  return {
    batch: spans.length,
    time,
    tokens,
    rows: BigInt64Array.from(rows, BigInt),
    targets: BigInt64Array.from(sources, (source) => BigInt(batch.tokens[source] as number)),
    sources: Int32Array.from(sources),
  }
}
