/**
 * A byte-level byte-pair tokenizer, read from a `tokenizer.json`.
 *
 * Invariants
 * - `decode(encode(x))` is x for any well-formed text, where all 256 bytes are in the vocabulary and the
 *   file asks for no normalization; lone surrogates become U+FFFD.
 * - Added tokens are atomic, and text from outside never becomes one: only trusted parts can hold them.
 * - Decoding token by token gives the same text as decoding at once; half a character waits for its rest.
 * - Caches only save work and are bounded.
 * - [TOKENIZER-1] Where a limit is given, a text that exceeds it is refused after work in proportion to the limit, however long it is.
 */
import { z } from 'zod'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import { byteOfCharacter, readSpelling, spellBytes } from './byte-alphabet.ts'
import {
  HuggingFaceTokenizer,
  type PackageTokenizer,
  preTokenizerSchema,
  type Splitter,
  splitterOf,
} from './pre-tokenization.ts'

/** A stretch of text; only trusted ones (the template's own) may hold added tokens. */
export interface TextPart {
  readonly text: string
  readonly trusted: boolean
}

const tokenizerSchema = z.looseObject({
  added_tokens: z.array(
    z.looseObject({
      id: z.int().min(0),
      content: z.string().min(1),
      special: z.boolean().default(false),
      single_word: z.literal(false).default(false),
      lstrip: z.literal(false).default(false),
      rstrip: z.literal(false).default(false),
    }),
  ),
  normalizer: z.unknown(),
  pre_tokenizer: preTokenizerSchema,
  decoder: z.looseObject({ type: z.literal('ByteLevel') }),
  model: z.looseObject({
    type: z.literal('BPE').default('BPE'),
    vocab: z.looseObject({}),
    merges: z.array(z.unknown()),
  }),
})

/** Pieces of up to this many characters are remembered; longer ones hardly come back. */
const cachedPieceLength = 48
/** Pieces of one generation; two generations are kept. */
const cachedPieces = 16384
/** Far above any vocabulary in use. */
const maxTokens = 2 ** 20
const replacementCharacter = new Uint8Array([0xef, 0xbf, 0xbd])

export class Tokenizer {
  /** One more than the highest token id. */
  readonly vocabularySize: number
  /** Bytes that no token can spell; text holding them is lost. */
  readonly missingBytes: readonly number[]
  /** Tokens that stand for themselves, beside the vocabulary that was learnt. */
  readonly addedTokens: readonly {
    readonly id: number
    readonly content: string
    readonly special: boolean
  }[]
  readonly #package: PackageTokenizer
  readonly #split: Splitter
  readonly #added: ReadonlyMap<string, number>
  readonly #addedPattern: RegExp | undefined
  readonly #bytes: readonly (Uint8Array | undefined)[]
  /** Bytes that one token of a text spells at most. */
  readonly #longest: number
  #young = new Map<string, readonly number[]>()
  #old = new Map<string, readonly number[]>()

  private constructor(json: object, parsed: z.output<typeof tokenizerSchema>) {
    this.#package = new HuggingFaceTokenizer(json, {})
    this.#split = splitterOf(parsed.pre_tokenizer)
    this.addedTokens = parsed.added_tokens
    this.#added = new Map(parsed.added_tokens.map(({ content, id }) => [content, id]))
    this.#addedPattern = alternationOf([...this.#added.keys()])
    const bytes: (Uint8Array | undefined)[] = []
    const utf8 = new TextEncoder()
    const ids = this.#package.model.tokens_to_ids
    let longest = 1
    for (const [token, id] of ids) {
      if (!Number.isInteger(id) || id < 0 || id >= maxTokens)
        throw new RangeError(`token ${JSON.stringify(token)} has id ${id}, at most ${maxTokens} are possible`)
      bytes[id] = this.#added.has(token) ? utf8.encode(token) : (readSpelling(token) ?? utf8.encode(token))
      if (!this.#added.has(token)) longest = Math.max(longest, bytes[id].length)
    }
    this.#bytes = bytes
    this.#longest = longest
    this.vocabularySize = bytes.length
    this.missingBytes = [...byteOfCharacter]
      .filter(([character]) => !ids.has(character))
      .map(([, byte]) => byte)
  }

  /**
   * Reads the text of a `tokenizer.json`.
   * @param file named in faults
   * @throws CheckpointFault `corrupt` when it is none, `foreign` when it is not a byte-level BPE one
   */
  static parse(text: string, file = 'tokenizer.json'): Tokenizer {
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch (cause) {
      throw new CheckpointFault('corrupt', `${file}: not JSON`, { cause })
    }
    const parsed = tokenizerSchema.safeParse(json)
    if (!parsed.success) {
      const issue = parsed.error.issues[0]
      throw new CheckpointFault(
        'foreign',
        `${file}: ${issue?.path.join('.') || 'root'}: ${issue?.message}; supported are byte-level byte-pair tokenizers`,
        { cause: parsed.error },
      )
    }
    try {
      return new Tokenizer(json as object, parsed.data)
    } catch (cause) {
      throw new CheckpointFault('foreign', `${file}: ${(cause as Error).message}`, { cause })
    }
  }

  /** Tokens of a text in which added tokens count as such. */
  encode(text: string): Int32Array {
    return this.encodeParts([{ text, trusted: true }])
  }

  /** Tokens of a text from outside: what looks like an added token is spelled out. */
  encodePlain(text: string): Int32Array {
    return this.encodeParts([{ text, trusted: false }])
  }

  /** Tokens of a text that is partly the template's and partly from outside, as one text. */
  encodeParts(parts: readonly TextPart[]): Int32Array {
    return this.encodeWithin(parts, Number.POSITIVE_INFINITY) ?? new Int32Array(0)
  }

  /** The same; undefined where there are more than `most` tokens. */
  encodeWithin(parts: readonly TextPart[], most: number): Int32Array | undefined {
    const tokens: number[] = []
    let pending = ''
    for (const { text, trusted } of parts) {
      if (!trusted || this.#addedPattern === undefined) {
        pending += text
        continue
      }
      // Capturing, so odd positions are the added tokens.
      const sections = text.split(this.#addedPattern)
      for (let i = 0; i < sections.length; i++) {
        const section = sections[i] as string
        if (i % 2 === 0) {
          pending += section
        } else {
          if (!this.#encodePending(pending, tokens, most)) return undefined
          pending = ''
          tokens.push(this.#added.get(section) as number)
        }
      }
    }
    return this.#encodePending(pending, tokens, most) ? Int32Array.from(tokens) : undefined
  }

  /** @returns false as soon as it is certain that there are more than `most` tokens */
  #encodePending(text: string, into: number[], most: number): boolean {
    if (text !== '') {
      const wellFormed = text.toWellFormed()
      const { normalizer } = this.#package
      const normal = normalizer === null ? wellFormed : normalizer.normalize(wellFormed)
      // Splitting a text and merging a long word cost seconds per megabyte, so the text is measured before.
      if (into.length + this.#leastTokens(normal) > most) return false
      for (const piece of this.#split(normal)) {
        for (const token of this.#encodePiece(piece)) into.push(token)
        if (into.length > most) return false
      }
    }
    return into.length <= most
  }

  /** A lower bound of the tokens of a normalized text: its bytes, each spelled by the longest token. */
  #leastTokens(text: string): number {
    // Bytes without a token are left out, and any part of the text may consist of them.
    return this.missingBytes.length > 0 ? 0 : Buffer.byteLength(text) / this.#longest
  }

  #encodePiece(piece: string): readonly number[] {
    const cached = this.#young.get(piece) ?? this.#old.get(piece)
    if (cached !== undefined) return cached
    const { model } = this.#package
    const tokens: number[] = []
    for (const token of model.encode([spellBytes(piece)])) {
      const id = model.tokens_to_ids.get(token)
      if (id !== undefined) tokens.push(id)
    }
    if (piece.length <= cachedPieceLength) {
      if (this.#young.size >= cachedPieces) {
        this.#old = this.#young
        this.#young = new Map()
      }
      this.#young.set(piece, tokens)
    }
    return tokens
  }

  /** Text of tokens; an id without a token reads as U+FFFD, as do bytes that are no UTF-8. */
  decode(tokens: ArrayLike<number>): string {
    let size = 0
    for (let i = 0; i < tokens.length; i++) size += this.bytesOf(tokens[i] as number).length
    const bytes = new Uint8Array(size)
    let at = 0
    for (let i = 0; i < tokens.length; i++) {
      const part = this.bytesOf(tokens[i] as number)
      bytes.set(part, at)
      at += part.length
    }
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  }

  /** A decoder for tokens that come one at a time. */
  streamDecoder(): StreamDecoder {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    return {
      push: (token) => decoder.decode(this.bytesOf(token), { stream: true }),
      end: () => decoder.decode(),
    }
  }

  /** Whether an id has a token. */
  has(id: number): boolean {
    return this.#bytes[id] !== undefined
  }

  /** UTF-8 bytes of one token, possibly part of a character. */
  bytesOf(token: number): Uint8Array {
    return this.#bytes[token] ?? replacementCharacter
  }

  /** The id of an added token, by its text. */
  addedToken(content: string): number | undefined {
    return this.#added.get(content)
  }
}

/** Turns tokens into text as they come; what it returned in all is what decoding at once returns. */
export interface StreamDecoder {
  /** The text that this token completes, possibly none. */
  push(token: number): string
  /** The rest: U+FFFD for a character that never ended. */
  end(): string
}

/** Matches the longest of the texts at each place and captures it. */
export function alternationOf(texts: readonly string[]): RegExp | undefined {
  if (texts.length === 0) return undefined
  const longestFirst = [...texts].sort((a, b) => b.length - a.length)
  return new RegExp(`(${longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`)
}
