/**
 * A database of one session, whatever runs it.
 *
 * Invariants
 * - The result of a statement, or the reason why it failed, is data; only a backend that cannot work throws.
 */

/** One table as the agent finds it. */
export interface TableData {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | null)[])[]
}

/** The hash of a state; null for tables without rows, as MySQL has it. */
export type StateHash = string | null

/** One value of a result with its kind, as text: kinds differ in how they are shown. null is NULL. */
export type Cell = {
  readonly kind: 'integer' | 'double' | 'decimal' | 'text' | 'bytes' | 'date' | 'datetime' | 'time'
  readonly text: string
} | null

/** Why a statement failed, in MySQL's numbers and words. */
export interface SqlFailure {
  readonly code: number
  readonly state: string
  readonly message: string
}

/** A failure as MySQL tells it. */
export function sqlFailure(code: number, state: string, message: string): SqlFailure {
  return { code, state, message }
}

export const tooLong = sqlFailure(1153, '08S01', "Got a packet bigger than 'max_allowed_packet' bytes")
export const lostConnection = sqlFailure(2013, 'HY000', 'Lost connection to MySQL server during query')

/** The result of a statement. */
export type StatementResult =
  | {
      readonly kind: 'rows'
      readonly rows: readonly (readonly Cell[])[]
      /** True when there were more rows than are given. */
      readonly truncated: boolean
    }
  | { readonly kind: 'done'; readonly affected: number }
  | { readonly kind: 'failed'; readonly failure: SqlFailure }
  | { readonly kind: 'timed_out' }

/** The limits of a statement. */
export interface StatementLimits {
  /** Milliseconds that a statement may run. */
  readonly deadlineMs: number
  /** Rows that are given back. */
  readonly rows: number
  /** Bytes of text that are given back. */
  readonly bytes: number
}

/** The live database of one session; statements one after another. */
export interface Database {
  execute(sql: string): Promise<StatementResult>
  /** Hash of the state of these tables; undefined where they cannot be read as they were. */
  stateHash(tables: readonly TableData[]): Promise<StateHash | undefined>
  /** Gone with all it holds. May be called twice. */
  close(): Promise<void>
}

/** Where databases come from. */
export interface DatabaseBackend {
  /** @param identity what the database's random functions are seeded by */
  open(tables: readonly TableData[], identity: string): Promise<Database>
  close(): Promise<void>
}
