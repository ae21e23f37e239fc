/**
 * Making a byte-pair tokenizer from text (Sennrich et al. 2016, byte-level as in GPT-2).
 *
 * Invariants
 * - The same texts in the same order and the same settings give the same `tokenizer.json`, byte for byte.
 * - All 256 bytes are among tokens 0–255, so every text can be spelled.
 * - Merges are taken by count, then by the lower pair of ids, which gives those of Hugging Face's trainer
 *   (checked with tokenizers 0.23).
 * - [PAIR-TRAINING-1] No learned token is longer than 64 bytes, so a text of any kind has tokens in proportion to its length, and whether it
 *   fits into a context is known from its length.
 * - Added tokens have the last ids and take no part in merges.
 * - A popped pair is never less frequent than a pair that remains.
 */
import { characterOfByte } from './byte-alphabet.ts'
import { madePreTokenizer, preTokenizerSchema, splitterOf } from './pre-tokenization.ts'
import { alternationOf } from './tokenizer.ts'

/** A token given rather than learned. */
export interface AddedToken {
  readonly content: string
  /** Control tokens are left out when text is shown to people. */
  readonly special: boolean
}

export interface TokenizerSettings {
  /** Tokens in all: 256 bytes, merges and added tokens; fewer where the text offers no more merges. */
  readonly vocabularySize: number
  readonly addedTokens: readonly AddedToken[]
}

/** Bytes of a learned token at most: no word is longer, but one character repeated a million times would become a token. */
const longestToken = 64

/** A pair seen once is noise, not a word. */
const minimumCount = 2

/** A pair (as one number) with its count at the time it was pushed. */
interface QueuedPair {
  readonly pair: number
  readonly count: number
}

/**
 * Learns a vocabulary.
 * @returns the text of a `tokenizer.json`
 * @throws RangeError when the vocabulary has no room for the bytes and the added tokens
 */
export function trainTokenizer(texts: Iterable<string>, settings: TokenizerSettings): string {
  const { vocabularySize, addedTokens } = settings
  const learnable = vocabularySize - addedTokens.length
  if (learnable < 256)
    throw new RangeError(
      `a vocabulary of ${vocabularySize} has no room for 256 bytes and ${addedTokens.length} added tokens`,
    )
  const vocabulary = new Vocabulary()
  const merges: [string, string][] = []
  const corpus = new Corpus(countPieces(texts, addedTokens))
  while (vocabulary.size < learnable) {
    const best = corpus.mostFrequentPair()
    if (best === undefined) break
    const left = vocabulary.tokenOf(best.left)
    const right = vocabulary.tokenOf(best.right)
    // Tokens are spelled with one character for each byte.
    if (left.length + right.length > longestToken) continue
    merges.push([left, right])
    corpus.merge(best.left, best.right, vocabulary.idOf(left + right))
  }
  return renderTokenizer(vocabulary, merges, addedTokens)
}

function countPieces(texts: Iterable<string>, addedTokens: readonly AddedToken[]): Map<string, number> {
  const split = splitterOf(preTokenizerSchema.parse(madePreTokenizer))
  const added = alternationOf(addedTokens.map(({ content }) => content))
  const counts = new Map<string, number>()
  for (const text of texts) {
    const sections = added === undefined ? [text] : text.split(added).filter((_, i) => i % 2 === 0)
    for (const section of sections)
      for (const piece of split(section.toWellFormed())) counts.set(piece, (counts.get(piece) ?? 0) + 1)
  }
  return counts
}

/** Hugging Face's order, on which ties between merges depend. */
const alphabet: readonly string[] = [...characterOfByte].sort()

const tokenOfByte: readonly number[] = characterOfByte.map((character) => alphabet.indexOf(character))

class Vocabulary {
  readonly #tokens: string[] = [...alphabet]
  readonly #ids = new Map<string, number>(alphabet.map((character, id) => [character, id]))

  get size(): number {
    return this.#tokens.length
  }

  tokenOf(id: number): string {
    return this.#tokens[id] as string
  }

  /** The token's id, a new one for a new token: two different merges may spell the same token. */
  idOf(token: string): number {
    let id = this.#ids.get(token)
    if (id === undefined) {
      id = this.#tokens.push(token) - 1
      this.#ids.set(token, id)
    }
    return id
  }

  toObject(): Record<string, number> {
    return Object.fromEntries(this.#tokens.map((token, id) => [token, id]))
  }
}

/** Ids stay below 2^20, so that a pair is one exact number. */
const pairBase = 2 ** 20

/** The different pieces of the text as token sequences, with counts of their neighbouring pairs. */
class Corpus {
  readonly #words: number[][] = []
  readonly #wordCounts: number[] = []
  readonly #pairCounts = new Map<number, number>()
  /** Words in which a pair may occur; stale entries are harmless. */
  readonly #places = new Map<number, Set<number>>()
  readonly #queue = new PairQueue()

  constructor(pieces: ReadonlyMap<string, number>) {
    const utf8 = new TextEncoder()
    for (const [piece, count] of pieces) {
      const word = this.#words.push(Array.from(utf8.encode(piece), (byte) => tokenOfByte[byte] as number)) - 1
      this.#wordCounts.push(count)
      this.#countPairs(word, count)
    }
    for (const [pair, count] of this.#pairCounts) this.#queue.push(pair, count)
  }

  /** The most frequent pair; of equals the one with the lower ids. */
  mostFrequentPair(): { readonly left: number; readonly right: number } | undefined {
    for (;;) {
      const top = this.#queue.pop()
      if (top === undefined) return undefined
      const count = this.#pairCounts.get(top.pair) ?? 0
      if (count < minimumCount) continue
      // Counts in the queue are of the time of their entry: a fallen one goes back with its true count.
      if (count === top.count) return { left: Math.floor(top.pair / pairBase), right: top.pair % pairBase }
      if (count < top.count) this.#queue.push(top.pair, count)
    }
  }

  /** Replaces each occurrence of the pair, from the left, by the merged token. */
  merge(left: number, right: number, merged: number): void {
    const pair = left * pairBase + right
    const raised = new Set<number>()
    for (const word of this.#places.get(pair) ?? []) {
      const tokens = this.#words[word] as number[]
      const count = this.#wordCounts[word] as number
      this.#countPairs(word, -count)
      let kept = 0
      for (let i = 0; i < tokens.length; i++) {
        if (tokens[i] === left && tokens[i + 1] === right) {
          tokens[kept++] = merged
          i++
        } else {
          tokens[kept++] = tokens[i] as number
        }
      }
      tokens.length = kept
      this.#countPairs(word, count)
      for (let i = 0; i + 1 < kept; i++)
        if (tokens[i] === merged || tokens[i + 1] === merged)
          raised.add((tokens[i] as number) * pairBase + (tokens[i + 1] as number))
    }
    this.#places.delete(pair)
    this.#pairCounts.delete(pair)
    for (const neighbour of raised) {
      const count = this.#pairCounts.get(neighbour)
      if (count !== undefined) this.#queue.push(neighbour, count)
    }
  }

  #countPairs(word: number, count: number): void {
    const tokens = this.#words[word] as number[]
    for (let i = 0; i + 1 < tokens.length; i++) {
      const pair = (tokens[i] as number) * pairBase + (tokens[i + 1] as number)
      this.#pairCounts.set(pair, (this.#pairCounts.get(pair) ?? 0) + count)
      if (count > 0) {
        const places = this.#places.get(pair)
        if (places === undefined) this.#places.set(pair, new Set([word]))
        else places.add(word)
      }
    }
  }
}

function renderTokenizer(
  vocabulary: Vocabulary,
  merges: readonly [string, string][],
  addedTokens: readonly AddedToken[],
): string {
  return `${JSON.stringify({
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens.map(({ content, special }, i) => ({
      id: vocabulary.size + i,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special,
    })),
    normalizer: null,
    pre_tokenizer: madePreTokenizer,
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: vocabulary.toObject(),
      merges,
    },
  })}\n`
}

function precedes(a: QueuedPair, b: QueuedPair): boolean {
  return a.count > b.count || (a.count === b.count && a.pair < b.pair)
}

/** Binary heap. */
class PairQueue {
  readonly #heap: QueuedPair[] = []

  push(pair: number, count: number): void {
    const entry = { pair, count }
    const heap = this.#heap
    let at = heap.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent] as QueuedPair
      if (!precedes(entry, above)) break
      heap[at] = above
      at = parent
    }
    heap[at] = entry
  }

  pop(): QueuedPair | undefined {
    const heap = this.#heap
    const top = heap[0]
    const last = heap.pop()
    if (top === undefined || last === undefined || heap.length === 0) return top
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      const right = heap[child + 1]
      if (right !== undefined && precedes(right, heap[child] as QueuedPair)) child++
      const below = heap[child] as QueuedPair
      if (!precedes(below, last)) break
      heap[at] = below
      at = child
    }
    heap[at] = last
    return top
  }
}
