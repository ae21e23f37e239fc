/**
 * Sizes that SQLite and our functions keep to.
 *
 * Invariants
 * - A value has at most `valueBytes`, a database `databaseBytes`, all databases of a thread `threadBytes`.
 */

/** Bytes of the longest text, that functions make included. */
export const valueBytes = 1 << 20
export const databaseBytes = 16 << 20
export const threadBytes = 256 << 20
