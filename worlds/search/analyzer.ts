/**
 * The terms of a text, as Lucene's English analysis gives them: words, without possessives, in lower case,
 * without stop words, stemmed.
 *
 * Invariants
 * - Texts that are indexed and texts that are searched for are analysed alike.
 * - The same text gives the same terms.
 */
import { stem } from './porter.ts'
import { eachWord } from './tokenizer.ts'

const stopWords: ReadonlySet<string> = new Set(
  'a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with'.split(
    ' ',
  ),
)

/** Words met again and again are analysed once; what is met after that many is not kept. */
const rememberedWords = 200_000
/** Longer words are rarely met twice. */
const rememberedLength = 40

const termOf = new Map<string, string | undefined>()

/** Calls `take` with every term of the text. */
export function eachTerm(text: string, take: (term: string) => void): void {
  eachWord(text, (word) => {
    let term = termOf.get(word)
    if (term === undefined && !termOf.has(word)) {
      term = analyse(word)
      if (termOf.size < rememberedWords && word.length <= rememberedLength) termOf.set(word, term)
    }
    if (term !== undefined) take(term)
  })
}

/** The terms of a text in order. @example termsOf("women's boots") // ['women', 'boot'] */
export function termsOf(text: string): string[] {
  const terms: string[] = []
  eachTerm(text, (term) => terms.push(term))
  return terms
}

function analyse(word: string): string | undefined {
  const lower = lowerCase(word.replace(/['\u2019\uff07][sS]$/, ''))
  return stopWords.has(lower) ? undefined : stem(lower)
}

/** Each character by itself, as Java's Character.toLowerCase does: no character becomes two. */
function lowerCase(word: string): string {
  const lower = word.toLowerCase()
  if (lower.length === word.length && !lower.includes('ς')) return lower
  return Array.from(word, (character) =>
    character === 'İ' ? 'i' : character === 'Σ' ? 'σ' : character.toLowerCase(),
  ).join('')
}
