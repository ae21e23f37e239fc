/**
 * pass@k: how probable it is that at least one of k samples of an instance succeeds.
 *
 * Invariants
 * - It is within [0, 1], rises with k, and is the success rate for k = 1.
 */

/**
 * Unbiased estimate from n samples of which c succeeded: 1 − C(n − c, k) / C(n, k), as the product
 * 1 − ∏ (1 − k / i) over i from n − c + 1 to n, which overflows nowhere.
 * Source: M. Chen et al., "Evaluating Large Language Models Trained on Code", arXiv 2107.03374, equation 1.
 * @param samples n, at least k
 * @param successes c, in [0, n]
 * @param k at least 1
 * @throws RangeError
 * @example passAtK(4, 1, 2) // 1 − C(3, 2) / C(4, 2) = 0.5
 */
export function passAtK(samples: number, successes: number, k: number): number {
  if (!(k >= 1 && samples >= k && successes >= 0 && successes <= samples))
    throw new RangeError(
      `pass@${k} of ${successes} successes in ${samples} samples, expected 1 ≤ k ≤ samples and no more successes than samples`,
    )
  if (samples - successes < k) return 1
  let allFail = 1
  for (let i = samples - successes + 1; i <= samples; i++) allFail *= 1 - k / i
  return 1 - allFail
}
