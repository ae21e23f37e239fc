/**
 * Negative weight: pushing away from an action spreads its probability over all others, most of which are worse in a policy that
 * knows little, while pushing towards one says what to do.
 * Source: the two parts of the policy gradient of arXiv 2506.01347, weighed apart.
 *
 * Invariants
 * - [NEGATIVE-WEIGHT-1] Weighing negative advantages changes no sign and no positive advantage.
 */

/**
 * Reduces negative advantages.
 * @param weight of negative advantages beside 1 for positive ones; 1: as they are
 * @example weighNegative([-2, 3], 0.5) // [-1, 3]
 */
export function weighNegative(advantages: readonly number[], weight: number): readonly number[] {
  return weight === 1
    ? advantages
    : advantages.map((advantage) => (advantage < 0 ? weight * advantage : advantage))
}
