/**
 * Layout of a batch for the gradient: episodes sorted by length, padded to the longest of their
 * micro-batch.
 *
 * Padding costs little once sorted (a few per cent), while packing episodes into one long row would make
 * attention, the square part of the work, cross episodes only to mask them out.
 *
 * Invariants
 * - Every counted token is in exactly one micro-batch; an episode is never cut.
 * - What no counted token depends on (an episode's end, an episode without counted tokens) is left out.
 * - The layout follows from lengths and order alone.
 */
import { timeMultiple } from '../transformer/forward.ts'
import type { UpdateBatch } from './batch.ts'

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

interface Span {
  readonly begin: number
  /** Tokens fed: all before the last counted one. */
  readonly length: number
}

/**
 * Cuts a batch into micro-batches.
 * @param tokenLimit tokens of one micro-batch, padding included; a longer episode is alone
 * @param episodes which episodes; all when left out
 * @param counted `all` counts what is read as well: every token up to the last action's end but the first
 */
export function microBatches(
  batch: Pick<UpdateBatch, 'tokens' | 'offsets' | 'lossMask'>,
  tokenLimit: number,
  episodes?: readonly number[],
  counted: 'actions' | 'all' = 'actions',
): MicroBatch[] {
  const chosen = episodes ?? Array.from({ length: batch.offsets.length - 1 }, (_, index) => index)
  const spans = chosen
    .map((episode) => spanOf(batch, episode))
    .filter((span) => span.length > 0)
    .sort((a, b) => b.length - a.length) // stable: equal lengths keep their order
  const result: MicroBatch[] = []
  for (let first = 0; first < spans.length; ) {
    const longest = (spans[first] as Span).length
    const time = Math.ceil(longest / timeMultiple) * timeMultiple
    const size = Math.max(1, Math.floor(tokenLimit / time))
    result.push(layOut(batch, spans.slice(first, first + size), time, counted))
    first += size
  }
  return result
}

/** Tokens that an episode's gradient is computed from: all before its last counted token. */
export function spanOf(batch: Pick<UpdateBatch, 'offsets' | 'lossMask'>, episode: number): Span {
  const begin = batch.offsets[episode] as number
  let last = (batch.offsets[episode + 1] as number) - 1
  while (last > begin && batch.lossMask[last] === 0) last--
  return { begin, length: Math.max(0, last - begin) }
}

function layOut(
  batch: Pick<UpdateBatch, 'tokens' | 'lossMask'>,
  spans: readonly Span[],
  time: number,
  counted: 'actions' | 'all',
): MicroBatch {
  const tokens = new BigInt64Array(spans.length * time)
  const rows: number[] = []
  const sources: number[] = []
  for (const [index, { begin, length }] of spans.entries()) {
    for (let position = 0; position < length; position++) {
      const source = begin + position
      tokens[index * time + position] = BigInt(batch.tokens[source] as number)
      if (counted === 'all' || batch.lossMask[source + 1] === 1) {
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
