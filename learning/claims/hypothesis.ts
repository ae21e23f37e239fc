/**
 * Hypotheses: what paired runs say of a claim that was stated before them.
 *
 * A claim is that one arm is better than another by more than a stated difference, or level with it within one. Runs of the
 * same seed are a pair; the seeds are what is tested over, because another seed is what a reader would try.
 *
 * Invariants
 * - [HYPOTHESIS-1] Exchanging the arms turns every figure round and changes no p.
 * - [HYPOTHESIS-2] A claim is `shown`, `level` or `contradicted` only where the p of the family and the bootstrap over seeds and
 *   instances agree on it; one seed alone shows nothing.
 * - [HYPOTHESIS-3] The family is all claims that were stated, whatever came of them: one without a figure has a p of 1.
 */

import type { Interval } from '../statistics/interval.ts'
import { meanInterval, meanTest } from '../statistics/student-t.ts'
import { type CrossedDifferences, crossedInterval, seedDifferences } from './crossed-bootstrap.ts'
import { holmAdjusted } from './holm.ts'
import { type LookDesign, sequentialP } from './sequential.ts'
import { type SignFlipTest, signFlipTest } from './sign-flip.ts'
import type { Verdict } from './verdict.ts'

/** The test of a claim; both p are reported. */
export type TestKind = 't' | 'sign_flip'

/** The part of a claim that the differences are held against. */
export interface ClaimedDifference {
  /** By how much one arm is said to be better. */
  readonly by: number
  /** Instead: the largest difference, either way, with which the arms are said to be level; above 0. */
  readonly within?: number
}

/** Whether the claim is true where the true difference is that. */
export function isDetectable({ by, within }: ClaimedDifference, difference: number): boolean {
  return within === undefined ? difference > by : Math.abs(difference) < within
}

/** @example detectableWords({ by: 0.02 }) // 'a difference above 0.02' */
export function detectableWords({ by, within }: ClaimedDifference): string {
  const range = within === undefined ? `above ${by}` : `below ${within}, either way`
  return `a difference ${range}`
}

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

export interface Judgement {
  /** The p of the claim alone, two-sided; with several looks that of all so far. */
  readonly p: number
  /** The p adjusted for the family (Holm). */
  readonly adjusted: number
  readonly verdict: Verdict
}

interface Trial extends ClaimedDifference {
  /** 32 bits, of what is drawn. */
  readonly seed: number
  /** Whether they are differences of shares. */
  readonly isShare?: boolean
}

/** A judgement with the look, counted from 0, at which it was made; without one while the claim is not decided. */
export interface FamilyJudgement extends Judgement {
  readonly decidedAt?: number
}

/**
 * @param differences [suites, seeds] of the better arm minus the other, by instance
 * @throws RangeError a seed without an instance that both played
 */
export function pairedTest(differences: CrossedDifferences, trial: Trial): PairedTest {
  const { seed, isShare = true } = trial
  const seeds = seedDifferences(differences)
  const t = seeds.length > 1 ? meanInterval(seeds) : undefined
  return {
    seeds,
    difference: meanOf(seeds),
    ...(t === undefined
      ? {}
      : {
          t: {
            ...(isShare ? withinShares(t) : { low: t.low, high: t.high }),
            p: meanTest(seeds, borderOf(seeds, trial)),
          },
        }),
    bootstrap: crossedInterval(differences, seed, isShare),
    signFlip: signsOf(seeds, trial),
  }
}

function signsOf(seeds: readonly number[], trial: Trial): SignFlipTest {
  const border = borderOf(seeds, trial)
  return signFlipTest(
    seeds.map((difference) => difference - border),
    trial.seed,
  )
}

/**
 * The difference that the tests are against. Two one-sided tests show that arms are level, each against one end of the
 * range, and the larger p counts: that of the end on the side of the mean. A mean outside of the range is tested against
 * the same end. (D. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987).)
 */
function borderOf(seeds: readonly number[], { by, within }: ClaimedDifference): number {
  if (within === undefined) return by
  return meanOf(seeds) < 0 ? -within : within
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Differences of shares lie within [−1, 1]. */
function withinShares({ low, high }: Interval): Interval {
  return { low: Math.max(-1, low), high: Math.min(1, high) }
}

/** How claims are judged. */
export interface Judging {
  readonly kind: TestKind
  /** The level of the family, two-sided, in (0, 1). */
  readonly level: number
}

/**
 * Judges a family of claims together, at one look or at several: then a claim is decided at the first look that shows something.
 * @param looks [looks so far][claims] tests over the seeds of the look; undefined where there is no figure
 * @param judging.claims [claims] the differences that were stated
 * @param judging.design the looks that were stated; one by default
 * @returns [claims]
 */
export function judgeFamily(
  looks: readonly (readonly (PairedTest | undefined)[])[],
  {
    claims,
    design,
    kind,
    level,
  }: Judging & { readonly claims: readonly ClaimedDifference[]; readonly design?: LookDesign | undefined },
): readonly FamilyJudgement[] {
  let judged = claims.map((): FamilyJudgement => ({ p: 1, adjusted: 1, verdict: 'not shown' }))
  for (const [look, tests] of looks.entries()) {
    const pValues = claims.map((_, claim) => {
      const ofLooks = looks.slice(0, look + 1).map((each) => pOf(each[claim], kind))
      return design === undefined ? (ofLooks.at(-1) ?? 1) : sequentialP(ofLooks, design)
    })
    const adjusted = holmAdjusted(pValues)
    judged = judged.map((before, at): FamilyJudgement => {
      const [test, p = 1, familyP = 1] = [tests[at], pValues[at], adjusted[at]]
      if (before.decidedAt !== undefined) return before
      const found =
        test === undefined || familyP > level
          ? 'not shown'
          : verdictBy(test.bootstrap, claims[at] ?? { by: 0 })
      return { p, adjusted: familyP, verdict: found, ...(found === 'not shown' ? {} : { decidedAt: look }) }
    })
  }
  return judged
}

/** A look at a claim: the differences of the seeds that are there, and the 95 % interval over seeds and instances. */
export interface ClaimLook {
  readonly seeds: readonly number[]
  readonly bootstrapOf: () => Interval
}

/**
 * The verdict of `judgeFamily` on a claim beside others of which none is shown; it computes no more than that needs.
 * @param levels [looks] the p that each look is held against: `lookLevels` at the level of the family, divided by its claims
 */
export function verdictAlone(
  looks: readonly ClaimLook[],
  { kind, levels, ...trial }: Trial & Pick<Judging, 'kind'> & { readonly levels: readonly number[] },
): Verdict {
  let isCrossed = false
  for (const [at, { seeds, bootstrapOf }] of looks.entries()) {
    const p = () => (kind === 't' ? meanTest(seeds, borderOf(seeds, trial)) : signsOf(seeds, trial).p)
    isCrossed ||= seeds.length > 1 && p() <= (levels[at] ?? 0)
    const verdict = isCrossed ? verdictBy(bootstrapOf(), trial) : 'not shown'
    if (verdict !== 'not shown') return verdict
  }
  return 'not shown'
}

/** One seed has no spread to be judged by. */
function pOf(test: PairedTest | undefined, kind: TestKind): number {
  if (test?.t === undefined) return 1
  return kind === 't' ? test.t.p : test.signFlip.p
}

/** Where the p is small enough: what the bootstrap makes of it. */
function verdictBy({ low, high }: Interval, { by, within }: ClaimedDifference): Verdict {
  if (within !== undefined) {
    if (low > -within && high < within) return 'level'
    return low > within || high < -within ? 'contradicted' : 'not shown'
  }
  if (low > by) return 'shown'
  return high < by ? 'contradicted' : 'not shown'
}
