/**
 * The suites of a run's configuration, whether they have been measured or not.
 */
import type { RunConfiguration } from '../../../contract/run.ts'

/** In their order. */
export function configuredSuites({ evaluation }: RunConfiguration['values']): readonly string[] {
  if (evaluation === null || typeof evaluation !== 'object' || !('suites' in evaluation)) return []
  const { suites } = evaluation
  if (!Array.isArray(suites)) return []
  return suites.flatMap((suite) =>
    typeof suite === 'object' && suite !== null && 'name' in suite && typeof suite.name === 'string'
      ? [suite.name]
      : [],
  )
}
