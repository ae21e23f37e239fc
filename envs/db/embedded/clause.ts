/**
 * Words of MySQL that structure a query, written anew for SQLite.
 *
 * Invariants
 * - What would reach a file, a variable or another statement is refused.
 * - What asks for a lock or a way of reading only is left out: it changes no result.
 */
import type { ExpressionWriter } from './expression.ts'
import { quotedName, type TokenReader, wordOf } from './token-reader.ts'

/** Words that MySQL reserves and that structure a query. */
const clauseWords = new Set(
  `SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT AS ON USING JOIN LEFT RIGHT INNER CROSS OUTER NATURAL UNION ALL
   EXCEPT INTERSECT DISTINCT ASC DESC WITH RECURSIVE VALUES WINDOW OVER PARTITION SET FOR LOCK INTO
   WHEN THEN ELSE STRAIGHT_JOIN DISTINCTROW SQL_CALC_FOUND_ROWS HIGH_PRIORITY SQL_NO_CACHE`.split(/\s+/),
)
const droppedWords = new Set(['STRAIGHT_JOIN', 'SQL_CALC_FOUND_ROWS', 'HIGH_PRIORITY', 'SQL_NO_CACHE'])

/** True where the word that is next belongs to a clause, and to no operand. */
export function isClause(reader: TokenReader): boolean {
  const word = wordOf(reader.peek())
  if (word === undefined) return false
  if ((word === 'LEFT' || word === 'RIGHT') && reader.seesSymbol('(', 1)) return false
  if (word === 'OFFSET') return reader.peek(1).kind === 'number'
  return clauseWords.has(word)
}

/** What stands for the clause's word that is next; nothing where SQLite has no need of it. @throws StatementRefused */
export function clauseOf(writer: ExpressionWriter): readonly string[] {
  const { reader } = writer
  const word = wordOf(reader.next()) ?? ''
  if (droppedWords.has(word)) return []
  if (word === 'WITH' && wordOf(reader.peek()) !== 'ROLLUP') return [commonTables(writer)]
  if (word === 'DISTINCTROW') return ['DISTINCT']
  if (word === 'FROM' && reader.skips('DUAL')) return []
  // MySQL quotes names otherwise: a text is no table.
  if ((word === 'FROM' || word === 'JOIN') && reader.peek().kind === 'string') throw reader.refusal()
  if (word === 'FOR' && (reader.skips('UPDATE') || reader.skips('SHARE'))) return []
  if (word === 'LOCK' && reader.skips('IN', 'SHARE', 'MODE')) return []
  // INTO OUTFILE, INTO @variable: nothing that a query may do.
  if (word === 'INTO' || word === 'FOR' || word === 'LOCK') throw reader.refusal()
  if (word === 'AS' && reader.peek().kind === 'string') return ['AS', quotedName(reader.next().text)]
  return [word]
}

/** WITH: names, perhaps with columns, of queries. */
function commonTables(writer: ExpressionWriter): string {
  const { reader } = writer
  const recursive = reader.skips('RECURSIVE') ? 'RECURSIVE ' : ''
  const tables: string[] = []
  do {
    const name = quotedName(reader.name())
    const columns = reader.seesSymbol('(') ? writer.group().sql : ''
    reader.expect('AS')
    tables.push(`${name}${columns} AS ${writer.group().sql}`)
  } while (reader.skipsSymbol(','))
  return `WITH ${recursive}${tables.join(', ')}`
}
