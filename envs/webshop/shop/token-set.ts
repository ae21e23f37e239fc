/**
 * Token-set ratio of two texts, as the Python package thefuzz computes it.
 *
 * Invariants
 * - The result is a whole number from 0 to 100, and the same whichever text comes first.
 * - Order and repetition of words do not matter; a text whose words are all in the other one gives 100.
 */
import { compareText } from './python-text.ts'

/** Words of a text: lower case, without the characters U+0080 to U+00FF, cut at all but letters and digits. */
function tokensOf(text: string): Set<string> {
  const words = text
    .replace(/[\u0080-\u00ff]/g, '')
    // A letter stays one letter, which Turkish İ does not in JavaScript.
    .replace(/\u0130/g, 'i')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu)
  return new Set(words)
}

/** Length of the longest common subsequence. */
function commonLength(one: readonly string[], other: readonly string[]): number {
  let before = new Uint32Array(other.length + 1)
  let row = new Uint32Array(other.length + 1)
  for (const character of one) {
    for (let at = 0; at < other.length; at++)
      row[at + 1] =
        character === other[at] ? (before[at] ?? 0) + 1 : Math.max(before[at + 1] ?? 0, row[at] ?? 0)
    ;[before, row] = [row, before]
  }
  return before[other.length] ?? 0
}

/** Rounds halves to even, as Python does. */
function rounded(value: number): number {
  const below = Math.floor(value)
  if (value - below !== 0.5) return Math.round(value)
  return below % 2 === 0 ? below : below + 1
}

/** @returns 0 to 100; 0 where a text has no words */
export function tokenSetRatio(one: string, other: string): number {
  const left = tokensOf(one)
  const right = tokensOf(other)
  if (left.size === 0 || right.size === 0) return 0
  const common = [...left].filter((token) => right.has(token))
  const onlyLeft = [...left].filter((token) => !right.has(token)).sort(compareText)
  const onlyRight = [...right].filter((token) => !left.has(token)).sort(compareText)
  if (common.length > 0 && (onlyLeft.length === 0 || onlyRight.length === 0)) return 100
  const leftRest = Array.from(onlyLeft.join(' '))
  const rightRest = Array.from(onlyRight.join(' '))
  const commonSize = Array.from(common.join(' ')).length
  const gap = commonSize > 0 ? 1 : 0
  const whole = 2 * (commonSize + gap) + leftRest.length + rightRest.length
  const distance = leftRest.length + rightRest.length - 2 * commonLength(leftRest, rightRest)
  const similarity = (far: number, size: number): number => (1 - far / size) * 100
  let best = similarity(distance, whole)
  if (commonSize > 0)
    for (const rest of [leftRest.length, rightRest.length])
      best = Math.max(best, similarity(gap + rest, 2 * commonSize + gap + rest))
  return rounded(best)
}
