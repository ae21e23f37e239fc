/**
 * MySQL's functions of regular expressions.
 *
 * Invariants
 * - Neither case nor accents count; positions are characters from 1.
 */

import { withinLimit } from '../expressions/match-limit.ts'
import { compiled, matchesPattern } from '../expressions/pattern.ts'
import { notSupported, refuse } from '../failure.ts'
import { integerType, textType } from '../values/type.ts'
import { truth, type Value } from '../values/value.ts'
import type { FunctionTable } from './function-rule.ts'
import { bounded } from './functions-text.ts'

/** Matches in the text, found within the time. */
function matches(text: string, pattern: string): readonly RegExpExecArray[] {
  const expression = compiled(pattern, 'gi')
  return withinLimit(pattern, text, () => [...text.matchAll(expression)] as RegExpExecArray[])
}

function replaced(text: string, pattern: string, by: string): string {
  const expression = compiled(pattern, 'gi')
  const replacement = by.replaceAll(/\\(.)/gs, (_, letter: string) => (letter === '$' ? '$$' : letter))
  return bounded(withinLimit(pattern, text, () => text.replace(expression, replacement)))
}

function substring(text: string, pattern: string): Value {
  return matches(text, pattern)[0]?.[0] ?? null
}

function position(text: string, pattern: string): bigint {
  const index = matches(text, pattern)[0]?.index
  return index === undefined ? 0n : BigInt([...text.slice(0, index)].length + 1)
}

function like(text: string, pattern: string, mode?: string): Value {
  if (mode !== undefined && mode !== 'i') refuse(notSupported(`match type '${mode}' of REGEXP_LIKE`))
  return truth(matchesPattern(text, pattern))
}

export const patternFunctions: FunctionTable = {
  REGEXP_LIKE: { takes: 'text text text?', gives: integerType, call: like },
  REGEXP_REPLACE: { takes: 'text text text', gives: textType, call: replaced },
  REGEXP_SUBSTR: { takes: 'text text', gives: textType, call: substring },
  REGEXP_INSTR: { takes: 'text text', gives: integerType, call: position },
}
