/**
 * Why a statement failed, in the numbers and words of MySQL.
 *
 * Invariants
 * - A part of MySQL that the engine lacks is refused by name (1235), never answered otherwise.
 */
import { type SqlFailure, sqlFailure } from './database.ts'

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

/** The statement ran out of time. */
export class StatementOverdue extends Error {
  override readonly name = 'StatementOverdue'
  readonly kind = 'statement_overdue'
}

const shownText = 80

/** The text is no SQL from a place on. */
export function syntaxFailure(sql: string, start: number): SqlFailure {
  if (sql.trim().replace(/[;\s]+$/, '') === '') return sqlFailure(1065, '42000', 'Query was empty')
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

export function notSupported(what: string): SqlFailure {
  return sqlFailure(1235, '42000', `This version of MySQL doesn't yet support '${what}'`)
}

export function unknownColumn(name: string, clause: Clause): SqlFailure {
  return sqlFailure(1054, '42S22', `Unknown column '${name}' in '${clause}'`)
}

export function ambiguousColumn(name: string, clause: Clause): SqlFailure {
  return sqlFailure(1052, '23000', `Column '${name}' in ${clause} is ambiguous`)
}

export function unknownTable(name: string): SqlFailure {
  return sqlFailure(1146, '42S02', `Table '${databaseName}.${name}' doesn't exist`)
}

export function tableExists(name: string): SqlFailure {
  return sqlFailure(1050, '42S01', `Table '${name}' already exists`)
}

export function wrongColumns(count: number): SqlFailure {
  return sqlFailure(1241, '21000', `Operand should contain ${count} column(s)`)
}

export function outOfRange(kind: string, text: string): SqlFailure {
  return sqlFailure(1690, '22003', `${kind} value is out of range in '${text}'`)
}

export function duplicateEntry(entry: string, key: string): SqlFailure {
  return sqlFailure(1062, '23000', `Duplicate entry '${entry}' for key '${key}'`)
}

export function deniedTable(schema: string, name: string): SqlFailure {
  return sqlFailure(1142, '42000', `command denied to user 'agent'@'%' for table '${schema}.${name}'`)
}

export function refuse(failure: SqlFailure): never {
  throw new StatementRefused(failure)
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
export const tableFull = sqlFailure(1114, 'HY000', 'The table is full')
export const groupMisuse = sqlFailure(1111, 'HY000', 'Invalid use of group function')
export const moreRows = sqlFailure(1242, '21000', 'Subquery returns more than 1 row')
export const derivedWithoutAlias = sqlFailure(1248, '42000', 'Every derived table must have its own alias')
export const differentColumns = sqlFailure(
  1222,
  '21000',
  'The used SELECT statements have a different number of columns',
)

export function columnCount(row: number): SqlFailure {
  return sqlFailure(1136, '21S01', `Column count doesn't match value count at row ${row}`)
}

/** Clauses in which MySQL places an unknown name. */
export type Clause =
  | 'field list'
  | 'where clause'
  | 'order clause'
  | 'group statement'
  | 'having clause'
  | 'on clause'
  | 'from clause'
