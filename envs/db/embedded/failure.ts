/**
 * Why a statement failed, in the numbers and words of MySQL.
 *
 * Invariants
 * - Every failure of SQLite has a number and a state of MySQL; one that MySQL does not know is 1105, unknown.
 */
import type { SqlFailure } from '../database.ts'

/** The database's name, as MySQL's messages give it. */
export const databaseName = 'dbbench'

/** Thrown inside the engine where MySQL refuses; becomes data at its edge. */
export class StatementRefused extends Error {
  override readonly name = 'StatementRefused'
  readonly kind = 'statement_refused'
  readonly failure: SqlFailure

  constructor(failure: SqlFailure) {
    super(failure.message)
    this.failure = failure
  }
}

const shownText = 80

/** The text is no SQL from a place on. */
export function syntaxFailure(sql: string, start: number): SqlFailure {
  const line = sql.slice(0, start).split('\n').length
  // MySQL never sees the semicolon that ends a statement.
  const near = sql.replace(/[;\s]+$/, '').slice(start, start + shownText)
  return {
    code: 1064,
    state: '42000',
    message: `You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '${near}' at line ${line}`,
  }
}

export function unknownFunction(name: string): SqlFailure {
  return { code: 1305, state: '42000', message: `FUNCTION ${databaseName}.${name} does not exist` }
}

export function wrongArguments(name: string): SqlFailure {
  return {
    code: 1582,
    state: '42000',
    message: `Incorrect parameter count in the call to native function '${name}'`,
  }
}

export const denied: SqlFailure = {
  code: 1227,
  state: '42000',
  message: 'Access denied; you need (at least one of) the SUPER privilege(s) for this operation',
}

export const tooLong: SqlFailure = {
  code: 1153,
  state: '08S01',
  message: "Got a packet bigger than 'max_allowed_packet' bytes",
}

export const tooLarge: SqlFailure = {
  code: 1301,
  state: 'HY000',
  message: 'Result of function was larger than max_allowed_packet - truncated',
}

export const outOfMemory: SqlFailure = { code: 1041, state: 'HY000', message: 'Out of memory' }

/** Clauses in which MySQL places an unknown name. */
export type Clause =
  | 'field list'
  | 'where clause'
  | 'order clause'
  | 'group statement'
  | 'having clause'
  | 'on clause'

/** SQLite's result codes that matter here. */
export const resultCode = {
  ok: 0,
  error: 1,
  noMemory: 7,
  interrupted: 9,
  full: 13,
  tooBig: 18,
  denied: 23,
  row: 100,
  done: 101,
} as const

type Rule = readonly [RegExp, (match: readonly string[], clauseOf: (name: string) => Clause) => SqlFailure]

const rules: readonly Rule[] = [
  [
    /^no such column: (?:\w+\.)?"?(.*?)"?(?: - should this be a string literal in single-quotes\?)?$/s,
    ([, name = ''], clauseOf) => ({
      code: 1054,
      state: '42S22',
      message: `Unknown column '${name}' in '${clauseOf(name)}'`,
    }),
  ],
  [
    /^table .* has no column named (.*)$/s,
    ([, name = '']) => ({ code: 1054, state: '42S22', message: `Unknown column '${name}' in 'field list'` }),
  ],
  [
    /^no such (?:table|view|index): (?:main\.)?(.*)$/s,
    ([, name = '']) => ({
      code: 1146,
      state: '42S02',
      message: `Table '${databaseName}.${name}' doesn't exist`,
    }),
  ],
  [
    /^ambiguous column name: (.*)$/s,
    ([, name = ''], clauseOf) => ({
      code: 1052,
      state: '23000',
      message: `Column '${name}' in ${clauseOf(name)} is ambiguous`,
    }),
  ],
  [
    /values for \d+ columns|has \d+ columns but \d+ values|all VALUES must have the same number/,
    () => ({ code: 1136, state: '21S01', message: "Column count doesn't match value count at row 1" }),
  ],
  [
    /^(?:table|view|there is already another table or index with this name:) ?(.*?)(?: already exists)?$/s,
    ([, name = '']) => ({ code: 1050, state: '42S01', message: `Table '${name}' already exists` }),
  ],
  [/^misuse of/, () => ({ code: 1111, state: 'HY000', message: 'Invalid use of group function' })],
  [/^no such function: (.*)$/, ([, name = '']) => unknownFunction(name)],
  [/^wrong number of arguments to function (.*)\(\)$/, ([, name = '']) => wrongArguments(name)],
  [
    /returns \d+ columns - expected (\d+)|row value misused/,
    ([, count = '1']) => ({
      code: 1241,
      state: '21000',
      message: `Operand should contain ${count} column(s)`,
    }),
  ],
  [
    /do not have the same number of result columns/,
    () => ({
      code: 1222,
      state: '21000',
      message: 'The used SELECT statements have a different number of columns',
    }),
  ],
  [
    /^duplicate column name: (.*)$/s,
    ([, name = '']) => ({ code: 1060, state: '42S21', message: `Duplicate column name '${name}'` }),
  ],
  [
    /^UNIQUE constraint failed/,
    () => ({ code: 1062, state: '23000', message: 'Duplicate entry for a unique key' }),
  ],
  [
    /^NOT NULL constraint failed: .*\.(.*)$/s,
    ([, name = '']) => ({ code: 1048, state: '23000', message: `Column '${name}' cannot be null` }),
  ],
]

/** Where things are in the statement as it was given. */
export interface Places {
  /** The clause in which a name is. */
  clauseOf(name: string): Clause
  /** That the text is no SQL from the place on where such a token is; at its end, if none does. */
  refusalAt(text: string): SqlFailure
}

// SQLite's parser says where it stopped, in words of the translation.
const stopped = /^near "(.*)": syntax error$|^incomplete input$|^unrecognized token/s

/** What MySQL would say. */
export function failureOf(code: number, message: string, { clauseOf, refusalAt }: Places): SqlFailure {
  switch (code & 0xff) {
    case resultCode.denied:
      return denied
    case resultCode.noMemory:
      return outOfMemory
    case resultCode.full:
      return { code: 1114, state: 'HY000', message: 'The table is full' }
    case resultCode.tooBig:
      return tooLarge
  }
  const stop = stopped.exec(message)
  if (stop !== null) return refusalAt((stop[1] ?? '').replace(/^["'](.*)["']$/s, '$1'))
  for (const [pattern, tell] of rules) {
    const match = pattern.exec(message)
    if (match !== null) return tell(match, clauseOf)
  }
  return { code: 1105, state: 'HY000', message: `Unknown error: ${message.slice(0, 200)}` }
}
