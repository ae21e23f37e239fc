/**
 * The depth of a JSON value.
 *
 * Invariants
 * - [NESTING-1] It is measured without recursion, so a value of any depth can be refused before code that recurses reads it.
 */

/** Deeper than any JSON that people or programs write, and far below the depth at which recursive readers overflow. */
export const deepestNesting = 128

/** Whether a value holds lists or objects within one another beyond `most` levels; a plain value has none. */
export function isTooDeep(value: unknown, most = deepestNesting): boolean {
  let level = [value].filter(isContainer)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > most) return true
    level = level.flatMap((container) => Object.values(container).filter(isContainer))
  }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
