/** Conditions: whether a value counts as true. */

import { isTrue } from '../values/value.ts'
import type { Compiled } from './scope.ts'

/** Whether a condition is true; unknown is not. */
export function conditionOf(compiled: Compiled): () => boolean {
  return () => {
    const value = compiled.get()
    return value !== null && isTrue(value)
  }
}
