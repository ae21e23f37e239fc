/**
 * The hash of a table's state, as AgentBench's MySQL query computes it.
 *
 * MD5 of the sorted, comma-joined first five hexadecimal digits of MD5(CONCAT_WS(',', row…)), cut at
 * MySQL's `group_concat_max_len` of 1,024 bytes. CONCAT_WS skips NULLs.
 *
 * Invariants
 * - The order of rows does not matter; a NULL and a missing cell are alike, a NULL and an empty text are not.
 * - A table without rows has the hash null.
 */
import { createHash } from 'node:crypto'
import type { StateHash } from './database.ts'

/** MySQL's default of group_concat_max_len. */
export const groupConcatBytes = 1024
const digits = 5

/** Hash of one table's rows, each cell already text. */
export function hashOfRows(rows: Iterable<readonly (string | null)[]>): StateHash {
  const hashes: string[] = []
  for (const row of rows) hashes.push(md5(row.filter((cell) => cell !== null).join(',')).slice(0, digits))
  if (hashes.length === 0) return null
  return md5(hashes.sort().join(',').slice(0, groupConcatBytes))
}

/** Hash of several tables: one table's own, of more the sorted ones joined by `_`. */
export function hashOfTables(hashes: readonly StateHash[]): StateHash {
  if (hashes.length === 1) return hashes[0] ?? null
  return hashes.map(String).sort().join('_')
}

function md5(text: string): string {
  return createHash('md5').update(text, 'utf8').digest('hex')
}
