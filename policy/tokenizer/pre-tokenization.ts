/**
 * Pre-tokenization: cutting text into the pieces that byte-pair merges never cross.
 *
 * Invariants
 * - Joined, the pieces are the text.
 * - Digits and blanks are Unicode's, as in the reference implementation (the package's own classes for
 *   `ByteLevel` and `Digits` take JavaScript's or ASCII's).
 */

import * as huggingFace from '@huggingface/tokenizers'
import { z } from 'zod'

/** Cuts a text into pieces. */
export type Splitter = (text: string) => string[]

/** The pattern of GPT-2, which `ByteLevel` applies when asked to use its own. */
const gpt2Pattern =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu

/** The same in the dialect of `tokenizer.json`, for tokenizers made here. */
const wordPattern = "'(?:s|t|re|ve|m|ll|d)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

const byteLevelSchema = z.looseObject({
  type: z.literal('ByteLevel'),
  add_prefix_space: z.literal(false).default(false),
  use_regex: z.boolean().default(true),
})

const splitSchema = z.looseObject({
  type: z.literal('Split'),
  pattern: z.union([z.strictObject({ Regex: z.string() }), z.strictObject({ String: z.string() })]),
  behavior: z.literal('Isolated'),
  invert: z.literal(false).default(false),
})

const digitsSchema = z.looseObject({ type: z.literal('Digits'), individual_digits: z.boolean() })
const stepSchema = z.discriminatedUnion('type', [byteLevelSchema, splitSchema, digitsSchema])

/** The forms of `pre_tokenizer` in a byte-level `tokenizer.json`. */
export const preTokenizerSchema = z.union([
  stepSchema.transform((step) => [step]),
  z
    .looseObject({ type: z.literal('Sequence'), pretokenizers: z.array(stepSchema).min(1) })
    .transform(({ pretokenizers }) => pretokenizers),
])

type Step = z.output<typeof stepSchema>

/**
 * The parts of @huggingface/tokenizers that are used here.
 *
 * Typed by hand: the package's declarations import one another without file extensions, which
 * TypeScript's `nodenext` does not resolve (they arrive as `any` or not at all).
 */
export interface PackageTokenizer {
  readonly model: PackageModel
  readonly normalizer: { normalize(text: string): string } | null
  encode(text: string, options: { readonly add_special_tokens: boolean }): { readonly ids: readonly number[] }
}

/** The splitter that the steps of a `pre_tokenizer` make, without their byte mapping. */
export function splitterOf(steps: readonly Step[]): Splitter {
  const splitters = steps.map(stepSplitter).filter((splitter) => splitter !== undefined)
  const [first, ...rest] = splitters
  if (first === undefined) return (text) => (text === '' ? [] : [text])
  if (rest.length === 0) return first
  return (text) => rest.reduce((pieces, splitter) => pieces.flatMap((piece) => splitter(piece)), first(text))
}

function stepSplitter(step: Step): Splitter | undefined {
  switch (step.type) {
    case 'ByteLevel':
      return step.use_regex ? (text) => text.match(gpt2Pattern) ?? [] : undefined
    case 'Split': {
      const splitter = new SplitPreTokenizer(step)
      return (text) => splitter.pre_tokenize_text(text)
    }
    case 'Digits': {
      const pattern = step.individual_digits ? /\p{N}|\P{N}+/gu : /\p{N}+|\P{N}+/gu
      return (text) => text.match(pattern) ?? []
    }
  }
}

/** The `pre_tokenizer` of tokenizers made here. */
export const madePreTokenizer = {
  type: 'Sequence',
  pretokenizers: [
    { type: 'Split', pattern: { Regex: wordPattern }, behavior: 'Isolated', invert: false },
    { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
  ],
} as const

/** A byte-pair model: merges within pre-tokens. */
interface PackageModel {
  readonly tokens_to_ids: ReadonlyMap<string, number>
  /** Spelled pre-tokens to spelled tokens. */
  encode(preTokens: readonly string[]): string[]
}

/** Cuts text at matches of an Oniguruma pattern. */
interface PackageSplit {
  pre_tokenize_text(text: string): string[]
}

interface PackageExports {
  readonly Tokenizer: new (json: object, config: object) => PackageTokenizer
  readonly SplitPreTokenizer: new (config: object) => PackageSplit
}

export const { Tokenizer: HuggingFaceTokenizer, SplitPreTokenizer } = huggingFace as unknown as PackageExports
