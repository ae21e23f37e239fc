/**
 * The order in which suites are reported: that of the configuration, not that in which their evaluations happened to begin.
 *
 * Invariants
 * - [SUITE-ORDER-1] Suites that the configuration does not name come last; what is of one suite stays as it was.
 */
import { z } from 'zod'

/** All that is read of a stored configuration. */
const suitesSchema = z.object({ evaluation: z.object({ suites: z.array(z.object({ name: z.string() })) }) })

/** @param config as it is stored with the run; one without suites leaves the order as it is */
export function inSuiteOrder<Row extends { readonly suite: string }>(
  config: unknown,
  rows: readonly Row[],
): readonly Row[] {
  const { data } = suitesSchema.safeParse(config)
  const places = new Map(data?.evaluation.suites.map(({ name }, place) => [name, place]))
  const placeOf = ({ suite }: Row) => places.get(suite) ?? places.size
  return rows.toSorted((one, other) => placeOf(one) - placeOf(other))
}
