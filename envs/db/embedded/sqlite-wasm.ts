/**
 * SQLite's WebAssembly module: the C functions that are used, and what goes into its memory and comes out.
 *
 * Invariants
 * - What is read is what lies there now, also after the memory has grown and moved.
 * - A text comes out as it went in, zeros and byte order marks among it.
 */

/** The C functions that are used; pointers are numbers, 64-bit integers bigint. */
export interface SqliteExports {
  sqlite3_open_v2(name: number, out: number, flags: number, vfs: number): number
  sqlite3_close_v2(db: number): number
  sqlite3_prepare_v2(db: number, sql: number, bytes: number, out: number, tail: number): number
  sqlite3_step(statement: number): number
  sqlite3_finalize(statement: number): number
  sqlite3_bind_text(statement: number, at: number, text: number, bytes: number, destructor: number): number
  sqlite3_column_count(statement: number): number
  sqlite3_column_type(statement: number, at: number): number
  sqlite3_column_int64(statement: number, at: number): bigint
  sqlite3_column_double(statement: number, at: number): number
  sqlite3_column_text(statement: number, at: number): number
  sqlite3_column_blob(statement: number, at: number): number
  sqlite3_column_bytes(statement: number, at: number): number
  sqlite3_value_type(value: number): number
  sqlite3_value_int64(value: number): bigint
  sqlite3_value_double(value: number): number
  sqlite3_value_text(value: number): number
  sqlite3_value_blob(value: number): number
  sqlite3_value_bytes(value: number): number
  sqlite3_result_null(context: number): void
  sqlite3_result_int64(context: number, value: bigint): void
  sqlite3_result_double(context: number, value: number): void
  sqlite3_result_text(context: number, text: number, bytes: number, destructor: number): void
  sqlite3_result_blob(context: number, bytes: number, count: number, destructor: number): void
  sqlite3_result_error(context: number, text: number, bytes: number): void
  sqlite3_errmsg(db: number): number
  sqlite3_total_changes(db: number): number
  sqlite3_limit(db: number, id: number, value: number): number
  sqlite3_progress_handler(db: number, steps: number, handler: number, data: number): void
  sqlite3_set_authorizer(db: number, authorizer: number, data: number): number
  sqlite3_create_function_v2(
    db: number,
    name: number,
    args: number,
    flags: number,
    data: number,
    call: number,
    step: number,
    final: number,
    destroy: number,
  ): number
  sqlite3_create_collation_v2(
    db: number,
    name: number,
    encoding: number,
    data: number,
    compare: number,
    destroy: number,
  ): number
}

/** The module: its functions, its memory, and how it is given functions of ours. */
export interface SqliteWasm {
  readonly exports: SqliteExports
  readonly memory: { readonly buffer: ArrayBufferLike }
  alloc(bytes: number): number
  dealloc(pointer: number): void
  installFunction(signature: string, call: (...args: never[]) => unknown): number
}

const encoder = new TextEncoder()
// A byte order mark is a character of the text.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** @throws Error where WebAssembly or the module is missing */
export async function loadWasm(): Promise<SqliteWasm> {
  const { default: initialize } = await import('@sqlite.org/sqlite-wasm')
  const { wasm } = await initialize()
  return wasm as unknown as SqliteWasm
}

/** The memory of a module. */
export class WasmMemory {
  readonly #wasm: SqliteWasm
  #bytes: Uint8Array
  #view: DataView

  constructor(wasm: SqliteWasm) {
    this.#wasm = wasm
    this.#bytes = new Uint8Array(wasm.memory.buffer)
    this.#view = new DataView(wasm.memory.buffer)
  }

  /** Copies into WebAssembly's memory, ended by a zero; to be freed when it is used. */
  put(value: string | Uint8Array): { pointer: number; bytes: number } {
    const bytes = typeof value === 'string' ? encoder.encode(value) : value
    const pointer = this.#wasm.alloc(bytes.length + 1)
    this.#refresh()
    this.#bytes.set(bytes, pointer)
    this.#bytes[pointer + bytes.length] = 0
    return { pointer, bytes: bytes.length }
  }

  free(pointer: number): void {
    this.#wasm.dealloc(pointer)
  }

  /** The pointer that lies at an address. */
  pointerAt(address: number): number {
    this.#refresh()
    return this.#view.getUint32(address, true)
  }

  /** So many bytes as a text. */
  text(pointer: number, bytes: number): string {
    this.#refresh()
    return decoder.decode(this.#bytes.subarray(pointer, pointer + bytes))
  }

  /** A text that is ended by a zero; empty for no pointer. */
  textAt(pointer: number): string {
    this.#refresh()
    return pointer === 0 ? '' : this.text(pointer, this.#bytes.indexOf(0, pointer) - pointer)
  }

  /** So many bytes, which stay as they are when the memory changes. */
  copy(pointer: number, bytes: number): Uint8Array {
    this.#refresh()
    return this.#bytes.slice(pointer, pointer + bytes)
  }

  /** The memory moves when it grows. */
  #refresh(): void {
    if (this.#bytes.buffer === this.#wasm.memory.buffer) return
    this.#bytes = new Uint8Array(this.#wasm.memory.buffer)
    this.#view = new DataView(this.#wasm.memory.buffer)
  }
}
