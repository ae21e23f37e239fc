/**
 * The purchase that an agent is asked to make.
 *
 * Invariants
 * - The agent reads only the text of a goal; the other fields judge the purchase.
 */

/** An option asked for: with its name in generated goals, by its value alone in what people wrote. */
export type GoalOption = { readonly name: string; readonly value: string } | { readonly value: string }

export interface Goal {
  /** The product that the goal was made from; others may earn the full reward as well. */
  readonly productId: string
  readonly title: string
  readonly query: string
  readonly categoryPath: string
  readonly text: string
  readonly attributes: readonly string[]
  readonly options: readonly GoalOption[]
  /** In dollars. */
  readonly priceLimit: number
}

/** The original's limit where no limit is asked for. */
export const noPriceLimit = 1_000_000

/** Limits are whole tens of dollars below a thousand. */
const limits = Array.from({ length: 99 }, (_, index) => 10 * (index + 1))
const nextLimits = 4

/**
 * A limit above the price: the greater of two different ones of the next four.
 * @param draw uniform in [0, 1)
 */
export function drawPriceLimit(price: number, draw: () => number): number {
  const above = limits.filter((limit) => limit > price).slice(0, nextLimits)
  if (above.length < 2) return noPriceLimit
  const first = Math.floor(draw() * above.length)
  const second = Math.floor(draw() * (above.length - 1))
  return above[Math.max(first, second < first ? second : second + 1)] ?? noPriceLimit
}

/** The limit in words, at the end of an instruction. */
export function priceLimitText(limit: number): string {
  return limit === noPriceLimit ? '' : `, and price lower than ${limit.toFixed(2)} dollars`
}
