/**
 * The place of a store: the path of its file, or the printable address of its schema.
 *
 * Invariants
 * - The code of a backend is loaded with the first store of its kind.
 */

import { isAddress } from './disk/address.ts'
import type { Backend } from './tables/backend.ts'

/** The backend of a place. */
export async function backendOf(place: string): Promise<Backend> {
  return isAddress(place)
    ? (await import('./postgres/backend.ts')).postgresBackend
    : (await import('./sqlite/backend.ts')).sqliteBackend
}

/** Whether there is a store to look into. @throws StorageFault it is lost, or cannot be asked */
export async function hasStore(place: string): Promise<boolean> {
  return (await backendOf(place)).exists(place)
}

/** Whether this process may write a store, which need not exist yet. @throws StorageFault it cannot be asked */
export async function isStoreWritable(place: string): Promise<boolean> {
  return (await backendOf(place)).isWritable(place)
}

/** Bytes that a store takes. @throws StorageFault */
export async function storeBytes(place: string): Promise<number> {
  return (await backendOf(place)).bytes(place)
}

/** Whether a store needs no migration. @throws StorageFault `newer_schema`, or it cannot be asked */
export async function isStoreCurrent(place: string): Promise<boolean> {
  return (await backendOf(place)).isCurrent(place)
}
