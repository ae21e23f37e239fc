/**
 * Nouns of titles, which the reward compares.
 *
 * Invariants
 * - Where a product's nouns are given (by spaCy, in `title_nouns_spacy.json`) those are taken.
 * - Else a tagger in JavaScript reads the title; it is loaded when the first such title is met.
 */
import { z } from 'zod'
import { needPackages } from '../../contract/optional-package.ts'

/** Says which words of a product's title are nouns: in lower case, in order, repeated ones repeated. */
export interface NounReader {
  nounsOf(productId: string, title: string): Promise<readonly string[]>
}

/** Checks what `title_nouns_spacy.json` holds: nouns by product. */
export const nounsSchema = z.record(z.string(), z.array(z.string()))

type Tagger = (title: string) => string[]

// One model serves all tasks of a process: it takes some 10 MB.
let tagger: Promise<Tagger> | undefined

async function loadTagger(): Promise<Tagger> {
  needPackages('webshop', 'wink-nlp', 'wink-eng-lite-web-model')
  const [{ default: winkNlp }, { default: model }] = await Promise.all([
    import('wink-nlp'),
    import('wink-eng-lite-web-model'),
  ])
  const nlp = winkNlp(model, ['pos'])
  const { its } = nlp
  return (title) => {
    const tokens = nlp.readDoc(title).tokens()
    const words = tokens.out(its.value) as string[]
    const tags = tokens.out(its.pos) as string[]
    return words
      .filter((_, at) => tags[at] === 'NOUN' || tags[at] === 'PROPN')
      .map((word) => word.toLowerCase())
  }
}

/** Nouns that the JavaScript tagger finds. */
export async function taggedNouns(title: string): Promise<readonly string[]> {
  tagger ??= loadTagger()
  return (await tagger)(title)
}

/** @param given nouns by product, where they are known */
export function createNounReader(given: ReadonlyMap<string, readonly string[]>): NounReader {
  return {
    async nounsOf(productId, title) {
      return given.get(productId) ?? taggedNouns(title)
    },
  }
}
