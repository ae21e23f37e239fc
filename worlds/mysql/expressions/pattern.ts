/**
 * MySQL's two kinds of patterns.
 *
 * Invariants
 * - Case does not count; in LIKE, accents do not either.
 * - LIKE takes time in the product of both lengths at most, and its thread is ended where that is past the deadline; a
 *   REGEXP that would take longer ends at a limit of its own.
 */
import { sqlFailure } from '../database.ts'
import { StatementRefused } from '../failure.ts'
import { foldText } from '../values/value.ts'
import { withinLimit } from './match-limit.ts'

/** Whether a text is like a pattern: `%` any letters, `_` one, `mark` takes their meaning. @param exact case and accents count */
export function matchesLike(given: string, givenPattern: string, mark: string, exact = false): boolean {
  const fold = exact ? (text: string) => text : foldText
  const text = [...fold(given)]
  const pattern = partsOf(fold(givenPattern), fold(mark))
  let at = 0
  let part = 0
  let star = -1
  let starAt = 0
  while (at < text.length) {
    const wanted = pattern[part]
    if (wanted === 'any') {
      star = part
      starAt = at
      part++
    } else if (wanted !== undefined && (wanted === 'one' || wanted.letter === text[at])) {
      part++
      at++
    } else if (star >= 0) {
      part = star + 1
      at = ++starAt
    } else return false
  }
  while (pattern[part] === 'any') part++
  return part === pattern.length
}

type Part = 'any' | 'one' | { readonly letter: string }

function partsOf(pattern: string, mark: string): readonly Part[] {
  const parts: Part[] = []
  const letters = [...pattern]
  for (let at = 0; at < letters.length; at++) {
    const letter = letters[at] ?? ''
    const next = letters[at + 1]
    if (letter === mark && next !== undefined) {
      parts.push({ letter: next })
      at++
    } else parts.push(letter === '%' ? 'any' : letter === '_' ? 'one' : { letter })
  }
  return parts
}

/** Whether a regular expression is found in a text. @throws StatementRefused where it is none */
export function matchesPattern(text: string, pattern: string): boolean {
  const expression = compiled(pattern)
  return withinLimit(pattern, text, () => expression.test(text))
}

/** A regular expression as MySQL writes it. @throws StatementRefused where it is none */
export function compiled(pattern: string, flags = 'i'): RegExp {
  const source = pattern
    .replaceAll(/\[\[:(<|>):\]\]/g, '\\b')
    .replaceAll(/\[:(\w+):\]/g, (all, name: string) => classes[name] ?? all)
  for (const mode of [`${flags}u`, flags]) {
    try {
      return new RegExp(source, mode)
    } catch {
      // The stricter mode knows more classes, the other one more escapes.
    }
  }
  throw new StatementRefused(sqlFailure(3685, 'HY000', 'Illegal argument to a regular expression.'))
}

const classes: Readonly<Record<string, string>> = {
  digit: '0-9',
  alpha: '\\p{L}',
  alnum: '\\p{L}\\p{N}',
  upper: '\\p{L}',
  lower: '\\p{L}',
  space: '\\s',
  blank: ' \\t',
  punct: '\\p{P}\\p{S}',
  xdigit: '0-9a-f',
}
