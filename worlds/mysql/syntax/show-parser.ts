/**
 * Reads SHOW and DESCRIBE: queries of the information schema.
 *
 * Invariants
 * - A question that the engine cannot answer is refused by name; it never gets an empty result.
 */

import { textType } from '../values/type.ts'
import { QueryParser } from './query-parser.ts'
import type { Expression, Query, Select, Statement } from './syntax.ts'
import { TokenReader, wordOf } from './token-reader.ts'

/** The statement, behind SHOW or DESCRIBE. */
export function showStatement(parser: QueryParser, verb: 'SHOW' | 'DESCRIBE'): Statement {
  const { reader } = parser
  if (verb === 'DESCRIBE') {
    const table = reader.tableName()
    const column = isEnd(parser) ? undefined : reader.next().text
    const query = shown(columnsQuery(false), table)
    return show(column === undefined ? query : filtered(query, like('COLUMN_NAME', text(column))), table)
  }
  const full = ['FULL', 'EXTENDED', 'GLOBAL', 'SESSION'].filter((word) => reader.skips(word)).includes('FULL')
  if (reader.skips('TABLES')) return tables(parser, full)
  if (reader.skips('DATABASES') || reader.skips('SCHEMAS'))
    return show(
      narrowed(parser, read('SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY 1'), 'SCHEMA_NAME'),
    )
  if (reader.skips('COLUMNS') || reader.skips('FIELDS')) {
    const table = tableOf(parser)
    return show(narrowed(parser, shown(columnsQuery(full), table), 'COLUMN_NAME'), table)
  }
  if (['INDEX', 'INDEXES', 'KEYS'].some((word) => reader.skips(word))) {
    const table = tableOf(parser)
    return show(shown(indexQuery, table), table)
  }
  if (reader.skips('CREATE', 'TABLE') || reader.skips('CREATE', 'VIEW'))
    return { kind: 'show create', table: reader.tableName() }
  const word = wordOf(reader.peek())
  if (word === undefined) throw reader.refusal()
  throw reader.unsupported(`SHOW ${word}`)
}

const indexQuery = `SELECT TABLE_NAME, NON_UNIQUE, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, 'A', NULL, NULL, NULL,
  NULLABLE, 'BTREE', '', '', 'YES', NULL FROM information_schema.STATISTICS`

function columnsQuery(full: boolean): string {
  const columns = full
    ? "COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME, IS_NULLABLE, COLUMN_KEY, COLUMN_DEFAULT, EXTRA, 'select,insert,update,references', ''"
    : 'COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_KEY, COLUMN_DEFAULT, EXTRA'
  return `SELECT ${columns} FROM information_schema.COLUMNS`
}

function isEnd({ reader }: QueryParser): boolean {
  return reader.peek().kind === 'end' || reader.seesSymbol(';')
}

function show(query: Query, existing?: string): Statement {
  return { kind: 'show', query, existing }
}

const known = new Map<string, Query>()

/** A query of ours; read once, since every session describes its tables. */
function read(sql: string): Query {
  const query = known.get(sql) ?? new QueryParser(new TokenReader(sql)).query()
  if (!sql.includes("= '")) known.set(sql, query)
  return query
}

function text(value: string): Expression {
  return { kind: 'literal', value, type: textType }
}

function shown(sql: string, table: string): Query {
  return filtered(read(sql), {
    kind: 'binary',
    operator: '=',
    left: { kind: 'column', name: 'TABLE_NAME' },
    right: text(table),
    text: '',
  })
}

function like(column: string, pattern: Expression): Expression {
  return { kind: 'like', value: { kind: 'column', name: column }, pattern, negated: false }
}

function filtered(query: Query, condition: Expression): Query {
  const body = query.body as Select
  const where: Expression =
    body.where === undefined
      ? condition
      : { kind: 'binary', operator: 'AND', left: body.where, right: condition, text: '' }
  return { ...query, body: { ...body, where } }
}

function tableOf(parser: QueryParser): string {
  const { reader } = parser
  if (!reader.skips('FROM') && !reader.skips('IN')) throw reader.refusal()
  const table = reader.tableName()
  database(parser)
  return table
}

/** `FROM database`, which can only be the session's own. */
function database({ reader }: QueryParser): string | undefined {
  return reader.skips('FROM') || reader.skips('IN') ? reader.name() : undefined
}

function tables(parser: QueryParser, full: boolean): Statement {
  const columns = full ? 'TABLE_NAME, TABLE_TYPE' : 'TABLE_NAME'
  const name = database(parser)
  const where = name === undefined ? 'DATABASE()' : `'${name.replaceAll("'", "''")}'`
  const query = read(
    `SELECT ${columns} FROM information_schema.TABLES WHERE TABLE_SCHEMA = ${where} ORDER BY 1`,
  )
  return show(narrowed(parser, query, 'TABLE_NAME'))
}

/** With LIKE; a WHERE would name columns that only SHOW has. */
function narrowed(parser: QueryParser, query: Query, column: string): Query {
  const { reader } = parser
  if (reader.sees('WHERE')) throw reader.unsupported('SHOW … WHERE')
  return reader.skips('LIKE') ? filtered(query, like(column, parser.expression())) : query
}
