/**
 * The reason of a failure, in the words of what was thrown.
 *
 * Invariants
 * - Whatever was thrown, there is a text.
 */

/** @example reasonOf(new Error('no space left')) // 'no space left' */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
