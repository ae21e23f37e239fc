/**
 * Sizes that the embedded databases keep to.
 *
 * Invariants
 * - A value has at most `valueBytes`, a database `databaseBytes`, all databases of a thread `threadBytes`, and the rows
 *   of a running statement `statementBytes`.
 */

/** Bytes of the longest text, that functions make included. */
export const valueBytes = 1 << 20
export const databaseBytes = 16 << 20
export const threadBytes = 192 << 20
/** Rows that a statement holds while it runs, its result included. */
export const statementBytes = 48 << 20
/** Characters of the longest statement. */
export const statementLength = 100_000
/** Nested expressions and queries: deeper than anything sensible, and far from the end of the stack. */
export const deepestNesting = 100
/** MySQL's `cte_max_recursion_depth`. */
export const recursionRounds = 1000
