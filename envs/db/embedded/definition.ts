/**
 * Statements that define tables and views, written anew for SQLite.
 *
 * Invariants
 * - Columns of text compare by MySQL's default collation.
 * - What SQLite has no word for (engines, character sets, comments, positions) is left out.
 */
import type { ExpressionWriter } from './expression.ts'
import { quotedName, wordOf } from './token-reader.ts'

/** Statements of SQLite that do what one of MySQL's does. */
export interface Definition {
  readonly statements: readonly string[]
  /** `existing`: no row means that there is no such table. */
  readonly answer: 'result' | 'existing'
  readonly table?: string
}

function all(statements: readonly string[]): Definition {
  return { statements, answer: 'result' }
}

/** CREATE TABLE, behind CREATE. */
export function createTable(writer: ExpressionWriter): Definition {
  const { reader } = writer
  const temporary = reader.skips('TEMPORARY') ? 'TEMP ' : ''
  reader.expect('TABLE')
  const optional = reader.skips('IF', 'NOT', 'EXISTS') ? 'IF NOT EXISTS ' : ''
  const head = `CREATE ${temporary}TABLE ${optional}${quotedName(reader.tableName())}`
  if (reader.skips('LIKE')) return all([`${head} AS SELECT * FROM ${quotedName(reader.tableName())} WHERE 0`])
  const query = wordOf(reader.peek(1))
  if (reader.seesSymbol('(') && query !== 'SELECT') {
    reader.next()
    const parts = definitions(writer)
    reader.expectSymbol(')')
    skipRest(writer)
    return all([`${head} (${parts.join(', ')})`])
  }
  reader.skips('AS')
  return all([`${head} AS ${writer.sequence()}`])
}

/** CREATE VIEW, behind CREATE. */
export function createView(writer: ExpressionWriter, replace: boolean): Definition {
  const { reader } = writer
  reader.expect('VIEW')
  const name = quotedName(reader.tableName())
  const columns = reader.seesSymbol('(') ? writer.expression() : ''
  reader.expect('AS')
  const created = `CREATE VIEW ${name}${columns} AS ${writer.sequence()}`
  return all(replace ? [`DROP VIEW IF EXISTS ${name}`, created] : [created])
}

/** ALTER TABLE. @param passedBy what to do with changes that change nothing here */
export function alterTable(
  writer: ExpressionWriter,
  passedBy: (writer: ExpressionWriter) => Definition,
): Definition {
  const { reader } = writer
  reader.expect('ALTER', 'TABLE')
  const table = quotedName(reader.tableName())
  const statements: string[] = []
  do {
    const change = alteration(writer)
    if (change === undefined) passedBy(writer)
    else statements.push(`ALTER TABLE ${table} ${change}`)
  } while (reader.skipsSymbol(','))
  return all(statements)
}

function alteration(writer: ExpressionWriter): string | undefined {
  const { reader } = writer
  const action = wordOf(reader.peek())
  const object = wordOf(reader.peek(1)) ?? ''
  if (action === 'ADD' && !['INDEX', 'KEY', 'PRIMARY', 'UNIQUE', 'CONSTRAINT', 'FULLTEXT'].includes(object)) {
    reader.next()
    reader.skips('COLUMN')
    return `ADD COLUMN ${definition(writer)}`
  }
  if (action === 'DROP' && !['INDEX', 'KEY', 'PRIMARY', 'CONSTRAINT'].includes(object)) {
    reader.next()
    reader.skips('COLUMN')
    return `DROP COLUMN ${quotedName(reader.name())}`
  }
  if (action === 'RENAME') {
    reader.next()
    if (!reader.skips('COLUMN')) {
      reader.skips('TO') || reader.skips('AS')
      return `RENAME TO ${quotedName(reader.tableName())}`
    }
    const from = quotedName(reader.name())
    reader.expect('TO')
    return `RENAME COLUMN ${from} TO ${quotedName(reader.name())}`
  }
  if (action === 'CHANGE') {
    reader.next()
    reader.skips('COLUMN')
    const from = quotedName(reader.name())
    const to = quotedName(reader.name())
    typed(writer)
    return `RENAME COLUMN ${from} TO ${to}`
  }
  return undefined
}

function definitions(writer: ExpressionWriter): string[] {
  const { reader } = writer
  const parts: string[] = []
  do {
    if (keyWords.has(wordOf(reader.peek()) ?? '') && reader.peek().kind === 'word') skipPart(writer)
    else parts.push(definition(writer))
  } while (reader.skipsSymbol(','))
  return parts
}

const keyWords = new Set(['PRIMARY', 'KEY', 'INDEX', 'UNIQUE', 'CONSTRAINT', 'FOREIGN', 'FULLTEXT', 'CHECK'])

function definition(writer: ExpressionWriter): string {
  const name = quotedName(writer.reader.name())
  return `${name} ${typed(writer)}`
}

const wholeTypes = new Set('INT INTEGER TINYINT SMALLINT MEDIUMINT BIGINT BOOL BOOLEAN YEAR BIT'.split(' '))
const realTypes = new Set('FLOAT DOUBLE REAL DECIMAL NUMERIC DEC'.split(' '))

/** The type of a column with what of its attributes matters. */
function typed(writer: ExpressionWriter): string {
  const { reader } = writer
  const type = reader.word().toUpperCase()
  if (reader.skipsSymbol('(')) {
    while (!reader.skipsSymbol(')')) if (reader.next().kind === 'end') throw reader.refusal()
  }
  let attributes = ''
  let key = false
  for (;;) {
    if (reader.skips('NOT', 'NULL')) attributes += ' NOT NULL'
    else if (reader.skips('PRIMARY', 'KEY')) key = true
    else if (reader.skips('DEFAULT')) attributes += ` DEFAULT (${writer.expression(6)})`
    else if (['COMMENT', 'AFTER', 'CHARSET', 'COLLATE'].some((word) => reader.skips(word))) reader.next()
    else if (reader.skips('CHARACTER', 'SET')) reader.next()
    else if (reader.peek().kind === 'word' && !reader.sees('AS')) reader.next()
    else break
  }
  if (wholeTypes.has(type)) return `INTEGER${key ? ' PRIMARY KEY' : attributes}`
  if (realTypes.has(type)) return `REAL${key ? ' PRIMARY KEY' : attributes}`
  return `TEXT COLLATE MYSQL${key ? ' PRIMARY KEY' : ''}${attributes}`
}

function skipPart(writer: ExpressionWriter): void {
  const { reader } = writer
  let depth = 0
  for (;;) {
    if (depth === 0 && (reader.seesSymbol(',') || reader.seesSymbol(')'))) return
    const token = reader.next()
    if (token.kind === 'end') throw reader.refusal()
    if (token.kind === 'symbol') depth += token.text === '(' ? 1 : token.text === ')' ? -1 : 0
  }
}

function skipRest({ reader }: ExpressionWriter): void {
  while (reader.peek().kind !== 'end' && !reader.seesSymbol(';')) reader.next()
}

/** Creates a table whose columns are all TEXT, and fills it from a JSON array of rows bound to `?`. */
export function textTable(name: string, columns: readonly string[]): { create: string; fill: string } {
  const table = quotedName(name)
  const columnList = columns.map((column) => `${quotedName(column)} TEXT COLLATE MYSQL`).join(', ')
  const values = columns.map((_, at) => `value ->> ${at}`).join(', ')
  return {
    create: `CREATE TABLE ${table} (${columnList})`,
    fill: `INSERT INTO ${table} SELECT ${values} FROM json_each(?)`,
  }
}

/** Reads the columns that a table had at first. */
export function readTable(name: string, columns: readonly string[]): string {
  return `SELECT ${columns.map(quotedName).join(', ')} FROM ${quotedName(name)}`
}

export function dropTable(name: string): string {
  return `DROP TABLE ${quotedName(name)}`
}
