/**
 * A text index with BM25 ranking that gives Lucene's scores: k1 0.9 and b 0.4 as Pyserini sets them, document
 * lengths in one byte, single-precision arithmetic, a query's term counting as often as it is there. It is used alone by
 * `TextIndexBuilder`, and knows nothing of tasks.
 *
 * Invariants
 * - Scores fall along a ranking; equal ones are in the order of the documents' names.
 * - Documents that share no term with the query are not found.
 * - Postings are typed arrays: 6 bytes for each different term of a document, besides the vocabulary.
 * - Up to 40 the number comes back exactly; from there on four leading bits are kept, rounded down.
 * - A greater number never has a smaller byte.
 */
import { eachTerm } from './analyzer.ts'
import { GrowingList } from './growing.ts'

const k1 = Math.fround(0.9)
const b = Math.fround(0.4)
const mostOfOneTerm = 65_535

/** One found document. */
export interface Hit {
  /** Position among the documents that were added. */
  readonly document: number
  readonly score: number
}

/** Gathers documents; `finish` gives the index. */
export class TextIndexBuilder {
  readonly #vocabulary = new Map<string, number>()
  readonly #terms = new GrowingList((length) => new Uint32Array(length))
  readonly #counts = new GrowingList((length) => new Uint16Array(length))
  readonly #lengths = new GrowingList((length) => new Uint8Array(length))
  readonly #starts = new GrowingList((length) => new Uint32Array(length))
  readonly #names: string[] = []
  #totalTerms = 0

  /** @param name unique; equal scores are ordered by it */
  add(name: string, text: string): void {
    const counts = new Map<number, number>()
    let length = 0
    eachTerm(text, (term) => {
      let id = this.#vocabulary.get(term)
      if (id === undefined) {
        id = this.#vocabulary.size
        this.#vocabulary.set(term, id)
      }
      counts.set(id, (counts.get(id) ?? 0) + 1)
      length++
    })
    this.#names.push(name)
    this.#starts.push(this.#terms.length)
    for (const [term, count] of counts) {
      this.#terms.push(term)
      this.#counts.push(Math.min(count, mostOfOneTerm))
    }
    this.#lengths.push(lengthToByte(length))
    this.#totalTerms += length
  }

  finish(): TextIndex {
    const terms = this.#terms.view()
    const counts = this.#counts.view()
    const starts = this.#starts.view()
    const offsets = new Uint32Array(this.#vocabulary.size + 1)
    for (const term of terms) offsets[term + 1] = (offsets[term + 1] ?? 0) + 1
    for (let term = 1; term < offsets.length; term++)
      offsets[term] = (offsets[term] ?? 0) + (offsets[term - 1] ?? 0)
    const documents = new Uint32Array(terms.length)
    const frequencies = new Uint16Array(terms.length)
    const next = offsets.slice()
    for (let document = 0; document < starts.length; document++) {
      const end = document + 1 < starts.length ? (starts[document + 1] ?? 0) : terms.length
      for (let at = starts[document] ?? 0; at < end; at++) {
        const term = terms[at] ?? 0
        const place = next[term] ?? 0
        next[term] = place + 1
        documents[place] = document
        frequencies[place] = counts[at] ?? 0
      }
    }
    return new TextIndex({
      vocabulary: this.#vocabulary,
      names: this.#names,
      offsets,
      documents,
      frequencies,
      lengths: this.#lengths.view(),
      totalTerms: this.#totalTerms,
    })
  }
}

interface Postings {
  readonly vocabulary: ReadonlyMap<string, number>
  readonly names: readonly string[]
  /** The postings of term t are those from offsets[t] up to offsets[t + 1]. */
  readonly offsets: Uint32Array
  readonly documents: Uint32Array
  readonly frequencies: Uint16Array
  readonly lengths: Uint8Array
  readonly totalTerms: number
}

/** The searchable index of the texts that a `TextIndexBuilder` has gathered. */
export class TextIndex {
  readonly #postings: Postings
  /** Per byte of length: 1 / (k1 · (1 − b + b · length / average length)). */
  readonly #inverseNorms = new Float32Array(256)
  /** Documents that have any term: those without do not count. */
  readonly #counted: number
  readonly #scores: Float64Array
  readonly #found: number[] = []

  constructor(postings: Postings) {
    this.#postings = postings
    this.#counted = postings.lengths.reduce((sum, length) => sum + (length === 0 ? 0 : 1), 0)
    this.#scores = new Float64Array(postings.names.length)
    const average = Math.fround(postings.totalTerms / Math.max(1, this.#counted))
    for (let byte = 0; byte < 256; byte++) {
      const share = Math.fround(Math.fround(b * byteToLength(byte)) / average)
      const norm = Math.fround(k1 * Math.fround(Math.fround(1 - b) + share))
      this.#inverseNorms[byte] = 1 / norm
    }
  }

  /** Documents that were added. */
  get size(): number {
    return this.#postings.names.length
  }

  /** The best documents for a query, at most so many. */
  search(query: string, limit: number): Hit[] {
    const counts = new Map<number, number>()
    eachTerm(query, (term) => {
      const id = this.#postings.vocabulary.get(term)
      if (id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1)
    })
    for (const [term, count] of counts) this.#addScores(term, count)
    return this.#takeBest(limit)
  }

  #addScores(term: number, count: number): void {
    const { offsets, documents, frequencies, lengths } = this.#postings
    const scores = this.#scores
    const end = offsets[term + 1] ?? 0
    const start = offsets[term] ?? 0
    const having = end - start
    const idf = Math.fround(Math.log(1 + (this.#counted - having + 0.5) / (having + 0.5)))
    const weight = Math.fround(count * idf)
    for (let at = start; at < end; at++) {
      const document = documents[at] ?? 0
      const norm = this.#inverseNorms[lengths[document] ?? 0] ?? 0
      const saturation = Math.fround(1 + Math.fround((frequencies[at] ?? 0) * norm))
      const before = scores[document] ?? 0
      if (before === 0) this.#found.push(document)
      scores[document] = before + Math.fround(weight - Math.fround(weight / saturation))
    }
  }

  /** Sorts what was found, and clears the sums for the next query. */
  #takeBest(limit: number): Hit[] {
    const { names } = this.#postings
    const worse = (one: Hit, other: Hit): boolean =>
      one.score < other.score ||
      (one.score === other.score && (names[one.document] ?? '') > (names[other.document] ?? ''))
    const best: Hit[] = []
    for (const document of this.#found) {
      const hit = { document, score: Math.fround(this.#scores[document] ?? 0) }
      this.#scores[document] = 0
      const last = best[best.length - 1]
      if (best.length === limit && last !== undefined && worse(hit, last)) continue
      let low = 0
      let high = best.length
      while (low < high) {
        const middle = (low + high) >>> 1
        const other = best[middle]
        if (other !== undefined && worse(other, hit)) high = middle
        else low = middle + 1
      }
      best.splice(low, 0, hit)
      if (best.length > limit) best.pop()
    }
    this.#found.length = 0
    return best
  }
}

// So many numbers are kept as they are; Lucene derives it from the byte of the greatest integer.
const exactNumbers = 24

/** Keeps the four leading bits of a number, and where they are. */
function packFloat(value: number): number {
  const bits = 32 - Math.clz32(value)
  if (bits < 4) return value
  const shift = bits - 4
  return ((value >>> shift) & 7) | ((shift + 1) << 3)
}

function unpackFloat(packed: number): number {
  const shift = (packed >>> 3) - 1
  const bits = packed & 7
  return shift < 0 ? bits : (bits | 8) * 2 ** shift
}

/** @param length terms of a document, from 0 on */
export function lengthToByte(length: number): number {
  return length < exactNumbers ? length : exactNumbers + packFloat(length - exactNumbers)
}

/** @returns the length that a byte encodes */
export function byteToLength(byte: number): number {
  return byte < exactNumbers ? byte : exactNumbers + unpackFloat(byte - exactNumbers)
}
