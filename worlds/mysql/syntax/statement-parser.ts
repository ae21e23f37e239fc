/**
 * Reads MySQL's statements.
 *
 * Invariants
 * - One text is one statement: what follows a semicolon is a syntax error.
 * - Statements of administrators are denied; statements that the engine lacks are refused by name.
 */
import { denied, notSupported, StatementRefused } from '../failure.ts'
import { textType } from '../values/type.ts'
import { QueryParser } from './query-parser.ts'
import { showStatement } from './show-parser.ts'
import type {
  Assignment,
  Expression,
  Limit,
  OrderTerm,
  Setting,
  Statement,
  TableReference,
} from './syntax.ts'
import { alterations, createTable, keyColumns } from './table-parser.ts'
import { TokenReader, wordOf } from './token-reader.ts'

/** Reads one statement. @throws StatementRefused */
export function parsed(sql: string): Statement {
  const parser = new QueryParser(new TokenReader(sql))
  const { reader } = parser
  const word = wordOf(reader.peek()) ?? (reader.seesSymbol('(') ? 'SELECT' : '')
  const read = Object.hasOwn(statements, word) ? statements[word] : undefined
  if (read === undefined) throw reader.refusal()
  const statement = read(parser)
  reader.end()
  return statement
}

type Read = (parser: QueryParser) => Statement

function query(parser: QueryParser): Statement {
  const { reader } = parser
  const read = parser.query()
  const [word] = [wordOf(reader.peek())]
  if (word === 'UPDATE' || word === 'DELETE') throw reader.unsupported(`WITH before ${word}`)
  return { kind: 'query', query: read }
}

function skipOptions({ reader }: QueryParser, ...words: readonly string[]): void {
  while (words.some((word) => reader.skips(word)));
}

function insert(parser: QueryParser): Statement {
  const { reader } = parser
  const replaces = wordOf(reader.next()) === 'REPLACE'
  skipOptions(parser, 'LOW_PRIORITY', 'DELAYED', 'HIGH_PRIORITY')
  const ignores = reader.skips('IGNORE')
  reader.skips('INTO')
  const head = { kind: 'insert' as const, replaces, ignores, table: reader.tableName() }
  if (reader.skips('SET')) {
    const pairs = assignments(parser)
    const [columns, source] = [pairs.map(({ column }) => column), [pairs.map(({ value }) => value)]]
    return { ...head, columns, source, duplicate: duplicates(parser) }
  }
  const listed = reader.seesSymbol('(') && !parser.seesQuery()
  const columns = listed ? parser.columnList() : undefined
  if (!reader.skips('VALUES') && !reader.skips('VALUE')) {
    const source = parser.query()
    return { ...head, columns, source, duplicate: duplicates(parser) }
  }
  const source: Expression[][] = []
  do source.push(parser.valueList())
  while (reader.skipsSymbol(','))
  if (reader.sees('AS')) throw reader.unsupported('an alias of new rows')
  return { ...head, columns, source, duplicate: duplicates(parser) }
}

function duplicates(parser: QueryParser): Assignment[] {
  return parser.reader.skips('ON', 'DUPLICATE', 'KEY', 'UPDATE') ? assignments(parser) : []
}

function assignments(parser: QueryParser): Assignment[] {
  const { reader } = parser
  const list: Assignment[] = []
  do {
    const { table, name } = reader.columnName()
    if (!reader.skipsSymbol('=') && !reader.skipsSymbol(':=')) throw reader.refusal()
    list.push({ table, column: name, value: parser.expression() })
  } while (reader.skipsSymbol(','))
  return list
}

function chosen(parser: QueryParser): {
  readonly where?: Expression | undefined
  readonly order: readonly OrderTerm[]
  readonly limit?: Limit | undefined
} {
  const { reader } = parser
  const where = reader.skips('WHERE') ? parser.expression() : undefined
  const order = reader.skips('ORDER', 'BY') ? parser.orderTerms() : []
  return { where, order, limit: parser.limit() }
}

function update(parser: QueryParser): Statement {
  const { reader } = parser
  reader.expect('UPDATE')
  skipOptions(parser, 'LOW_PRIORITY')
  if (reader.sees('IGNORE')) throw reader.unsupported('UPDATE IGNORE')
  const from = parser.tableReferences()
  reader.expect('SET')
  return { kind: 'update', from, assignments: assignments(parser), ...chosen(parser) }
}

function remove(parser: QueryParser): Statement {
  const { reader } = parser
  reader.expect('DELETE')
  skipOptions(parser, 'LOW_PRIORITY', 'QUICK', 'IGNORE')
  if (!reader.skips('FROM')) {
    const targets = targetNames(parser)
    reader.expect('FROM')
    return { kind: 'delete', targets, from: parser.tableReferences(), ...chosen(parser) }
  }
  const targets = targetNames(parser)
  if (reader.skips('USING'))
    return { kind: 'delete', targets, from: parser.tableReferences(), ...chosen(parser) }
  const [name = ''] = targets
  if (targets.length > 1) throw reader.refusal()
  const alias = parser.alias(false) ?? name
  const from: TableReference = { kind: 'table', name, alias }
  return { kind: 'delete', targets: [alias], from, ...chosen(parser) }
}

function targetNames({ reader }: QueryParser): string[] {
  const names: string[] = []
  do {
    names.push(reader.tableName())
    if (reader.skipsSymbol('.')) reader.expectSymbol('*')
  } while (reader.skipsSymbol(','))
  return names
}

function truncate({ reader }: QueryParser): Statement {
  reader.expect('TRUNCATE')
  reader.skips('TABLE')
  return { kind: 'truncate', table: reader.tableName() }
}

function create(parser: QueryParser): Statement {
  const { reader } = parser
  reader.expect('CREATE')
  const replaces = reader.skips('OR', 'REPLACE')
  if (!replaces && reader.skips('TEMPORARY', 'TABLE')) return createTable(parser, true)
  if (!replaces && reader.skips('TABLE')) return createTable(parser, false)
  skipViewOptions(parser)
  if (reader.skips('VIEW')) return createView(parser, replaces)
  const unique = reader.skips('UNIQUE')
  if (reader.sees('FULLTEXT') || reader.sees('SPATIAL')) throw reader.unsupported('FULLTEXT and SPATIAL keys')
  if (!reader.skips('INDEX')) throw administration(parser)
  const name = reader.name()
  if (reader.skips('USING')) reader.word()
  reader.expect('ON')
  const table = reader.tableName()
  const key = { name, kind: unique ? ('unique' as const) : ('index' as const), columns: keyColumns(parser) }
  return { kind: 'create index', table, key }
}

function skipViewOptions({ reader }: QueryParser): void {
  if (reader.skips('ALGORITHM')) {
    reader.expectSymbol('=')
    reader.word()
  }
  if (reader.skips('SQL', 'SECURITY')) reader.word()
}

function createView(parser: QueryParser, replaces: boolean): Statement {
  const { reader } = parser
  const name = reader.tableName()
  const columns = parser.columnList()
  reader.expect('AS')
  const { start } = reader.peek()
  const query = parser.query()
  if (reader.sees('WITH')) throw reader.unsupported('WITH CHECK OPTION')
  return { kind: 'create view', name, replaces, columns, query, text: reader.textFrom(start) }
}

function drop(parser: QueryParser): Statement {
  const { reader } = parser
  reader.expect('DROP')
  if (reader.skips('INDEX')) {
    const name = reader.name()
    reader.expect('ON')
    return { kind: 'drop index', name, table: reader.tableName() }
  }
  reader.skips('TEMPORARY')
  const what =
    reader.skips('TABLE') || reader.skips('TABLES') ? 'table' : reader.skips('VIEW') ? 'view' : undefined
  if (what === undefined) throw administration(parser)
  const ifExists = reader.skips('IF', 'EXISTS')
  const names: string[] = []
  do names.push(reader.tableName())
  while (reader.skipsSymbol(','))
  reader.skips('RESTRICT') || reader.skips('CASCADE')
  return { kind: 'drop', what, names, ifExists }
}

function alter(parser: QueryParser): Statement {
  const { reader } = parser
  reader.expect('ALTER')
  if (reader.sees('VIEW')) throw reader.unsupported('ALTER VIEW')
  if (!reader.skips('TABLE')) throw administration(parser)
  const table = reader.tableName()
  return { kind: 'alter', table, alterations: alterations(parser) }
}

function rename({ reader }: QueryParser): Statement {
  reader.expect('RENAME')
  if (!reader.skips('TABLE')) reader.expect('TABLES')
  const pairs: [string, string][] = []
  do {
    const from = reader.tableName()
    reader.expect('TO')
    pairs.push([from, reader.tableName()])
  } while (reader.skipsSymbol(','))
  return { kind: 'rename', pairs }
}

function set(parser: QueryParser): Statement {
  const { reader } = parser
  reader.expect('SET')
  if (
    ['GLOBAL', 'PERSIST', 'PERSIST_ONLY', 'PASSWORD', 'ROLE', 'DEFAULT', 'RESOURCE'].some((word) =>
      reader.sees(word),
    )
  )
    throw new StatementRefused(denied)
  if (reader.sees('TRANSACTION') || reader.sees('SESSION', 'TRANSACTION'))
    throw reader.unsupported('SET TRANSACTION')
  const settings: Setting[] = []
  do settings.push(setting(parser))
  while (reader.skipsSymbol(','))
  return { kind: 'set', settings }
}

function setting(parser: QueryParser): Setting {
  const { reader } = parser
  if (reader.skips('NAMES') || reader.skips('CHARACTER', 'SET') || reader.skips('CHARSET')) {
    const value = settingValue(parser)
    if (reader.skips('COLLATE')) reader.collation()
    return { scope: 'system', name: 'names', value }
  }
  const token = reader.peek()
  const isUser = token.kind === 'variable' && !token.text.startsWith('@@')
  reader.skips('SESSION') || reader.skips('LOCAL')
  const name = token.kind === 'variable' ? reader.next().text.toLowerCase() : reader.word().toLowerCase()
  if (!reader.skipsSymbol('=') && !reader.skipsSymbol(':=')) throw reader.refusal()
  if (isUser) return { scope: 'user', name: name.slice(1), value: parser.expression() }
  const system = name.replace(/^@@(?:session\.|local\.)?/, '')
  if (system.startsWith('global.')) throw new StatementRefused(denied)
  return { scope: 'system', name: system, value: settingValue(parser) }
}

/** A word counts as text: `SET autocommit = ON`. */
function settingValue(parser: QueryParser): Expression {
  const { reader } = parser
  const token = reader.peek()
  const isWord = token.kind === 'word' && token.upper !== 'NULL' && !reader.seesSymbol('(', 1)
  if (!isWord) return parser.expression()
  return { kind: 'literal', value: reader.next().text, type: textType }
}

function begin({ reader }: QueryParser): Statement {
  if (reader.skips('START')) {
    reader.expect('TRANSACTION')
    reader.skips('READ', 'WRITE') || reader.skips('WITH', 'CONSISTENT', 'SNAPSHOT')
    if (reader.sees('READ')) throw reader.unsupported('READ ONLY transactions')
  } else {
    reader.expect('BEGIN')
    reader.skips('WORK')
  }
  return { kind: 'transaction', action: 'begin' }
}

function commit({ reader }: QueryParser): Statement {
  reader.expect('COMMIT')
  reader.skips('WORK')
  return { kind: 'transaction', action: 'commit' }
}

function rollback({ reader }: QueryParser): Statement {
  reader.expect('ROLLBACK')
  reader.skips('WORK')
  if (!reader.skips('TO')) return { kind: 'transaction', action: 'rollback' }
  reader.skips('SAVEPOINT')
  return { kind: 'transaction', action: 'rollback to', name: reader.name().toLowerCase() }
}

function savepoint({ reader }: QueryParser): Statement {
  const action = reader.skips('RELEASE') ? 'release' : 'savepoint'
  reader.expect('SAVEPOINT')
  return { kind: 'transaction', action, name: reader.name().toLowerCase() }
}

function perform(parser: QueryParser): Statement {
  parser.reader.expect('DO')
  return { kind: 'do', expressions: parser.list() }
}

function use({ reader }: QueryParser): Statement {
  reader.expect('USE')
  return { kind: 'use', name: reader.name() }
}

function describe(parser: QueryParser): Statement {
  const { reader } = parser
  const word = wordOf(reader.next())
  const explains =
    word === 'EXPLAIN' ||
    parser.seesQuery() ||
    ['UPDATE', 'INSERT', 'DELETE'].some((each) => reader.sees(each))
  const next = reader.peek()
  if (
    explains &&
    (next.kind === 'symbol' ||
      parser.seesQuery() ||
      wordOf(reader.peek(1)) !== undefined ||
      reader.seesSymbol('=', 1))
  )
    throw reader.unsupported('EXPLAIN of a statement')
  return showStatement(parser, 'DESCRIBE')
}

/** Refuses by name, whatever follows. */
function lacking(name: string): Read {
  return () => {
    throw new StatementRefused(notSupported(name))
  }
}

const administered = new Set(
  'DATABASE SCHEMA USER TRIGGER PROCEDURE FUNCTION EVENT ROLE SERVER TABLESPACE LOGFILE AGGREGATE DEFINER INSTANCE'.split(
    ' ',
  ),
)

/** Denies objects that only an administrator creates or drops; any other word is a syntax error. */
function administration({ reader }: QueryParser): StatementRefused {
  return administered.has(wordOf(reader.peek()) ?? '') ? new StatementRefused(denied) : reader.refusal()
}

const statements: Readonly<Record<string, Read>> = {
  ...{ SELECT: query, WITH: query, VALUES: query, TABLE: query },
  ...{ INSERT: insert, REPLACE: insert, UPDATE: update, DELETE: remove, TRUNCATE: truncate },
  ...{ CREATE: create, DROP: drop, ALTER: alter, RENAME: rename, SET: set, DO: perform, USE: use },
  ...{
    BEGIN: begin,
    START: begin,
    COMMIT: commit,
    ROLLBACK: rollback,
    SAVEPOINT: savepoint,
    RELEASE: savepoint,
  },
  SHOW: (parser) => {
    parser.reader.expect('SHOW')
    return showStatement(parser, 'SHOW')
  },
  ...{ DESCRIBE: describe, DESC: describe, EXPLAIN: describe },
  ...each(
    'LOCK UNLOCK PREPARE EXECUTE DEALLOCATE CALL HANDLER ANALYZE CHECK CHECKSUM OPTIMIZE REPAIR XA',
    lacking,
  ),
  ...each('GRANT REVOKE LOAD FLUSH KILL SHUTDOWN INSTALL UNINSTALL RESET CHANGE', () => () => {
    throw new StatementRefused(denied)
  }),
}

function each(words: string, read: (name: string) => Read): Record<string, Read> {
  return Object.fromEntries(words.split(' ').map((word) => [word, read(word)]))
}
