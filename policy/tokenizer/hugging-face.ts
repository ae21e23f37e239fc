/**
 * The parts of @huggingface/tokenizers that are used here.
 *
 * Typed by hand: the package's declarations import one another without file extensions, which
 * TypeScript's `nodenext` does not resolve (they arrive as `any` or not at all).
 */
import * as huggingFace from '@huggingface/tokenizers'

/** A byte-pair model: merges within pre-tokens. */
interface PackageModel {
  readonly tokens_to_ids: ReadonlyMap<string, number>
  /** Spelled pre-tokens to spelled tokens. */
  encode(preTokens: readonly string[]): string[]
}

export interface PackageTokenizer {
  readonly model: PackageModel
  readonly normalizer: { normalize(text: string): string } | null
  encode(text: string, options: { readonly add_special_tokens: boolean }): { readonly ids: readonly number[] }
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
