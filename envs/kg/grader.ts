/**
 * How good an answer is: equal sets pay, and F1 says how near it came.
 *
 * Invariants
 * - The reward is 1 exactly when both sets have the same members, else 0.
 * - A set whose members are not all known is never right.
 */
import type { Members } from './graph/graph.ts'

export interface Grade {
  readonly reward: 0 | 1
  /** F1 = 2PR/(P + R) of precision P and recall R; 0 where nothing is common. */
  readonly f1: number
}

/** Grades members against the right answers. @example 2 of 4 right of 3: P 1/2, R 2/3, F1 4/7 */
export function grade({ values, complete }: Members, answers: ReadonlySet<string>): Grade {
  const common = [...values].filter((value) => answers.has(value)).length
  const equal = complete && common === values.size && common === answers.size
  // 2PR/(P + R) with P = c/v and R = c/a is 2c/(v + a).
  return { reward: equal ? 1 : 0, f1: common === 0 ? 0 : (2 * common) / (values.size + answers.size) }
}
