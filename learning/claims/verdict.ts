/** Verdicts on claims, and their words. */
import { differenceOf } from '../statistics/figures.ts'

/** The verdicts, each with what the page marks it as. */
export const verdicts = {
  shown: 'won',
  level: 'won',
  'not shown': '',
  contradicted: 'lost',
} as const satisfies Record<string, 'won' | 'lost' | ''>

export type Verdict = keyof typeof verdicts

/** @example verdictWords({ verdict: 'level', within: 0.02 }, true) // 'level within ±2.0' */
export function verdictWords(
  { verdict, within }: { readonly verdict: Verdict; readonly within?: number },
  isShare: boolean,
): string {
  if (verdict !== 'level' || within === undefined) return verdict
  return `${verdict} within ${withinWords(within, isShare)}`
}

/** @example withinWords(0.02, true) // '±2.0' */
export function withinWords(within: number, isShare: boolean): string {
  return differenceOf(within, isShare).replace('+', '±')
}
