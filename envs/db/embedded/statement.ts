/**
 * MySQL's statements, written anew for SQLite.
 *
 * Invariants
 * - One text is one statement: what follows a semicolon is refused.
 * - What MySQL has no word for (PRAGMA, ATTACH, VACUUM) is refused as no SQL; what only its administrator
 *   may do is denied.
 * - A lone number that is written into a table becomes the text that MySQL makes of it: 1.50 stays `1.50`.
 */
import { alterTable, createTable, createView, type Definition } from './definition.ts'
import { ExpressionWriter } from './expression.ts'
import { type Clause, denied, type Places, StatementRefused, syntaxFailure } from './failure.ts'
import { quotedName, quotedText, TokenReader, wordOf } from './token-reader.ts'
import { textOfDouble } from './value.ts'

/** A statement as SQLite reads it. */
export interface Translation extends Definition, Places {
  /** True where more than rows may change: tables, views, columns. */
  readonly defines: boolean
}

const rowsOnly = new Set(['SELECT', 'WITH', 'VALUES', 'INSERT', 'REPLACE', 'UPDATE', 'DELETE', 'SHOW'])

/** Translates one statement. @throws StatementRefused */
export function translate(sql: string): Translation {
  const reader = new TokenReader(sql)
  const writer = new ExpressionWriter(reader)
  const word = wordOf(reader.peek()) ?? (reader.seesSymbol('(') ? 'SELECT' : '')
  const write = Object.hasOwn(statements, word) ? statements[word] : undefined
  if (write === undefined) throw reader.refusal()
  const definition = write(writer)
  reader.end()
  return {
    ...definition,
    defines: !rowsOnly.has(word),
    clauseOf: (name) => clauseOf(reader, name),
    refusalAt: (text) => syntaxFailure(sql, placeOf(reader, text)),
  }
}

function one(sql: string): Definition {
  return { statements: [sql], answer: 'result' }
}

const nothing: Definition = { statements: [], answer: 'result' }

type Write = (writer: ExpressionWriter) => Definition

function query(writer: ExpressionWriter): Definition {
  return one(writer.sequence())
}

function passedBy(writer: ExpressionWriter): Definition {
  while (writer.reader.peek().kind !== 'end' && !writer.reader.seesSymbol(';')) writer.reader.next()
  return nothing
}

function administrators(): never {
  throw new StatementRefused(denied)
}

function skipOptions(writer: ExpressionWriter): void {
  while (
    ['LOW_PRIORITY', 'DELAYED', 'HIGH_PRIORITY', 'QUICK', 'IGNORE'].some((word) => writer.reader.skips(word))
  );
}

function insert(writer: ExpressionWriter): Definition {
  const { reader } = writer
  const verb = wordOf(reader.next()) === 'REPLACE' ? 'REPLACE' : 'INSERT'
  skipOptions(writer)
  reader.skips('INTO')
  const table = quotedName(reader.tableName())
  const head = `${verb} INTO ${table}`
  if (reader.skips('SET')) {
    const pairs = assignments(writer)
    skipDuplicates(writer)
    return one(
      `${head} (${pairs.map(([name]) => name).join(', ')}) VALUES (${pairs.map(([, value]) => value).join(', ')})`,
    )
  }
  const columns = reader.seesSymbol('(') && !isQuery(writer, 1) ? columnList(writer) : ''
  if (!reader.skips('VALUES') && !reader.skips('VALUE')) return one(`${head} ${columns} ${writer.sequence()}`)
  const rows: string[] = []
  do rows.push(valueList(writer))
  while (reader.skipsSymbol(','))
  skipDuplicates(writer)
  if (rows.length === 1 && rows[0] === '()') return one(`${head} DEFAULT VALUES`)
  return one(`${head} ${columns} VALUES ${rows.join(', ')}`)
}

function isQuery(writer: ExpressionWriter, ahead: number): boolean {
  return ['SELECT', 'WITH'].includes(wordOf(writer.reader.peek(ahead)) ?? '')
}

function columnList(writer: ExpressionWriter): string {
  const { reader } = writer
  reader.expectSymbol('(')
  const names: string[] = []
  while (!reader.skipsSymbol(')')) {
    names.push(quotedName(columnName(writer)))
    if (!reader.seesSymbol(')')) reader.expectSymbol(',')
  }
  return names.length === 0 ? '' : `(${names.join(', ')})`
}

function columnName({ reader }: ExpressionWriter): string {
  let name = reader.name()
  while (reader.skipsSymbol('.')) name = reader.name()
  return name
}

function valueList(writer: ExpressionWriter): string {
  const { reader } = writer
  reader.skips('ROW')
  reader.expectSymbol('(')
  const values: string[] = []
  while (!reader.skipsSymbol(')')) {
    values.push(written(writer))
    if (!reader.seesSymbol(')')) reader.expectSymbol(',')
  }
  return `(${values.join(', ')})`
}

// Tables of a task have no keys: nothing is ever there twice. What an agent does to keys of its own is its own.
function skipDuplicates(writer: ExpressionWriter): void {
  if (!writer.reader.skips('ON', 'DUPLICATE', 'KEY', 'UPDATE')) return
  assignments(writer)
}

function assignments(writer: ExpressionWriter): (readonly [string, string])[] {
  const { reader } = writer
  const pairs: (readonly [string, string])[] = []
  do {
    const name = quotedName(columnName(writer))
    if (!reader.skipsSymbol('=') && !reader.skipsSymbol(':=')) throw reader.refusal()
    pairs.push([name, written(writer)])
  } while (reader.skipsSymbol(','))
  return pairs
}

/** A value that is stored: as the text that MySQL makes of it. */
function written(writer: ExpressionWriter): string {
  const { reader } = writer
  const signed = reader.seesSymbol('-') || reader.seesSymbol('+') ? 1 : 0
  const number = reader.peek(signed)
  const after = reader.peek(signed + 1)
  if (
    number.kind === 'number' &&
    (after.kind === 'end' ||
      [',', ')', ';'].includes(after.text) ||
      ['WHERE', 'ORDER', 'LIMIT', 'ON'].includes(wordOf(after) ?? ''))
  ) {
    const negative = signed === 1 && reader.next().text === '-'
    reader.next()
    const text = textOfNumeral(number.text)
    return quotedText(negative && /[1-9]/.test(text) ? `-${text}` : text)
  }
  const value = writer.expression()
  return value === 'NULL' || value.startsWith("'") ? value : `my_text(${value})`
}

function textOfNumeral(text: string): string {
  if (/e/i.test(text)) return textOfDouble(Number(text))
  const [whole = '', fraction = ''] = text.split('.')
  const digits = whole.replace(/^0+(?=\d)/, '') || '0'
  return fraction === '' ? digits : `${digits}.${fraction}`
}

function update(writer: ExpressionWriter): Definition {
  const { reader } = writer
  reader.expect('UPDATE')
  skipOptions(writer)
  const table = quotedName(reader.tableName())
  const alias = reader.skips('AS') || !reader.sees('SET') ? ` AS ${quotedName(reader.name())}` : ''
  reader.expect('SET')
  const pairs = assignments(writer)
  const set = pairs.map(([name, value]) => `${name} = ${value}`).join(', ')
  return one(`UPDATE ${table}${alias} SET ${set}${chosen(writer, table + alias)}`)
}

function remove(writer: ExpressionWriter): Definition {
  const { reader } = writer
  reader.expect('DELETE')
  skipOptions(writer)
  reader.expect('FROM')
  const table = quotedName(reader.tableName())
  const alias = reader.skips('AS') ? ` AS ${quotedName(reader.name())}` : ''
  return one(`DELETE FROM ${table}${alias}${chosen(writer, table + alias)}`)
}

/** Which rows are changed: SQLite's statements take no ORDER BY and LIMIT, its queries do. */
function chosen(writer: ExpressionWriter, table: string): string {
  const { reader } = writer
  const where = reader.skips('WHERE') ? ` WHERE ${writer.expression()}` : ''
  const order = reader.skips('ORDER', 'BY') ? ` ORDER BY ${writer.sequence(['LIMIT'])}` : ''
  if (!reader.skips('LIMIT')) return where
  return ` WHERE rowid IN (SELECT rowid FROM ${table}${where}${order} LIMIT ${writer.expression()})`
}

function truncate({ reader }: ExpressionWriter): Definition {
  reader.expect('TRUNCATE')
  reader.skips('TABLE')
  return one(`DELETE FROM ${quotedName(reader.tableName())}`)
}

function create(writer: ExpressionWriter): Definition {
  const { reader } = writer
  reader.expect('CREATE')
  const replace = reader.skips('OR', 'REPLACE')
  if (reader.sees('VIEW')) return createView(writer, replace)
  if (reader.sees('TABLE') || reader.sees('TEMPORARY')) return createTable(writer)
  if (reader.sees('INDEX') || reader.sees('UNIQUE') || reader.sees('FULLTEXT')) return passedBy(writer)
  return administrators()
}

function drop(writer: ExpressionWriter): Definition {
  const { reader } = writer
  reader.expect('DROP')
  reader.skips('TEMPORARY')
  if (reader.sees('INDEX')) return passedBy(writer)
  const kind = ['TABLE', 'VIEW'].find((word) => reader.skips(word))
  if (kind === undefined) return administrators()
  const optional = reader.skips('IF', 'EXISTS') ? 'IF EXISTS ' : ''
  const dropped: string[] = []
  do dropped.push(`DROP ${kind} ${optional}${quotedName(reader.tableName())}`)
  while (reader.skipsSymbol(','))
  return { statements: dropped, answer: 'result' }
}

const userTables = "FROM sqlite_master WHERE type IN ('table', 'view')"

function show(writer: ExpressionWriter): Definition {
  const { reader } = writer
  reader.expect('SHOW')
  while (['FULL', 'EXTENDED', 'GLOBAL', 'SESSION'].some((word) => reader.skips(word)));
  if (reader.skips('TABLES')) {
    const like = reader.skips('LIKE') ? ` AND my_like(name, ${writer.expression()})` : ''
    if (like === '') passedBy(writer)
    return one(`SELECT name ${userTables}${like} ORDER BY name`)
  }
  if (reader.skips('DATABASES') || reader.skips('SCHEMAS')) return passed(writer, "SELECT 'dbbench'")
  if (reader.skips('COLUMNS') || reader.skips('FIELDS')) {
    if (!reader.skips('FROM') && !reader.skips('IN')) throw reader.refusal()
    return described(writer)
  }
  if (reader.skips('CREATE', 'TABLE')) {
    const name = quotedText(reader.tableName())
    return {
      statements: [`SELECT name, sql ${userTables} AND name = ${name}`],
      answer: 'existing',
      table: name,
    }
  }
  if (reader.peek().kind !== 'word') throw reader.refusal()
  return passed(writer, 'SELECT 1 WHERE 0')
}

function passed(writer: ExpressionWriter, sql: string): Definition {
  passedBy(writer)
  return one(sql)
}

function describe(writer: ExpressionWriter): Definition {
  const { reader } = writer
  const word = wordOf(reader.next())
  if (isQuery(writer, 0) || (word === 'EXPLAIN' && reader.peek().kind === 'symbol'))
    return passed(writer, 'SELECT 1 WHERE 0')
  return described(writer)
}

function described(writer: ExpressionWriter): Definition {
  const table = writer.reader.tableName()
  passedBy(writer)
  return {
    statements: [
      `SELECT name, my_lower(type), 'YES', '', NULL, '' FROM pragma_table_info(${quotedText(table)})`,
    ],
    answer: 'existing',
    table,
  }
}

const statements: Readonly<Record<string, Write>> = {
  SELECT: query,
  WITH: query,
  VALUES: query,
  INSERT: insert,
  REPLACE: insert,
  UPDATE: update,
  DELETE: remove,
  TRUNCATE: truncate,
  CREATE: create,
  DROP: drop,
  ALTER: (writer) => alterTable(writer, passedBy),
  SHOW: show,
  DESCRIBE: describe,
  DESC: describe,
  EXPLAIN: describe,
  // Every statement stands for itself: it is committed when it is done.
  ...each('BEGIN START COMMIT ROLLBACK SAVEPOINT SET USE LOCK UNLOCK', passedBy),
  ...each(
    'GRANT REVOKE LOAD FLUSH KILL SHUTDOWN INSTALL UNINSTALL RESET CHANGE PREPARE EXECUTE CALL HANDLER RENAME',
    administrators,
  ),
}

function each(words: string, write: Write): Record<string, Write> {
  return Object.fromEntries(words.split(' ').map((word) => [word, write]))
}

const clauses: Readonly<Record<string, Clause>> = {
  SELECT: 'field list',
  SET: 'field list',
  INTO: 'field list',
  ON: 'on clause',
  WHERE: 'where clause',
  GROUP: 'group statement',
  HAVING: 'having clause',
  ORDER: 'order clause',
}

function clauseOf(reader: TokenReader, name: string): Clause {
  const lower = name.toLowerCase()
  let clause: Clause = 'field list'
  for (const token of reader.tokens) {
    clause = clauses[wordOf(token) ?? ''] ?? clause
    if ((token.kind === 'word' || token.kind === 'name') && token.text.toLowerCase() === lower) return clause
  }
  return clause
}

function placeOf(reader: TokenReader, text: string): number {
  const lower = text.toLowerCase()
  const at = text === '' ? undefined : reader.tokens.find((token) => token.text.toLowerCase() === lower)
  return at?.start ?? reader.tokens.at(-1)?.start ?? 0
}
