/**
 * The nested lists in which PDDL is written.
 *
 * Invariants
 * - Words come out in lower case, comments are left out.
 * - A text that ends too early or too late is refused with what is missing.
 */
import { TextAdventureFault } from './fault.ts'

/** A word or a list of expressions. */
export type Expression = string | readonly Expression[]

const tokenPattern = /;[^\n]*|[()]|[^\s();]+/g

/** Reads the one list that a PDDL text is. @throws TextAdventureFault bad_data, naming `what` */
export function parseExpression(text: string, what: string): readonly Expression[] {
  const open: Expression[][] = []
  let whole: readonly Expression[] | undefined
  for (const [token] of text.matchAll(tokenPattern)) {
    if (token.startsWith(';')) continue
    if (whole !== undefined)
      throw new TextAdventureFault('bad_data', `${what}: nothing may follow the last ")"`)
    if (token === '(') {
      const list: Expression[] = []
      open.at(-1)?.push(list)
      open.push(list)
    } else if (open.length === 0) {
      throw new TextAdventureFault('bad_data', `${what}: expected "(", got "${token}"`)
    } else if (token === ')') {
      const closed = open.pop()
      if (open.length === 0) whole = closed
    } else {
      open.at(-1)?.push(token.toLowerCase())
    }
  }
  if (whole === undefined) throw new TextAdventureFault('bad_data', `${what}: ends before its last ")"`)
  return whole
}

/** The text that is read as this expression. */
export function writeExpression(expression: Expression): string {
  return typeof expression === 'string' ? expression : `(${expression.map(writeExpression).join(' ')})`
}

/** The expression as a word. @throws TextAdventureFault bad_data where it is a list or missing */
export function wordOf(expression: Expression | undefined, what: string): string {
  if (typeof expression !== 'string') throw new TextAdventureFault('bad_data', `${what}: expected a word`)
  return expression
}

/** The expression as a list. @throws TextAdventureFault bad_data where it is a word or missing */
export function listOf(expression: Expression | undefined, what: string): readonly Expression[] {
  if (expression === undefined || typeof expression === 'string')
    throw new TextAdventureFault('bad_data', `${what}: expected a list, got ${expression ?? 'nothing'}`)
  return expression
}

/** A name with its type. */
export interface Typed {
  readonly name: string
  readonly type: string
}

/** Reads `a b - t c`: names before a `-` have the type behind it, the rest are of type `object`. */
export function typedNames(expressions: readonly Expression[], what: string): Typed[] {
  const typed: Typed[] = []
  let untyped: string[] = []
  for (let at = 0; at < expressions.length; at++) {
    const name = wordOf(expressions[at], what)
    if (name === '-') {
      const type = wordOf(expressions[++at], `${what}, type behind "-"`)
      for (const named of untyped) typed.push({ name: named, type })
      untyped = []
    } else untyped.push(name)
  }
  for (const name of untyped) typed.push({ name, type: 'object' })
  return typed
}
