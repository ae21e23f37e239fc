/**
 * Why a statement failed, in the numbers and words of MySQL.
 *
 * Invariants
 * - Every failure of SQLite has a number and a state of MySQL; one that MySQL does not know is 1105, unknown.
 */
import { type SqlFailure, sqlFailure } from '../database.ts'

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
  return sqlFailure(
    1064,
    '42000',
    `You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '${near}' at line ${line}`,
  )
}

export function unknownFunction(name: string): SqlFailure {
  return sqlFailure(1305, '42000', `FUNCTION ${databaseName}.${name} does not exist`)
}

export function wrongArguments(name: string): SqlFailure {
  return sqlFailure(1582, '42000', `Incorrect parameter count in the call to native function '${name}'`)
}

export const denied = sqlFailure(
  1227,
  '42000',
  'Access denied; you need (at least one of) the SUPER privilege(s) for this operation',
)

export const tooLarge = sqlFailure(
  1301,
  'HY000',
  'Result of function was larger than max_allowed_packet - truncated',
)

export const outOfMemory = sqlFailure(1041, 'HY000', 'Out of memory')

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
    ([, name = ''], clauseOf) => sqlFailure(1054, '42S22', `Unknown column '${name}' in '${clauseOf(name)}'`),
  ],
  [
    /^table .* has no column named (.*)$/s,
    ([, name = '']) => sqlFailure(1054, '42S22', `Unknown column '${name}' in 'field list'`),
  ],
  [
    /^no such (?:table|view|index): (?:main\.)?(.*)$/s,
    ([, name = '']) => sqlFailure(1146, '42S02', `Table '${databaseName}.${name}' doesn't exist`),
  ],
  [
    /^ambiguous column name: (.*)$/s,
    ([, name = ''], clauseOf) =>
      sqlFailure(1052, '23000', `Column '${name}' in ${clauseOf(name)} is ambiguous`),
  ],
  [
    /values for \d+ columns|has \d+ columns but \d+ values|all VALUES must have the same number/,
    () => sqlFailure(1136, '21S01', "Column count doesn't match value count at row 1"),
  ],
  [
    /^(?:table|view|there is already another table or index with this name:) ?(.*?)(?: already exists)?$/s,
    ([, name = '']) => sqlFailure(1050, '42S01', `Table '${name}' already exists`),
  ],
  [/^misuse of/, () => sqlFailure(1111, 'HY000', 'Invalid use of group function')],
  [/^no such function: (.*)$/, ([, name = '']) => unknownFunction(name)],
  [/^wrong number of arguments to function (.*)\(\)$/, ([, name = '']) => wrongArguments(name)],
  [
    /returns \d+ columns - expected (\d+)|row value misused/,
    ([, count = '1']) => sqlFailure(1241, '21000', `Operand should contain ${count} column(s)`),
  ],
  [
    /do not have the same number of result columns/,
    () => sqlFailure(1222, '21000', 'The used SELECT statements have a different number of columns'),
  ],
  [
    /^duplicate column name: (.*)$/s,
    ([, name = '']) => sqlFailure(1060, '42S21', `Duplicate column name '${name}'`),
  ],
  [/^UNIQUE constraint failed/, () => sqlFailure(1062, '23000', 'Duplicate entry for a unique key')],
  [
    /^NOT NULL constraint failed: .*\.(.*)$/s,
    ([, name = '']) => sqlFailure(1048, '23000', `Column '${name}' cannot be null`),
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
      return sqlFailure(1114, 'HY000', 'The table is full')
    case resultCode.tooBig:
      return tooLarge
  }
  const stop = stopped.exec(message)
  if (stop !== null) return refusalAt((stop[1] ?? '').replace(/^["'](.*)["']$/s, '$1'))
  for (const [pattern, tell] of rules) {
    const match = pattern.exec(message)
    if (match !== null) return tell(match, clauseOf)
  }
  return sqlFailure(1105, 'HY000', `Unknown error: ${message.slice(0, 200)}`)
}
