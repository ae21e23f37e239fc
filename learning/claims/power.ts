/**
 * Power: how often an experiment of so many seeds and instances finds a difference that there is, by the spread of a pilot.
 *
 * The difference of a pair of runs on an instance is taken to be d = δ + S(seed) + I(instance) + E(seed, instance), all normal.
 * Their deviations come from the mean squares of the pilot's table (H. Scheffé, The Analysis of Variance (1959), section 7.4).
 * Experiments are drawn from them and judged as claims are.
 *
 * Invariants
 * - [POWER-1] As many experiments of the planned size find a true difference of the planned size as the plan says, and at most
 *   the level find one that there is not.
 * - [POWER-2] The other claims of the family are taken to be not shown: then a claim needs the smallest p.
 * - The same spread gives the same power.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import { normalQuantile } from '../statistics/normal.ts'
import {
  type CrossedDifferences,
  expectedCrossedInterval,
  type InstanceSpread,
  instanceSpread,
  seedDifferences,
} from './crossed-bootstrap.ts'
import { type ClaimedDifference, type ClaimLook, type Judging, verdictAlone } from './hypothesis.ts'
import { type LookDesign, lookLevels, looksOf } from './sequential.ts'

/** Standard deviations of the differences of pairs of runs. */
export interface Spread {
  /** Between seeds, of the mean over suites. */
  readonly seeds: number
  /** [suites] Between instances, and of what neither seed nor instance explains. */
  readonly suites: readonly { readonly instances: number; readonly rest: number }[]
}

/** A claim with the experiment that is planned for it. */
export interface PlannedClaim extends ClaimedDifference, Judging {
  readonly spread: Spread
  /** The true difference. */
  readonly difference: number
  /** [suites] */
  readonly instances: readonly number[]
  /** Claims of the family, with this one. */
  readonly claims: number
  /** Looks that were stated; as many seeds apart, in proportion, where there are more. One by default. */
  readonly design?: LookDesign | undefined
}

/** The share of experiments that are to find the difference. */
const wantedPower = 0.8
/** Seeds that a plan tries, at most: as many as a file may state. */
const mostSeeds = 64
/** With 4000, a power of 80 % is off by 0.6 points; the signs of many seeds take long to draw. */
const experiments = { t: 4000, sign_flip: 400 } as const

/**
 * The spread of a pilot, from the instances that all its seeds played.
 * @param differences [suites, seeds] two seeds at least
 * @throws RangeError
 */
export function spreadOf(differences: CrossedDifferences): Spread {
  const seeds = seedDifferences(differences)
  const n = seeds.length
  if (n < 2) throw new RangeError(`the spread of ${n} seeds, expected two at least`)
  const suites = differences.map((suite) => {
    const shared = [...(suite[0]?.keys() ?? [])].filter((name) => suite.every((row) => row.has(name)))
    const m = shared.length
    if (m < 2) throw new RangeError(`${m} instances that all seeds played, expected two at least`)
    const squares = instanceSpread(suite.map((row) => shared.map((name) => row.get(name) ?? 0)))
    const rest = (squares.rest * n * m) / ((n - 1) * (m - 1))
    const instances = Math.max(0, (squares.columns * m) / (m - 1) - rest / n)
    return { m, instances: Math.sqrt(instances), rest: Math.sqrt(rest) }
  })
  const mean = meanOf(seeds)
  const between = seeds.reduce((sum, seed) => sum + (seed - mean) ** 2, 0) / (n - 1)
  const within = suites.reduce((sum, { rest, m }) => sum + rest ** 2 / m, 0) / suites.length ** 2
  return {
    seeds: Math.sqrt(Math.max(0, between - within)),
    suites: suites.map(({ instances, rest }) => ({ instances, rest })),
  }
}

/**
 * The largest deviation that so many values are likely to come from, with a certainty of 80 %, as a multiple of theirs.
 * Source: R. Browne, Statistics in Medicine 14 (1995), who advises this limit of a pilot's deviation.
 * @param seeds two at least
 * @example likelyExcess(3) // ≈ 2.11
 */
export function likelyExcess(seeds: number): number {
  return Math.sqrt((seeds - 1) / chiSquare(seeds - 1, normalQuantile(0.2)))
}

/** A value of χ², by that of a normal deviate with the same probability: E. Wilson and M. Hilferty, PNAS 17 (1931). */
function chiSquare(df: number, z: number): number {
  const ninth = 2 / (9 * df)
  return df * Math.max(0, 1 - ninth + z * Math.sqrt(ninth)) ** 3
}

/** The share of experiments of so many seeds in which the claim is shown, or the arms are shown to be level. */
export function powerOf(claim: PlannedClaim, seeds: number): number {
  const { kind, level, claims } = claim
  const design = looksOf(claim.design ?? { looks: [seeds], spending: 'obrien-fleming' }, seeds)
  const levels = lookLevels(design, level / claims)
  const drawn = experiments[kind]
  let found = 0
  for (let each = 0; each < drawn; each++) {
    const seed = seedOf(each, 'power', seeds)
    const looks = drawnLooks(claim, design.looks, uniforms(seed))
    const verdict = verdictAlone(looks, { ...claim, levels, seed })
    if (verdict === 'shown' || verdict === 'level') found++
  }
  return found / drawn
}

/**
 * The parts of an experiment that verdicts need, without its table: means of rows, and the mean squares, are independent of one
 * another where all is normal.
 */
function drawnLooks(
  { spread, difference, instances }: PlannedClaim,
  looks: readonly number[],
  uniform: () => number,
): readonly ClaimLook[] {
  // Box and Muller's method; 1 − u lies in (0, 1].
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
  const k = spread.suites.length
  let mean = difference
  let within = 0
  const suites = spread.suites.map((suite, at) => {
    const m = instances[at] ?? 0
    mean += (suite.instances / Math.sqrt(m) / k) * normal()
    within += suite.rest ** 2 / m / k ** 2
    const [ofColumns, ofRest] = [normal(), normal()]
    return (seeds: number): InstanceSpread => ({
      instances: m,
      columns: ((suite.instances ** 2 + suite.rest ** 2 / seeds) * chiSquare(m - 1, ofColumns)) / m,
      rest: (suite.rest ** 2 * chiSquare((m - 1) * (seeds - 1), ofRest)) / (m * seeds),
    })
  })
  const ofSeed = Math.hypot(spread.seeds, Math.sqrt(within))
  const all = Array.from({ length: looks.at(-1) ?? 0 }, () => mean + ofSeed * normal())
  return looks.map((count) => {
    const seeds = all.slice(0, count)
    return {
      seeds,
      bootstrapOf: () =>
        expectedCrossedInterval(
          seeds,
          suites.map((at) => at(count)),
        ),
    }
  })
}

/** The fewest seeds that reach a power of 80 %, with their power; undefined where 64 do not. */
export function seedsNeeded(
  claim: PlannedClaim,
): { readonly seeds: number; readonly power: number } | undefined {
  let [few, enough] = [1, 2]
  let power = powerOf(claim, enough)
  while (power < wantedPower) {
    if (enough === mostSeeds) return undefined
    few = enough
    enough = Math.min(mostSeeds, 2 * enough)
    power = powerOf(claim, enough)
  }
  while (enough - few > 1) {
    const middle = Math.floor((few + enough) / 2)
    const found = powerOf(claim, middle)
    if (found < wantedPower) few = middle
    else [enough, power] = [middle, found]
  }
  return { seeds: enough, power }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
