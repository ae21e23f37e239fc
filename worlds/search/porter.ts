/**
 * Porter's stemmer, with the two changes that its author's later code and Lucene's PorterStemFilter have
 * (`bli` to `ble`, `logi` to `log`).
 *
 * Source: M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980).
 *
 * Invariants
 * - Words of one or two characters stay as they are.
 * - A stem is never longer than its word but by an `e` that a rule restores.
 */

/** Whether the letter at a place is a consonant: `y` is one at the start and after a vowel. */
function isConsonant(word: string, at: number): boolean {
  switch (word[at]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
      return false
    case 'y':
      return at === 0 || !isConsonant(word, at - 1)
    default:
      return true
  }
}

/** Number of vowel-consonant sequences within the first `length` letters. */
function measure(word: string, length: number): number {
  let count = 0
  let vowelBefore = false
  for (let at = 0; at < length; at++) {
    const consonant = isConsonantAfter(word, at, vowelBefore)
    if (consonant && vowelBefore) count++
    vowelBefore = !consonant
  }
  return count
}

/** The same as isConsonant, where it is known what the letter before was. */
function isConsonantAfter(word: string, at: number, vowelBefore: boolean): boolean {
  return word[at] === 'y' ? at === 0 || vowelBefore : isConsonant(word, at)
}

function hasVowel(word: string, length: number): boolean {
  let vowelBefore = false
  for (let at = 0; at < length; at++) {
    const consonant = isConsonantAfter(word, at, vowelBefore)
    if (!consonant) return true
    vowelBefore = false
  }
  return false
}

function endsInDoubleConsonant(word: string): boolean {
  const last = word.length - 1
  return last >= 1 && word[last] === word[last - 1] && isConsonant(word, last)
}

/** Consonant, vowel, consonant other than w, x, y at the end: an `e` is restored there. */
function endsInShortSyllable(word: string, length: number): boolean {
  const last = length - 1
  if (last < 2 || !isConsonant(word, last) || isConsonant(word, last - 1) || !isConsonant(word, last - 2))
    return false
  const letter = word[last]
  return letter !== 'w' && letter !== 'x' && letter !== 'y'
}

function dropPlural(word: string): string {
  if (!word.endsWith('s')) return word
  if (word.endsWith('sses') || word.endsWith('ies')) return word.slice(0, -2)
  return word.at(-2) === 's' ? word : word.slice(0, -1)
}

function dropPast(word: string): string {
  if (word.endsWith('eed')) return measure(word, word.length - 3) > 0 ? word.slice(0, -1) : word
  const suffix = word.endsWith('ed') ? 2 : word.endsWith('ing') ? 3 : 0
  if (suffix === 0 || !hasVowel(word, word.length - suffix)) return word
  const stem = word.slice(0, -suffix)
  if (stem.endsWith('at') || stem.endsWith('bl') || stem.endsWith('iz')) return `${stem}e`
  if (endsInDoubleConsonant(stem)) {
    const last = stem.at(-1)
    return last === 'l' || last === 's' || last === 'z' ? stem : stem.slice(0, -1)
  }
  return measure(stem, stem.length) === 1 && endsInShortSyllable(stem, stem.length) ? `${stem}e` : stem
}

type Rules = readonly (readonly [suffix: string, replacement: string])[]

const doubleSuffixes: Rules = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['bli', 'ble'],
  ['alli', 'al'],
  ['entli', 'ent'],
  ['eli', 'e'],
  ['ousli', 'ous'],
  ['ization', 'ize'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['alism', 'al'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['biliti', 'ble'],
  ['logi', 'log'],
]

const derivedSuffixes: Rules = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ful', ''],
  ['ness', ''],
]

const lastSuffixes: readonly string[] = [
  'al',
  'ance',
  'ence',
  'er',
  'ic',
  'able',
  'ible',
  'ant',
  'ement',
  'ment',
  'ent',
  'ion',
  'ou',
  'ism',
  'ate',
  'iti',
  'ous',
  'ive',
  'ize',
]

/** Applies the first rule whose suffix the word has, where the rest is long enough. */
function replaceSuffix(word: string, rules: Rules): string {
  for (const [suffix, replacement] of rules)
    if (word.endsWith(suffix)) {
      const length = word.length - suffix.length
      return measure(word, length) > 0 ? word.slice(0, length) + replacement : word
    }
  return word
}

function dropLastSuffix(word: string): string {
  for (const suffix of lastSuffixes)
    if (word.endsWith(suffix)) {
      const length = word.length - suffix.length
      if (suffix === 'ion' && word[length - 1] !== 's' && word[length - 1] !== 't') continue
      return measure(word, length) > 1 ? word.slice(0, length) : word
    }
  return word
}

function tidy(word: string): string {
  let stem = word
  if (stem.endsWith('e')) {
    const rest = measure(stem, stem.length)
    if (rest > 1 || (rest === 1 && !endsInShortSyllable(stem, stem.length - 1))) stem = stem.slice(0, -1)
  }
  if (stem.endsWith('l') && endsInDoubleConsonant(stem) && measure(stem, stem.length) > 1)
    stem = stem.slice(0, -1)
  return stem
}

/** The stem of a lower-case word. @example stem('relational') // 'relat' */
export function stem(word: string): string {
  if (word.length <= 2) return word
  let stemmed = dropPast(dropPlural(word))
  if (stemmed.endsWith('y') && hasVowel(stemmed, stemmed.length - 1)) stemmed = `${stemmed.slice(0, -1)}i`
  return tidy(dropLastSuffix(replaceSuffix(replaceSuffix(stemmed, doubleSuffixes), derivedSuffixes)))
}
