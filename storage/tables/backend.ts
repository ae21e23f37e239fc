/**
 * Backends of the store: the port between the tables of a home and where they are kept.
 *
 * Invariants
 * - Outside of `sqlite/` and `postgres/` no code knows which backend it uses: a place is a text that can be printed, the path of a
 *   file or an address without its password.
 */
import type { CompiledQuery, Kysely, RawBuilder } from 'kysely'
import type { StorageFault } from '../disk/fault.ts'
import type { Schema } from './schema.ts'

/** Queries of every turn, and their writes, committed together. See the invariants of `storage/sqlite/statements.ts`. */
export interface Statements {
  /** The rows of a query, with other parameters than those that it was compiled with. @throws StorageFault */
  all<Row>(query: CompiledQuery<Row>, parameters: readonly unknown[]): Promise<Row[]>
  /** Its first row. @throws StorageFault */
  first<Row>(query: CompiledQuery<Row>, parameters: readonly unknown[]): Promise<Row | undefined>
  /** Writes; settles when it is committed. @returns rows changed @throws StorageFault */
  write(query: CompiledQuery, parameters: readonly unknown[]): Promise<number>
  /** Settles when every write has. */
  settled(): Promise<void>
}

/** Expressions that differ between the backends. */
export interface Terms {
  /** A value that differs whenever another connection has committed since. */
  changeMark(): Promise<number | string>
  /** The numbers of a JSON array, as a set of values. */
  numbersIn(list: string): RawBuilder<number>
  /** Mean of the values of an object in the JSON of `metrics.line`. */
  meanIn(key: string): RawBuilder<number | null>
  /** The mark of a metrics line that comes after all others. */
  readonly nextMetricsMark: RawBuilder<number>
}

/** A connection to a store, shared by all of a process that use it. */
export interface Connection {
  readonly db: Kysely<Schema>
  readonly statements: Statements
  readonly terms: Terms
  /** A text that a copy of the store does not have, though it has the same scope. */
  readonly original: string
  /** Settles when everything that was committed is on the disk. @throws StorageFault */
  flush(): Promise<void>
  /** Which store is at its place now: another value once it was replaced. @throws StorageFault `missing` where there is none */
  identity(): Promise<string>
  /** Gives free space back, so far as that needs no copy of the whole. @returns bytes */
  shrink(): Promise<number>
  /** Flushes and closes. */
  close(): Promise<void>
}

/** `look` always opens beside other connections of this process, and never writes; see `StoreOptions`. */
export type Access = 'write' | 'read' | 'look'

export interface Backend {
  /** Whether there is a store to look into. @throws StorageFault it is lost, or cannot be asked */
  exists(place: string): Promise<boolean>
  /** The fault of a store that is gone while its runs are there. */
  lost(place: string): Promise<StorageFault | undefined>
  /** Whether `read` must use a connection that only reads. @param shares whether this process has the store open for writing */
  readsApart(place: string, shares: boolean): Promise<boolean>
  /** Opens, creates and migrates. @throws StorageFault */
  connect(place: string): Promise<Connection>
  /** Opens for reading. @throws StorageFault */
  connectForReading(place: string): Promise<Connection>
  /** Whether it needs no migration. @throws StorageFault `newer_schema` and others */
  isCurrent(place: string): Promise<boolean>
  /** Bytes that it takes. */
  bytes(place: string): Promise<number>
  /** Whether this process may write the store. */
  isWritable(place: string): Promise<boolean>
}
