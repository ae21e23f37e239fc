/**
 * Reads definitions of tables, and changes to them.
 *
 * Invariants
 * - A part of a definition that would change results and is not understood is refused by name.
 * - Engines, character sets, comments and indexes change no result and are passed over.
 */
import { comparisonIn } from './expression-parser.ts'
import type { QueryParser } from './query-parser.ts'
import type {
  Alteration,
  ColumnDefinition,
  ColumnType,
  CreateTable,
  Expression,
  KeyDefinition,
  Place,
} from './syntax.ts'
import { wordOf } from './token-reader.ts'

/** CREATE TABLE, behind TABLE. */
export function createTable(parser: QueryParser, temporary: boolean): CreateTable {
  const { reader } = parser
  const ifNotExists = reader.skips('IF', 'NOT', 'EXISTS')
  const name = reader.tableName()
  const columns: ColumnDefinition[] = []
  const keys: KeyDefinition[] = []
  const checks: Expression[] = []
  const head = { kind: 'create table' as const, name, temporary, ifNotExists, columns, keys, checks }
  if (reader.skips('LIKE')) return { ...head, like: reader.tableName() }
  if (reader.seesSymbol('(') && wordOf(reader.peek(1)) === 'LIKE') {
    reader.expectSymbol('(')
    reader.expect('LIKE')
    const like = reader.tableName()
    reader.expectSymbol(')')
    return { ...head, like }
  }
  if (reader.seesSymbol('(') && !parser.seesQuery()) {
    reader.expectSymbol('(')
    do definition(parser, columns, keys, checks)
    while (reader.skipsSymbol(','))
    reader.expectSymbol(')')
  }
  tableOptions(parser)
  reader.skips('AS')
  return parser.seesQuery() ? { ...head, query: parser.query() } : checkedHead(parser, head)
}

function checkedHead(parser: QueryParser, head: CreateTable): CreateTable {
  if (head.columns.length === 0) throw parser.reader.refusal()
  return head
}

const optionWords = new Set(
  'ENGINE CHARSET COLLATE COMMENT ROW_FORMAT AUTO_INCREMENT DEFAULT CHARACTER KEY_BLOCK_SIZE STATS_PERSISTENT'.split(
    ' ',
  ),
)

function tableOptions({ reader }: QueryParser): void {
  for (;;) {
    const word = wordOf(reader.peek()) ?? ''
    if (word === 'AUTO_INCREMENT') throw reader.unsupported('AUTO_INCREMENT = of a table')
    if (!optionWords.has(word)) {
      reader.skipsSymbol(',')
      if (optionWords.has(wordOf(reader.peek()) ?? '')) continue
      return
    }
    reader.skips('DEFAULT')
    reader.skips('CHARACTER', 'SET') || reader.next()
    reader.skipsSymbol('=')
    reader.next()
  }
}

function definition(
  parser: QueryParser,
  columns: ColumnDefinition[],
  keys: KeyDefinition[],
  checks: Expression[],
): void {
  const { reader } = parser
  const isWord = reader.peek().kind === 'word'
  if (isWord && reader.sees('CHECK')) checks.push(check(parser))
  else if (isWord && keyWords.has(wordOf(reader.peek()) ?? '')) {
    const key = keyOf(parser)
    if ('check' in key) checks.push(key.check)
    else keys.push(key)
  } else columns.push(columnOf(parser))
}

const keyWords = new Set([
  'PRIMARY',
  'KEY',
  'INDEX',
  'UNIQUE',
  'CONSTRAINT',
  'FOREIGN',
  'FULLTEXT',
  'SPATIAL',
])

function check(parser: QueryParser): Expression {
  parser.reader.expect('CHECK')
  parser.reader.expectSymbol('(')
  const condition = parser.expression()
  parser.reader.expectSymbol(')')
  return condition
}

function keyOf(parser: QueryParser): KeyDefinition | { readonly check: Expression } {
  const { reader } = parser
  let name: string | undefined
  if (reader.skips('CONSTRAINT')) {
    const unnamed = ['PRIMARY', 'UNIQUE', 'FOREIGN', 'CHECK'].some((word) => reader.sees(word))
    if (!unnamed) name = reader.name()
  }
  if (reader.sees('CHECK')) return { check: check(parser) }
  if (reader.sees('FOREIGN')) throw reader.unsupported('FOREIGN KEY')
  if (reader.sees('FULLTEXT') || reader.sees('SPATIAL')) throw reader.unsupported('FULLTEXT and SPATIAL keys')
  const kind = reader.skips('PRIMARY') ? 'primary' : reader.skips('UNIQUE') ? 'unique' : 'index'
  const known = reader.skips('KEY') || reader.skips('INDEX')
  if (kind !== 'unique' && !known) throw reader.refusal()
  if (!reader.seesSymbol('(') && !reader.sees('USING')) name = reader.name()
  usingKind(parser)
  const columns = keyColumns(parser)
  usingKind(parser)
  return { name, kind, columns }
}

function usingKind({ reader }: QueryParser): void {
  if (reader.skips('USING')) reader.word()
}

/** Columns of a key, perhaps with a length or an order. */
export function keyColumns(parser: QueryParser): string[] {
  const { reader } = parser
  const columns: string[] = []
  reader.expectSymbol('(')
  do {
    columns.push(reader.name())
    reader.sizes()
    reader.skips('ASC') || reader.skips('DESC')
  } while (reader.skipsSymbol(','))
  reader.expectSymbol(')')
  return columns
}

/** A column with its type and attributes. */
function columnOf(parser: QueryParser): ColumnDefinition {
  const { reader } = parser
  const name = reader.name()
  return attributes(parser, name, columnType(parser))
}

function attributes(parser: QueryParser, name: string, given: ColumnType): ColumnDefinition {
  const { reader } = parser
  let type = given
  let column: ColumnDefinition = { name, type, nullable: true, autoIncrement: type.name === 'serial' }
  for (;;) {
    if (reader.skips('NOT', 'NULL')) column = { ...column, nullable: false }
    else if (reader.skips('NULL')) column = { ...column, nullable: true }
    else if (reader.skips('DEFAULT')) column = { ...column, default: parser.expression(6) }
    else if (reader.skips('AUTO_INCREMENT')) column = { ...column, autoIncrement: true }
    else if (reader.skips('PRIMARY', 'KEY') || reader.skips('KEY'))
      column = { ...column, key: 'primary', nullable: false }
    else if (reader.skips('UNIQUE')) {
      reader.skips('KEY')
      column = { ...column, key: 'unique' }
    } else if (reader.skips('COMMENT')) reader.next()
    else if (reader.skips('CHARACTER', 'SET') || reader.skips('CHARSET')) reader.word()
    else if (reader.skips('COLLATE')) {
      type = { ...type, ...comparisonIn(reader.collation()) }
      column = { ...column, type }
    } else if (reader.sees('CHECK')) column = { ...column, check: check(parser) }
    else if (reader.sees('REFERENCES')) throw reader.unsupported('REFERENCES')
    else if (reader.sees('GENERATED') || reader.sees('AS', 'GENERATED'))
      throw reader.unsupported('generated columns')
    else if (reader.sees('ON', 'UPDATE')) throw reader.unsupported('ON UPDATE of a column')
    else return column
  }
}

const typeAliases: Readonly<Record<string, string>> = {
  INTEGER: 'int',
  BOOL: 'tinyint',
  BOOLEAN: 'tinyint',
  DEC: 'decimal',
  NUMERIC: 'decimal',
  FIXED: 'decimal',
  REAL: 'double',
  CHARACTER: 'char',
  NCHAR: 'char',
  NVARCHAR: 'varchar',
  LONG: 'mediumtext',
}
const knownTypes = new Set(
  `int tinyint smallint mediumint bigint decimal double float char varchar text tinytext mediumtext longtext blob
   tinyblob mediumblob longblob binary varbinary date datetime timestamp time year`.split(/\s+/),
)
const unsupportedTypes = new Set('ENUM SET BIT JSON GEOMETRY POINT SERIAL'.split(' '))

function columnType(parser: QueryParser): ColumnType {
  const { reader } = parser
  const token = reader.peek()
  const word = reader.word().toUpperCase()
  if (unsupportedTypes.has(word)) throw reader.unsupported(`columns of the type ${word}`)
  const name = Object.hasOwn(typeAliases, word) ? (typeAliases[word] ?? '') : word.toLowerCase()
  if (!knownTypes.has(name)) throw reader.refusal(token)
  if (word === 'DOUBLE') reader.skips('PRECISION')
  if (word === 'CHARACTER') reader.skips('VARYING')
  const [length, scale] = reader.sizes()
  if ((name === 'float' || name === 'double') && scale !== undefined)
    throw reader.unsupported(`${word} with a number of digits`)
  let unsigned = false
  let zerofill = false
  for (;;) {
    if (reader.skips('UNSIGNED')) unsigned = true
    else if (reader.skips('ZEROFILL')) zerofill = true
    else if (!reader.skips('SIGNED')) break
  }
  if (zerofill) throw reader.unsupported('ZEROFILL')
  const text = typeText(name, length, scale, unsigned, word.startsWith('BOOL'))
  return { text, name, length, scale, unsigned, binary: false }
}

function typeText(
  name: string,
  length: number | undefined,
  scale: number | undefined,
  unsigned: boolean,
  isBoolean: boolean,
): string {
  const ending = unsigned ? ' unsigned' : ''
  if (isBoolean) return 'tinyint(1)'
  if (name === 'decimal') return `decimal(${length ?? 10},${scale ?? 0})${ending}`
  const whole = ['int', 'smallint', 'mediumint', 'bigint', 'year', 'float', 'double'].includes(name)
  if (whole || (name === 'tinyint' && length !== 1)) return `${name}${ending}`
  if (name === 'char' || name === 'binary') return `${name}(${length ?? 1})`
  return length === undefined ? `${name}${ending}` : `${name}(${length})${ending}`
}

/** The changes of ALTER TABLE, behind the table's name. */
export function alterations(parser: QueryParser): Alteration[] {
  const list: Alteration[] = []
  do list.push(...alteration(parser))
  while (parser.reader.skipsSymbol(','))
  return list
}

function alteration(parser: QueryParser): Alteration[] {
  const { reader } = parser
  if (reader.skips('ADD')) return added(parser)
  if (reader.skips('DROP')) return [dropped(parser)]
  if (reader.skips('RENAME')) return [renamed(parser)]
  if (reader.skips('CHANGE')) {
    reader.skips('COLUMN')
    const from = reader.name()
    return [{ kind: 'change', from, column: columnOf(parser), place: placeOf(parser) }]
  }
  if (reader.skips('MODIFY')) {
    reader.skips('COLUMN')
    const column = columnOf(parser)
    return [{ kind: 'change', from: column.name, column, place: placeOf(parser) }]
  }
  if (reader.skips('ALTER')) return [defaulted(parser)]
  if (optionWords.has(wordOf(reader.peek()) ?? '')) {
    tableOptions(parser)
    return [{ kind: 'nothing' }]
  }
  throw reader.refusal()
}

function added(parser: QueryParser): Alteration[] {
  const { reader } = parser
  if (reader.peek().kind === 'word' && (keyWords.has(wordOf(reader.peek()) ?? '') || reader.sees('CHECK'))) {
    if (reader.sees('CHECK')) throw reader.unsupported('ADD CHECK')
    const key = keyOf(parser)
    if ('check' in key) throw reader.unsupported('ADD CHECK')
    return [{ kind: 'add key', key }]
  }
  reader.skips('COLUMN')
  if (reader.skips('IF', 'NOT', 'EXISTS')) throw reader.unsupported('ADD COLUMN IF NOT EXISTS')
  if (!reader.skipsSymbol('(')) return [{ kind: 'add', column: columnOf(parser), place: placeOf(parser) }]
  const columns: ColumnDefinition[] = []
  do columns.push(columnOf(parser))
  while (reader.skipsSymbol(','))
  reader.expectSymbol(')')
  return columns.map((column) => ({ kind: 'add' as const, column }))
}

function placeOf({ reader }: QueryParser): Place | undefined {
  if (reader.skips('FIRST')) return 'first'
  return reader.skips('AFTER') ? { after: reader.name() } : undefined
}

function dropped(parser: QueryParser): Alteration {
  const { reader } = parser
  if (reader.skips('PRIMARY', 'KEY')) return { kind: 'drop key', name: 'PRIMARY' }
  if (reader.skips('INDEX') || reader.skips('KEY')) return { kind: 'drop key', name: reader.name() }
  if (reader.sees('FOREIGN') || reader.sees('CONSTRAINT') || reader.sees('CHECK'))
    throw reader.unsupported('DROP of a constraint')
  reader.skips('COLUMN')
  if (reader.sees('IF')) throw reader.unsupported('DROP COLUMN IF EXISTS')
  return { kind: 'drop', column: reader.name() }
}

function renamed({ reader }: QueryParser): Alteration {
  if (reader.sees('INDEX') || reader.sees('KEY')) throw reader.unsupported('RENAME INDEX')
  if (!reader.skips('COLUMN')) {
    reader.skips('TO') || reader.skips('AS')
    return { kind: 'rename', to: reader.tableName() }
  }
  const from = reader.name()
  reader.expect('TO')
  return { kind: 'rename column', from, to: reader.name() }
}

function defaulted(parser: QueryParser): Alteration {
  const { reader } = parser
  reader.skips('COLUMN')
  const column = reader.name()
  if (reader.skips('DROP', 'DEFAULT')) return { kind: 'default', column }
  reader.expect('SET', 'DEFAULT')
  return { kind: 'default', column, value: parser.expression(6) }
}
