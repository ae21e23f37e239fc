/**
 * Best versions: which of the evaluated versions a suite speaks for.
 *
 * Invariants
 * - The highest success wins; of equals the newest version does.
 */

/** What an evaluation found, as far as versions are compared by it. */
interface Evaluated {
  readonly version: number
  readonly success: number
}

/** The best evaluation of those of one suite; undefined where there is none. */
export function bestOf<Evaluation extends Evaluated>(
  evaluations: readonly Evaluation[],
): Evaluation | undefined {
  return bestFirst(evaluations)[0]
}

/** So many best versions of each suite, each version once. */
export function bestVersions(
  evaluations: readonly (Evaluated & { readonly suite: string })[],
  ofEach: number,
): readonly number[] {
  const best = [...Map.groupBy(evaluations, ({ suite }) => suite).values()].flatMap((own) =>
    [...new Set(bestFirst(own).map(({ version }) => version))].slice(0, ofEach),
  )
  return [...new Set(best)]
}

function bestFirst<Evaluation extends Evaluated>(evaluations: readonly Evaluation[]): readonly Evaluation[] {
  return evaluations.toSorted((a, b) => b.success - a.success || b.version - a.version)
}
