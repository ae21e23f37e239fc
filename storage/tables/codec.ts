/**
 * Codecs between values and columns.
 *
 * Invariants
 * - Tokens and logprobs go in and come out bit for bit, never through text.
 * - A column with an impossible value is refused as `corrupt` and named.
 */
import type { InsertQueryBuilder, InsertResult } from 'kysely'
import { StorageFault } from '../disk/fault.ts'
import type { Schema } from './schema.ts'

/** Views the bytes of a typed array; SQLite copies them while binding. */
export function blobOf(values: Int32Array | Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}

/** @throws StorageFault `corrupt` when the length is no multiple of four bytes */
export function int32Of(blob: Uint8Array, subject: string): Int32Array {
  return new Int32Array(alignedBytes(blob, subject))
}

/** @throws StorageFault `corrupt` when the length is no multiple of four bytes */
export function float32Of(blob: Uint8Array, subject: string): Float32Array {
  return new Float32Array(alignedBytes(blob, subject))
}

function alignedBytes(blob: Uint8Array, subject: string): ArrayBuffer {
  if (blob.byteLength % 4 !== 0)
    throw new StorageFault(
      'corrupt',
      `${subject} has ${blob.byteLength} bytes, expected a multiple of 4; it is not used`,
    )
  return new Uint8Array(blob).buffer
}

/** Nine digits name every 32-bit float; the seventeen of a double would double the file. */
export function shortestFloat32(value: number): number {
  return Number(value.toPrecision(9))
}

/** Reads a JSON column. The value's type is the writer's promise, sealed episodes prove it by checksum. */
export function jsonOf<Value>(text: string, subject: string): Value {
  try {
    return JSON.parse(text) as Value
  } catch (error) {
    throw new StorageFault('corrupt', `${subject} is no JSON; it is not used`, { cause: error })
  }
}

/** Who wrote first: this call, or an earlier one of the same identity. */
export type Precedence = 'first' | 'already'

/** Reads the precedence from how many rows an insert or update has changed. */
export function precedenceOf(affected: bigint | number | undefined): Precedence {
  return (affected ?? 0) > 0 ? 'first' : 'already'
}

/** Carries an insert out unless the row is there already. */
export async function insertOnce<Table extends keyof Schema>(
  insert: InsertQueryBuilder<Schema, Table, InsertResult>,
): Promise<Precedence> {
  const result = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst()
  return precedenceOf(result.numInsertedOrUpdatedRows)
}
