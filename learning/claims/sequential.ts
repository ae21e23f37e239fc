/**
 * Looks at an experiment while seeds are added: the level that each look gets, so that all together err no more often than one would.
 *
 * An error-spending function says which part of the level is spent when a share t of the seeds is there; boundaries follow from
 * the joint distribution of the looks' statistics, a Brownian motion at times t (K. Lan and D. DeMets, Biometrika 70 (1983);
 * P. Armitage, C. McPherson and B. Rowe, JRSS A 132 (1969)). The p of a look is held against the nominal p of its boundary
 * (C. Jennison and B. Turnbull, Group Sequential Methods (2000), section 3.3). With few seeds t tests cross such boundaries too often:
 * 5.9 instead of 5 of 100 at 3, 5 and 8 seeds. So the level that the boundaries get is lowered until drawn t tests keep it.
 *
 * Invariants
 * - [SEQUENTIAL-1] Where there is no difference, any look of at most as many experiments as the level says shows one.
 * - [SEQUENTIAL-2] A p over looks is at most the level exactly where a look's p is at most the nominal one; a single look changes no p.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import { normalQuantile, normalTail } from '../statistics/normal.ts'
import { meanTest } from '../statistics/student-t.ts'

/** The ways to spend a level, two-sided: the part that is spent at time t. */
export const spendings = {
  /** Hardly anything at first, most at the end: like O'Brien and Fleming's boundaries. */
  'obrien-fleming': (level: number, t: number) =>
    4 * normalTail(normalQuantile(1 - level / 4) / Math.sqrt(t)),
  /** About as much at each look: like Pocock's boundaries. */
  pocock: (level: number, t: number) => level * Math.log(1 + (Math.E - 1) * t),
} as const satisfies Record<string, (level: number, t: number) => number>

export type Spending = keyof typeof spendings
export const spendingNames = Object.keys(spendings) as [Spending, ...Spending[]]

/** Looks that were stated in advance. */
export interface LookDesign {
  /** Seeds at each look, rising; the last is all of them. */
  readonly looks: readonly number[]
  readonly spending: Spending
}

/** Intervals of the grid that densities are integrated on, by Simpson's rule; boundaries are exact to four digits. */
const intervals = 160
/** The largest level that boundaries are found for. */
const largestLevel = 0.999
/** A boundary that nothing crosses. */
const furthest = 12

/**
 * The |z| at which each look shows a difference.
 * @param level of all looks together, two-sided, in (0, 1)
 * @returns [looks]
 * @example lookBoundaries({ looks: [1, 2, 3, 4, 5], spending: 'obrien-fleming' }, 0.05) // ≈ [4.88, 3.36, 2.68, 2.29, 2.03]
 */
export function lookBoundaries({ looks, spending }: LookDesign, level: number): readonly number[] {
  const last = looks.at(-1) ?? 1
  const times = looks.map((seeds) => seeds / last)
  let density: Density | undefined
  return times.map((t, look) => {
    const earlier = times[look - 1]
    const spent = earlier === undefined ? 0 : spendings[spending](level, earlier)
    const step = Math.sqrt(t - (earlier ?? 0))
    const from = density
    const exit = (z: number) => exitProbability(from, z * Math.sqrt(t), step)
    const z = boundaryOf(exit, spendings[spending](level, t) - spent)
    if (look < times.length - 1) density = densityWithin(from, z * Math.sqrt(t), step)
    return z
  })
}

/** The density of the motion where no boundary was crossed, on an even grid from −reach to reach. */
interface Density {
  readonly reach: number
  readonly values: Float64Array
}

/** P(|S| > border) after a normal step from the density, which is that of 0 at first. */
function exitProbability(from: Density | undefined, border: number, step: number): number {
  return integral(from, (s) => normalTail((border - s) / step) + normalTail((border + s) / step))
}

function densityWithin(from: Density | undefined, reach: number, step: number): Density {
  const scale = 1 / (step * Math.sqrt(2 * Math.PI))
  const values = Float64Array.from({ length: intervals + 1 }, (_, at) => {
    const place = reach * ((2 * at) / intervals - 1)
    return integral(from, (s) => scale * Math.exp(-0.5 * ((place - s) / step) ** 2))
  })
  return { reach, values }
}

/** ∫ f·density by Simpson's rule. */
function integral(density: Density | undefined, f: (s: number) => number): number {
  if (density === undefined) return f(0)
  const { reach, values } = density
  let sum = 0
  for (let at = 0; at <= intervals; at++) {
    const weight = at === 0 || at === intervals ? 1 : at % 2 === 1 ? 4 : 2
    sum += weight * (values[at] ?? 0) * f(reach * ((2 * at) / intervals - 1))
  }
  return (sum * 2 * reach) / intervals / 3
}

/** The z that is crossed so often, by halving. */
function boundaryOf(exit: (z: number) => number, probability: number): number {
  let [low, high] = [0, furthest]
  // A millionth of z is more than p values are reported with.
  while (high - low > 1e-6) {
    const middle = (low + high) / 2
    if (exit(middle) > probability) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** The nominal two-sided p of each boundary. @returns [looks] */
function nominalLevels(design: LookDesign, level: number): readonly number[] {
  return lookBoundaries(design, level).map((z) => 2 * normalTail(z))
}

/** Experiments without a difference, by the looks that they were drawn for; 5 % of them are known to 0.15 points. */
const drawnByLooks = new Map<string, readonly (readonly number[])[]>()
const drawnExperiments = 20_000

/** [experiments][looks] p of t tests where there is no difference. */
function drawnTests(looks: readonly number[]): readonly (readonly number[])[] {
  const key = looks.join()
  const known = drawnByLooks.get(key)
  if (known !== undefined) return known
  const uniform = uniforms(seedOf(0, 'looks', key))
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
  const drawn = Array.from({ length: drawnExperiments }, () => {
    const seeds = Array.from({ length: looks.at(-1) ?? 0 }, normal)
    return looks.map((count) => meanTest(seeds.slice(0, count), 0))
  })
  drawnByLooks.set(key, drawn)
  return drawn
}

/** How often t tests cross boundaries of that level where there is no difference. */
function errorAt(design: LookDesign, level: number): number {
  const levels = nominalLevels(design, level)
  const drawn = drawnTests(design.looks)
  const crossed = drawn.filter((pValues) => pValues.some((p, at) => p <= (levels[at] ?? 0))).length
  return (crossed + 1) / (drawn.length + 1)
}

/** Levels that were found, which takes a second, by what they are of. */
const foundLevels = new Map<string, readonly number[]>()

/**
 * The p with which each look shows a difference.
 * @param level of all looks together, two-sided, in (0, 1)
 * @returns [looks]
 */
export function lookLevels(design: LookDesign, level: number): readonly number[] {
  if (design.looks.length === 1) return [level]
  const key = JSON.stringify([design, level])
  const known = foundLevels.get(key)
  if (known !== undefined) return known
  const levels = nominalLevels(
    design,
    levelWhere((given) => errorAt(design, given) > level, level / 10),
  )
  foundLevels.set(key, levels)
  return levels
}

/** The same looks at an experiment of another number of seeds, two at least at the first. */
export function looksOf({ looks, spending }: LookDesign, seeds: number): LookDesign {
  const last = looks.at(-1) ?? 1
  const counts = looks.map((count) => Math.max(2, Math.round((count * seeds) / last)))
  return { looks: [...new Set(counts.map((count) => Math.min(count, seeds)))], spending }
}

/**
 * The level above which a condition holds that holds for all larger ones, by halving its exponent, to four digits.
 * @param least below which it does not hold
 */
function levelWhere(isAbove: (level: number) => boolean, least: number): number {
  let [low, high] = [Math.log10(Math.max(least, 1e-12) / largestLevel), 0]
  while (high - low > 2e-5) {
    const middle = (low + high) / 2
    if (isAbove(largestLevel * 10 ** middle)) high = middle
    else low = middle
  }
  return largestLevel * 10 ** low
}

/** The p values that were found: a page asks again and again for those of the same runs. */
const foundP = new Map<string, number>()
const keptP = 1000

/**
 * The p of all looks so far: the smallest level at which one of them shows a difference (A. Liu and K. Anderson, Statistics in
 * Medicine 27 (2008)). Holm's correction may follow.
 * @param pValues [looks so far] two-sided, each over all seeds that were there
 */
export function sequentialP(pValues: readonly number[], design: LookDesign): number {
  if (design.looks.length === 1) return pValues[0] ?? 1
  const key = JSON.stringify([design, pValues])
  const known = foundP.get(key)
  if (known !== undefined) return known
  const isCrossed = (level: number) => {
    const levels = nominalLevels(design, level)
    return pValues.some((p, at) => p <= (levels[at] ?? 0))
  }
  // Several looks never have a smaller p than the smallest of theirs; what is drawn may miss that by a little.
  const least = Math.min(...pValues)
  const found = isCrossed(largestLevel) ? Math.max(least, errorAt(design, levelWhere(isCrossed, least))) : 1
  if (foundP.size >= keptP) foundP.clear()
  foundP.set(key, found)
  return found
}
