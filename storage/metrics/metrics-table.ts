/**
 * Metrics as a table: one row for each update, one for each evaluation, as programs for figures read them.
 *
 * Invariants
 * - [TABLE-OF-METRICS-1] A row has all numbers of its line: each nested number has a column named by its path,
 *   e.g. `success.alfworld` and `seconds.wait`.
 * - [TABLE-OF-METRICS-2] Columns are in the order in which the lines first name them; a missing number is an empty cell.
 * - [TABLE-OF-METRICS-3] As CSV (RFC 4180) each cell is read back as it was, whatever names of tasks and suites hold.
 */
import { isEvaluationMetrics, isUpdateMetrics, type MetricsLine } from './metrics.ts'

/** Which lines of a run's metrics. */
export const metricsKinds = ['updates', 'evaluations'] as const
export type MetricsKind = (typeof metricsKinds)[number]

export type MetricsCell = string | number | boolean | null

export interface MetricsTable {
  readonly columns: readonly string[]
  /** [lines, columns] */
  readonly rows: readonly (readonly MetricsCell[])[]
}

/** The table of the lines of a kind, in their order. */
export function metricsTable(lines: readonly MetricsLine[], kind: MetricsKind): MetricsTable {
  const isWanted = kind === 'updates' ? isUpdateMetrics : isEvaluationMetrics
  const flat = lines.filter(isWanted).map((line) => new Map(cellsOf(line, '')))
  const columns = [...new Set(flat.flatMap((cells) => [...cells.keys()]))]
  return { columns, rows: flat.map((cells) => columns.map((column) => cells.get(column) ?? null)) }
}

function cellsOf(value: unknown, path: string): readonly (readonly [string, MetricsCell])[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, part]) =>
      cellsOf(part, path === '' ? name : `${path}.${name}`),
    )
  const isCell = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return [[path, isCell ? value : null]]
}

/** The table as CSV, its columns in the first line. */
export function asCsv({ columns, rows }: MetricsTable): string {
  return [columns, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
}

function csvCell(cell: MetricsCell): string {
  const text = cell === null ? '' : String(cell)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
