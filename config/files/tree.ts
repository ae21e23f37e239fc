/**
 * Trees of plain data, as a configuration is given: by YAML, by the command line or by a program.
 *
 * Invariants
 * - [TREE-1] A tree that passes is finite: nothing in it contains itself, and its depth and its number of values are
 *   bounded. So whatever walks over it afterwards ends too.
 * - [TREE-2] A refusal names the place at which the refused value was met first.
 */

/** A tree of plain data. */
export type Tree = { [key: string]: unknown } | unknown[]

/** Why a tree cannot be used, and where. */
export interface TreeProblem {
  readonly path: readonly (string | number)[]
  /** The error at this place, worded to follow the key. */
  readonly wrong: string
  /** The allowed values, worded to follow "expected". */
  readonly allowed: string
}

/** Beyond what anyone writes by hand, and far below what overflows a stack. */
const deepest = 64
/** A few aliases of aliases make billions of values. */
const mostValues = 100_000

/** True for what holds other values. */
export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null
}

/** The first reason for which data cannot be walked over; undefined where it can. */
export function endlessness(data: unknown): TreeProblem | undefined {
  const above = new Set<unknown>()
  let values = 0

  function look(value: unknown, path: readonly (string | number)[]): TreeProblem | undefined {
    values += 1
    if (values > mostValues)
      return { path, wrong: 'repeats too much', allowed: `at most ${mostValues} values in all` }
    if (!isTree(value)) return undefined
    if (above.has(value)) return { path, wrong: 'contains itself', allowed: 'a value with an end' }
    if (path.length >= deepest)
      return { path, wrong: 'is nested too deep', allowed: `at most ${deepest} levels` }
    above.add(value)
    const entries = Array.isArray(value) ? value.entries() : Object.entries(value)
    for (const [key, each] of entries) {
      const found = look(each, [...path, key])
      if (found !== undefined) return found
    }
    above.delete(value)
    return undefined
  }

  return look(data, [])
}
