/**
 * SQLite as WebAssembly: connections to databases in memory, with functions of our own and hard limits.
 *
 * WebAssembly, because its memory is a sandbox (no file, no socket, no process can be named from inside)
 * and because a running statement can be interrupted: by SQLite's progress handler, and where that is never
 * reached, by ending the thread.
 *
 * Invariants
 * - A statement ends at its deadline; what it changed is undone.
 * - Only the listed actions and functions are authorized, for statements and for what they call.
 * - A value has at most `valueBytes`, a database `databaseBytes`, all databases of a thread `threadBytes`.
 * - Functions never throw into WebAssembly: what they throw fails the statement.
 */
import type { SqlFailure } from '../database.ts'
import { resultCode, StatementRefused } from './failure.ts'
import { SearchOverdue } from './match-limit.ts'
import { databaseBytes, threadBytes, valueBytes } from './sqlite-limits.ts'
import { loadWasm, type SqliteExports, type SqliteWasm, WasmMemory } from './sqlite-wasm.ts'
import { compareTexts, type Value } from './value.ts'

const pageBytes = 4096
// How many steps of SQLite's machine pass between two looks at the clock: some 20 microseconds.
const stepsPerLook = 1000

/** A function as SQL calls it. */
export interface SqlFunction {
  readonly name: string
  /** False where the same arguments may give different values. */
  readonly deterministic: boolean
  readonly call: (args: readonly Value[]) => Value
}

/** What running one statement gave. */
export type RunResult =
  | { readonly kind: 'rows'; readonly rows: Value[][]; readonly truncated: boolean }
  | { readonly kind: 'done'; readonly changes: number }
  | { readonly kind: 'failed'; readonly code: number; readonly message: string }
  | { readonly kind: 'refused'; readonly failure: SqlFailure }
  | { readonly kind: 'interrupted' }

export interface RunLimits {
  /** On the clock of `performance.now`. */
  readonly deadline: number
  readonly rows: number
  readonly bytes: number
}

const unlimited: RunLimits = {
  deadline: Number.POSITIVE_INFINITY,
  rows: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY,
}

const utf8 = 1
const deterministicFlag = 0x800
const readWriteCreate = 6
const transient = -1
// SQLITE_LIMIT_…: what a statement may be made of.
const limits: readonly (readonly [number, number])[] = [
  [0, valueBytes],
  [1, 4 * valueBytes],
  [2, 1000],
  [3, 500],
  [4, 100],
  [5, 1_000_000],
  [6, 900],
  [7, 0],
  [10, 0],
]

// SQLITE_…: actions of the authorizer. What is not listed is refused: ATTACH, DETACH, PRAGMA, transactions,
// triggers, virtual tables, ANALYZE, REINDEX.
const allowedActions = new Set([
  1, // CREATE_INDEX
  2, // CREATE_TABLE
  4, // CREATE_TEMP_TABLE
  8, // CREATE_VIEW
  9, // DELETE
  10, // DROP_INDEX
  11, // DROP_TABLE
  13, // DROP_TEMP_TABLE
  17, // DROP_VIEW
  18, // INSERT
  20, // READ
  21, // SELECT
  23, // UPDATE
  26, // ALTER_TABLE
  27, // REINDEX, which CREATE INDEX asks for
  33, // RECURSIVE
])
const functionAction = 31
// `pragma_table_info` asks for it; the statement PRAGMA itself is none of MySQL's.
const pragmaAction = 19
const deny = 1

/** What SQLite itself brings and statements may call; ALTER TABLE needs the last ones. */
const builtIn = new Set(
  `count sum avg min max coalesce ifnull nullif iif json_group_array json_array json_object json_extract json_valid
   row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
   sqlite_rename_column sqlite_rename_table sqlite_rename_test sqlite_rename_quotefix sqlite_drop_column
   sqlite_fail printf like substr length -> ->>`.split(/\s+/),
)

/** Names of the two collations under which MySQL's rules are: the default one too. */
export const collationName = 'MYSQL'

/** SQLite in this thread. */
export class Sqlite {
  readonly #memory: WasmMemory
  readonly #c: SqliteExports
  readonly #out: number
  readonly #memoryName: number
  readonly #functions: readonly { name: number; flags: number; call: number }[]
  readonly #collations: readonly number[]
  readonly #compare: number
  readonly #progress: number
  readonly #authorizer: number
  readonly #keeper: number
  #deadline = Number.POSITIVE_INFINITY
  #trusted = true
  #thrown: unknown

  /** @throws Error where WebAssembly or the module is missing */
  static async load(functions: readonly SqlFunction[]): Promise<Sqlite> {
    return new Sqlite(await loadWasm(), functions)
  }

  private constructor(wasm: SqliteWasm, functions: readonly SqlFunction[]) {
    this.#memory = new WasmMemory(wasm)
    this.#c = wasm.exports
    this.#out = wasm.alloc(16)
    this.#memoryName = this.#memory.put(':memory:').pointer
    const own = new Set(functions.map(({ name }) => name))
    this.#functions = functions.map(({ name, deterministic, call }) => ({
      name: this.#memory.put(name).pointer,
      flags: utf8 | (deterministic ? deterministicFlag : 0),
      call: wasm.installFunction('v(pip)', (context: number, count: number, args: number) =>
        this.#call(call, context, count, args),
      ),
    }))
    this.#collations = [collationName, 'BINARY'].map((name) => this.#memory.put(name).pointer)
    this.#compare = wasm.installFunction(
      'i(pipip)',
      (_: number, leftBytes: number, left: number, rightBytes: number, right: number) =>
        compareTexts(this.#memory.text(left, leftBytes), this.#memory.text(right, rightBytes)),
    )
    this.#progress = wasm.installFunction('i(p)', () => (performance.now() > this.#deadline ? 1 : 0))
    this.#authorizer = wasm.installFunction(
      'i(pipppp)',
      (_: number, action: number, first: number, second: number) => {
        if (this.#trusted) return 0
        if (action === functionAction) {
          const name = this.#memory.textAt(second)
          return own.has(name) || builtIn.has(name.toLowerCase()) ? 0 : deny
        }
        if (action === pragmaAction) return this.#memory.textAt(first) === 'table_info' ? 0 : deny
        return allowedActions.has(action) ? 0 : deny
      },
    )
    // The limit belongs to the thread; the connection through which it is set is kept, so that it stays.
    this.#keeper = this.#open()
    this.#runAll(this.#keeper, `PRAGMA hard_heap_limit=${threadBytes}`)
  }

  /** A new, empty database. */
  open(): Connection {
    const db = this.#open()
    for (const [id, value] of limits) this.#c.sqlite3_limit(db, id, value)
    for (const { name, flags, call } of this.#functions)
      this.#require(db, this.#c.sqlite3_create_function_v2(db, name, -1, flags, 0, call, 0, 0, 0))
    for (const name of this.#collations)
      this.#require(db, this.#c.sqlite3_create_collation_v2(db, name, utf8, 0, this.#compare, 0))
    this.#c.sqlite3_progress_handler(db, stepsPerLook, this.#progress, 0)
    this.#require(db, this.#c.sqlite3_set_authorizer(db, this.#authorizer, 0))
    this.#runAll(db, `PRAGMA page_size=${pageBytes}`)
    this.#runAll(db, `PRAGMA max_page_count=${databaseBytes / pageBytes}`)
    let open = true
    return {
      run: (sql, limits) => this.#guarded(db, sql, limits),
      runTrusted: (sql, parameter) => this.#run(db, sql, parameter, unlimited),
      close: () => {
        if (open) this.#c.sqlite3_close_v2(db)
        open = false
      },
    }
  }

  /** Ends what was opened to set the limits. */
  close(): void {
    this.#c.sqlite3_close_v2(this.#keeper)
  }

  #guarded(db: number, sql: string, limits: RunLimits): RunResult {
    this.#trusted = false
    try {
      return this.#run(db, sql, undefined, limits)
    } finally {
      this.#trusted = true
    }
  }

  #run(db: number, sql: string, parameter: string | undefined, limits: RunLimits): RunResult {
    this.#deadline = limits.deadline
    this.#thrown = undefined
    const text = this.#memory.put(sql)
    let bound: { pointer: number; bytes: number } | undefined
    let statement = 0
    try {
      const prepared = this.#c.sqlite3_prepare_v2(db, text.pointer, text.bytes + 1, this.#out, this.#out + 4)
      if (prepared !== resultCode.ok) return this.#failure(db, prepared)
      statement = this.#memory.pointerAt(this.#out)
      if (statement === 0) return { kind: 'done', changes: 0 }
      if (this.#memory.pointerAt(this.#out + 4) < text.pointer + text.bytes)
        return { kind: 'failed', code: resultCode.error, message: 'more than one statement' }
      if (parameter !== undefined) {
        bound = this.#memory.put(parameter)
        this.#require(db, this.#c.sqlite3_bind_text(statement, 1, bound.pointer, bound.bytes, 0))
      }
      return this.#step(db, statement, limits)
    } finally {
      this.#c.sqlite3_finalize(statement)
      this.#memory.free(text.pointer)
      if (bound !== undefined) this.#memory.free(bound.pointer)
      this.#deadline = Number.POSITIVE_INFINITY
    }
  }

  #step(db: number, statement: number, { rows: most, bytes }: RunLimits): RunResult {
    const columns = this.#c.sqlite3_column_count(statement)
    const before = this.#c.sqlite3_total_changes(db)
    const rows: Value[][] = []
    let left = bytes
    for (;;) {
      const code = this.#c.sqlite3_step(statement)
      if (code === resultCode.done)
        return columns > 0
          ? { kind: 'rows', rows, truncated: false }
          : { kind: 'done', changes: this.#c.sqlite3_total_changes(db) - before }
      if (code !== resultCode.row) return this.#failure(db, code)
      for (let at = 0; at < columns; at++) left -= this.#c.sqlite3_column_bytes(statement, at)
      if (rows.length >= most || (left < 0 && rows.length > 0)) return { kind: 'rows', rows, truncated: true }
      rows.push(Array.from({ length: columns }, (_, at) => this.#column(statement, at)))
    }
  }

  #failure(db: number, code: number): RunResult {
    const thrown = this.#thrown
    if (thrown instanceof StatementRefused) return { kind: 'refused', failure: thrown.failure }
    if (thrown instanceof SearchOverdue) return { kind: 'interrupted' }
    if (thrown !== undefined) throw thrown
    if ((code & 0xff) === resultCode.interrupted) return { kind: 'interrupted' }
    return { kind: 'failed', code, message: this.#memory.textAt(this.#c.sqlite3_errmsg(db)) }
  }

  #call(call: SqlFunction['call'], context: number, count: number, args: number): void {
    try {
      const values: Value[] = []
      for (let at = 0; at < count; at++) values.push(this.#value(this.#memory.pointerAt(args + 4 * at)))
      this.#result(context, call(values))
    } catch (error) {
      this.#thrown ??= error
      const { pointer, bytes } = this.#memory.put('failed')
      this.#c.sqlite3_result_error(context, pointer, bytes)
      this.#memory.free(pointer)
    }
  }

  #value(value: number): Value {
    switch (this.#c.sqlite3_value_type(value)) {
      case 1:
        return this.#c.sqlite3_value_int64(value)
      case 2:
        return this.#c.sqlite3_value_double(value)
      case 3: {
        const pointer = this.#c.sqlite3_value_text(value)
        return this.#memory.text(pointer, this.#c.sqlite3_value_bytes(value))
      }
      case 4: {
        const pointer = this.#c.sqlite3_value_blob(value)
        return this.#memory.copy(pointer, this.#c.sqlite3_value_bytes(value))
      }
      default:
        return null
    }
  }

  #column(statement: number, at: number): Value {
    switch (this.#c.sqlite3_column_type(statement, at)) {
      case 1:
        return this.#c.sqlite3_column_int64(statement, at)
      case 2:
        return this.#c.sqlite3_column_double(statement, at)
      case 3: {
        const pointer = this.#c.sqlite3_column_text(statement, at)
        return this.#memory.text(pointer, this.#c.sqlite3_column_bytes(statement, at))
      }
      case 4: {
        const pointer = this.#c.sqlite3_column_blob(statement, at)
        return this.#memory.copy(pointer, this.#c.sqlite3_column_bytes(statement, at))
      }
      default:
        return null
    }
  }

  #result(context: number, value: Value): void {
    if (value === null) this.#c.sqlite3_result_null(context)
    else if (typeof value === 'bigint') this.#c.sqlite3_result_int64(context, BigInt.asIntN(64, value))
    else if (typeof value === 'number') this.#c.sqlite3_result_double(context, value)
    else {
      const { pointer, bytes } = this.#memory.put(value)
      if (typeof value === 'string') this.#c.sqlite3_result_text(context, pointer, bytes, transient)
      else this.#c.sqlite3_result_blob(context, pointer, bytes, transient)
      this.#memory.free(pointer)
    }
  }

  #open(): number {
    const code = this.#c.sqlite3_open_v2(this.#memoryName, this.#out, readWriteCreate, 0)
    const db = this.#memory.pointerAt(this.#out)
    this.#require(db, code)
    return db
  }

  #runAll(db: number, sql: string): void {
    const result = this.#run(db, sql, undefined, unlimited)
    if (result.kind === 'failed') throw new Error(`SQLite: ${sql}: ${result.message}`)
  }

  #require(db: number, code: number): void {
    if (code !== resultCode.ok)
      throw new Error(`SQLite: code ${code}: ${this.#memory.textAt(this.#c.sqlite3_errmsg(db))}`)
  }
}

/** One database in memory. */
export interface Connection {
  /** Runs a statement of the agent's, or one over what the agent has made. */
  run(sql: string, limits: RunLimits): RunResult
  /** Runs a statement of ours, without limits but those of memory. @param parameter bound to the first `?` */
  runTrusted(sql: string, parameter?: string): RunResult
  close(): void
}
