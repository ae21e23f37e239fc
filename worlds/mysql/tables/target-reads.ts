/**
 * Finds queries that read a table which their statement changes: MySQL refuses them.
 *
 * Invariants
 * - A query in FROM is made before anything changes, and may read the table.
 */
import { sqlFailure } from '../database.ts'
import { refuse } from '../failure.ts'

/** @throws StatementRefused where a query within reads one of the tables */
export function refuseReads(expression: unknown, tables: ReadonlySet<string>): void {
  if (Array.isArray(expression)) {
    for (const each of expression) refuseReads(each, tables)
    return
  }
  if (expression === null || typeof expression !== 'object') return
  const { kind, name, schema } = expression as { kind?: unknown; name?: unknown; schema?: unknown }
  if (kind === 'derived') return
  if (kind === 'table' && schema === undefined && typeof name === 'string' && tables.has(name))
    refuse(sqlFailure(1093, 'HY000', `You can't specify target table '${name}' for update in FROM clause`))
  for (const each of Object.values(expression)) refuseReads(each, tables)
}
