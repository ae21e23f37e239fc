/**
 * Best versions: which of the evaluated versions a suite speaks for.
 *
 * Invariants
 * - The best by the suite's measure wins; of equals the newest version does.
 * - [BEST-1] An incomplete evaluation is never among the best.
 */
import { type EpisodeCounts, isComplete } from './evaluation-completeness.ts'
import { gainOf, type Judged } from './judgement.ts'

/** The result of an evaluation, as far as versions are compared by it. */
interface Evaluated extends EpisodeCounts, Judged {
  readonly version: number
}

/** The best complete evaluation of one suite; undefined where there is none. */
export function bestOf<Evaluation extends Evaluated>(
  evaluations: readonly Evaluation[],
): Evaluation | undefined {
  return bestFirst(evaluations)[0]
}

/** The newest version with a complete evaluation; where none is complete, the newest. @param evaluations of one suite */
export function newestOf<Evaluation extends Omit<Evaluated, keyof Judged>>(
  evaluations: readonly Evaluation[],
): Evaluation | undefined {
  const inOrder = evaluations.toSorted((a, b) => a.version - b.version)
  return inOrder.findLast(isComplete) ?? inOrder.at(-1)
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
  return evaluations.filter(isComplete).toSorted((a, b) => gainOf(a, b) || b.version - a.version)
}
