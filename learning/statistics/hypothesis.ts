/**
 * Hypotheses: what paired runs say of a claim that was stated before them.
 *
 * A claim is that one arm is better than another by more than a stated difference. Runs of the same seed are a pair; the
 * seeds are what is tested over, because another seed is what a reader would try.
 *
 * Invariants
 * - [HYPOTHESIS-1] Exchanging the arms turns every figure round and changes no p.
 * - [HYPOTHESIS-2] A claim is `shown`, or `contradicted`, only where the p of the family and the bootstrap over seeds and instances
 *   agree on it; one seed alone shows nothing.
 * - [HYPOTHESIS-3] The family is all claims that were stated, whatever came of them: one without a figure has a p of 1.
 */
import { type CrossedDifferences, crossedInterval, seedDifferences } from './crossed-bootstrap.ts'
import { holmAdjusted } from './holm.ts'
import type { Interval } from './interval.ts'
import { type SignFlipTest, signFlipTest } from './sign-flip.ts'
import { meanInterval, meanTest } from './student-t.ts'

/** The test of a claim; both p are reported. */
export type TestKind = 't' | 'sign_flip'

export interface PairedTest {
  /** [seeds] of the better arm minus the other. */
  readonly seeds: readonly number[]
  /** Mean over the seeds. */
  readonly difference: number
  /** 95 % interval over the seeds, with the two-sided p; absent for one seed. */
  readonly t?: Interval & { readonly p: number }
  /** 95 % interval over seeds and instances. */
  readonly bootstrap: Interval
  readonly signFlip: SignFlipTest
}

export type Verdict = 'shown' | 'not shown' | 'contradicted'

export interface Judgement {
  /** The p of the claim alone, two-sided. */
  readonly p: number
  /** The p adjusted for the family (Holm). */
  readonly adjusted: number
  readonly verdict: Verdict
}

/**
 * @param differences [suites, seeds] of the better arm minus the other, by instance
 * @param of.by how much better it is said to be
 * @param of.seed 32 bits, of what is drawn
 * @param of.isShare whether they are differences of shares
 * @throws RangeError a seed without an instance that both played
 */
export function pairedTest(
  differences: CrossedDifferences,
  { by, seed, isShare = true }: { readonly by: number; readonly seed: number; readonly isShare?: boolean },
): PairedTest {
  const seeds = seedDifferences(differences)
  const beyond = seeds.map((difference) => difference - by)
  const t = seeds.length > 1 ? meanInterval(seeds) : undefined
  return {
    seeds,
    difference: seeds.reduce((sum, difference) => sum + difference, 0) / seeds.length,
    ...(t === undefined
      ? {}
      : { t: { ...(isShare ? withinShares(t) : { low: t.low, high: t.high }), p: meanTest(seeds, by) } }),
    bootstrap: crossedInterval(differences, seed, isShare),
    signFlip: signFlipTest(beyond, seed),
  }
}

/** Differences of shares lie within [−1, 1]. */
function withinShares({ low, high }: Interval): Interval {
  return { low: Math.max(-1, low), high: Math.min(1, high) }
}

/**
 * Judges a family of claims together.
 * @param tests [claims] undefined where there is no figure
 * @param by [claims] the differences that were stated
 * @param level of the family, two-sided, in (0, 1)
 * @returns [claims]
 */
export function judgeFamily(
  tests: readonly (PairedTest | undefined)[],
  { by, kind, level }: { readonly by: readonly number[]; readonly kind: TestKind; readonly level: number },
): readonly Judgement[] {
  const pValues = tests.map((test) => pOf(test, kind))
  const adjusted = holmAdjusted(pValues)
  return tests.map((test, at) => ({
    p: pValues[at] ?? 1,
    adjusted: adjusted[at] ?? 1,
    verdict: verdictOf(test, adjusted[at] ?? 1, { by: by[at] ?? 0, level }),
  }))
}

/** One seed has no spread to be judged by. */
function pOf(test: PairedTest | undefined, kind: TestKind): number {
  if (test?.t === undefined) return 1
  return kind === 't' ? test.t.p : test.signFlip.p
}

function verdictOf(
  test: PairedTest | undefined,
  adjusted: number,
  { by, level }: { readonly by: number; readonly level: number },
): Verdict {
  if (test === undefined || adjusted > level) return 'not shown'
  if (test.bootstrap.low > by) return 'shown'
  return test.bootstrap.high < by ? 'contradicted' : 'not shown'
}
