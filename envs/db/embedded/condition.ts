/** Conditions: whether a value counts as true. */
import type { Compiled } from './scope.ts'
import { isTrue } from './value.ts'

/** Whether a condition is true; unknown is not. */
export function conditionOf(compiled: Compiled): () => boolean {
  return () => {
    const value = compiled.get()
    return value !== null && isTrue(value)
  }
}
