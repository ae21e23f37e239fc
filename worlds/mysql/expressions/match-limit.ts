/**
 * The time of one search by a regular expression: MySQL gives it up as well (`regexp_time_limit`).
 *
 * Invariants
 * - A search that takes too long ends by itself, and its thread continues; so does the whole statement end.
 * - A search that cannot take long is not watched: a watch costs a tenth of a millisecond.
 */
import { createContext, Script } from 'node:vm'

/** A search took too long: the statement is out of time. */
export class SearchOverdue extends Error {
  override readonly name = 'SearchOverdue'
  readonly kind = 'search_overdue'
}

/** No pattern that means well takes a hundredth of this. */
const longestMs = 1000
/** A text that is shorter has too few ways to be tried. */
const shortText = 24
/** In a longer text even a single repetition may take long, because the search restarts at each letter. */
const longText = 5000
// Two things that repeat, or a group that does: ways multiply.
const risky = /[*+?}][\s\S]*[*+?}]|\)[*+?{]/

let search: () => unknown = () => undefined
const context = createContext({ search: () => search() })
const script = new Script('search()')

/** Searches within the time. @throws SearchOverdue */
export function withinLimit<T>(pattern: string, text: string, searchIt: () => T): T {
  const isSafe = text.length < shortText || (text.length < longText && !risky.test(pattern))
  if (isSafe) return searchIt()
  let found: { readonly value: T } | undefined
  search = () => {
    found = { value: searchIt() }
  }
  try {
    script.runInContext(context, { timeout: longestMs })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      throw new SearchOverdue('a regular expression took too long', { cause: error })
    throw error
  }
  if (found === undefined) throw new SearchOverdue('a regular expression found no end')
  return found.value
}
