/**
 * The words of a text, as Lucene's StandardTokenizer cuts them (UAX #29, with its own rules for scripts
 * without spaces and for pictographs).
 *
 * Invariants
 * - Words come in the order of the text, never overlap and are never empty.
 * - No word is longer than 255 UTF-16 units: a longer one is cut there and continues as the next.
 * - Time grows with the length of the text, whatever it holds.
 */
import { breakClass, breakClassOf } from './word-break.ts'

/** Units of a word at most, as Lucene has it by default. */
const longestWord = 255

const {
  letter,
  hebrew,
  numeric,
  katakana,
  single,
  pictograph,
  pictographPerson,
  spaceless,
  spacelessMark,
  extend,
  joiner,
  textSelector,
  flag,
  midLetter,
  midNumber,
  midBoth,
  doubleQuote,
  connector,
  apostrophe,
  skinTone,
} = breakClass

/** Calls `take` with every word of the text. */
export function eachWord(text: string, take: (word: string) => void): void {
  let start = 0
  while (start < text.length) {
    const end = wordEnd(text, start)
    if (end > start) take(text.slice(start, end))
    start = end > start ? end : nextStart(text, start)
  }
}

/** Where a word may begin after a place at which none does. */
function nextStart(text: string, start: number): number {
  const next = start + width(text, start)
  if (classAt(text, start, text.length) !== connector) return next
  // Connectors begin a word if a letter follows them within its length: a longer run is passed over at once.
  let end = next
  let found = classAt(text, end, text.length)
  while (found === connector || extendsAny(found)) {
    end += width(text, end)
    found = classAt(text, end, text.length)
  }
  return Math.max(next, end - longestWord)
}

/** Where the longest word that begins at `start` ends; `start` where none begins. */
function wordEnd(text: string, start: number): number {
  const limit = Math.min(text.length, start + longestWord)
  switch (classAt(text, start, limit)) {
    case letter:
    case hebrew:
    case numeric:
    case katakana:
    case connector:
      return chainEnd(text, start, limit)
    case single:
      return extendedEnd(text, start, limit)
    case pictograph:
    case pictographPerson:
    case skinTone:
      return pictographEnd(text, start, limit)
    case joiner:
      return isPictograph(classAt(text, start + 1, limit)) ? pictographEnd(text, start + 1, limit) : start
    case flag: {
      const second = extendedEnd(text, start, limit)
      return classAt(text, second, limit) === flag ? extendedEnd(text, second, limit) : start
    }
    case spaceless:
    case spacelessMark:
      return spacelessEnd(text, start, limit)
    default:
      return keycapEnd(text, start, limit)
  }
}

// A Hebrew letter with its apostrophe: it may end a word, and joins on like a letter.
const hebrewQuoted = -1

/** Letters, digits and katakana, with what may be between them. */
function chainEnd(text: string, start: number, limit: number): number {
  let end = start
  let at = start
  let previous = 0
  while (at < limit) {
    let current = classAt(text, at, limit)
    if (!joins(previous, current)) {
      const beyond = bridged(text, at, limit, previous, current)
      if (beyond !== undefined) {
        at = beyond
        current = classAt(text, at, limit)
      } else if (previous === hebrew && current === apostrophe) current = hebrewQuoted
      else break
    }
    at = extendedEnd(text, at, limit)
    previous = current
    // Connectors alone are no word.
    if (current !== connector || end > start) end = at
  }
  return end
}

function isLetter(found: number): boolean {
  return found === letter || found === hebrew
}

/** Whether a character may follow another within a word, with nothing between them. */
function joins(previous: number, current: number): boolean {
  if (current === connector) return true
  if (current === katakana) return previous === katakana || previous === connector || previous === 0
  if (isLetter(current) || current === numeric) return previous !== katakana
  return false
}

/** The place of the letter or digit beyond a mark that may be between two of its kind. */
function bridged(
  text: string,
  at: number,
  limit: number,
  previous: number,
  mark: number,
): number | undefined {
  const betweenBoth = mark === midBoth || mark === apostrophe
  const betweenLetters = isLetter(previous) && (mark === midLetter || betweenBoth)
  const betweenDigits = previous === numeric && (mark === midNumber || betweenBoth)
  const betweenHebrew = previous === hebrew && mark === doubleQuote
  if (!betweenLetters && !betweenDigits && !betweenHebrew) return undefined
  const beyond = extendedEnd(text, at, limit)
  const found = classAt(text, beyond, limit)
  if (betweenHebrew) return found === hebrew ? beyond : undefined
  return (betweenLetters ? isLetter(found) : found === numeric) ? beyond : undefined
}

/** Where a character and the marks that extend it end. */
function extendedEnd(text: string, at: number, limit: number): number {
  let end = at + width(text, at)
  while (end < limit && extendsAny(classAt(text, end, limit))) end += width(text, end)
  return Math.min(end, limit)
}

function extendsAny(found: number): boolean {
  return found === extend || found === spacelessMark || found === joiner || found === textSelector
}

/** A pictograph with its selectors, the skin tone of a person, and those that a joiner ties to it. */
function pictographEnd(text: string, start: number, limit: number): number {
  let previous = classAt(text, start, limit)
  let end = start + width(text, start)
  while (end < limit) {
    const found = classAt(text, end, limit)
    const tied = previous === joiner && isPictograph(found)
    const toned = previous === pictographPerson && found === skinTone
    if (!tied && !toned && found !== extend && found !== spacelessMark && found !== joiner) break
    previous = found
    end += width(text, end)
  }
  return Math.min(end, limit)
}

function isPictograph(found: number): boolean {
  return found === pictograph || found === pictographPerson
}

function spacelessEnd(text: string, start: number, limit: number): number {
  let end = start
  while (end < limit) {
    const found = classAt(text, end, limit)
    if (found !== spaceless && !(end === start ? found === spacelessMark : extendsAny(found))) break
    end += width(text, end)
  }
  return Math.min(end, limit)
}

/** Where # or * drawn as a key ends: followed by U+20E3, perhaps with a selector between. */
function keycapEnd(text: string, start: number, limit: number): number {
  const unit = text.charCodeAt(start)
  if (unit !== 0x23 && unit !== 0x2a) return start
  const after = text.charCodeAt(start + 1) === 0xfe0f ? start + 2 : start + 1
  return text.charCodeAt(after) === 0x20e3 && after < limit ? after + 1 : start
}

function classAt(text: string, at: number, limit: number): number {
  if (at >= limit) return 0
  return breakClassOf(text.codePointAt(at) ?? 0)
}

function width(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (unit < 0xd800 || unit > 0xdbff) return 1
  const next = text.charCodeAt(at + 1)
  return next >= 0xdc00 && next <= 0xdfff ? 2 : 1
}
