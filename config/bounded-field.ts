/**
 * Fields that several sections of the configuration have in common: numbers within bounds.
 *
 * Invariants
 * - A field that may change while a run trains has its bounds from the one table of them.
 */
import { z } from 'zod'
import { type Bounds, liveBounds } from '../learning/bounds.ts'

/** A share, or a probability. */
export const probability = z.number().min(0).max(1)

export const whole = (min: number, max: number) => z.int().min(min).max(max)
/** How many there are, maybe none. */
export const amount = (max: number) => whole(0, max)
/** How many there are, at least one. */
export const count = (max: number) => whole(1, max)
export const positive = (max: number) => z.number().positive().max(max)
/** Words that are not empty. */
export const text = z.string().min(1)

/** A setting that may change while a run trains. */
export function live(key: keyof typeof liveBounds): z.ZodNumber {
  const { whole, atLeast, above, atMost, below }: Bounds = liveBounds[key]
  let field: z.ZodNumber = whole === true ? z.int() : z.number()
  if (atLeast !== undefined) field = field.min(atLeast)
  if (above !== undefined) field = field.gt(above)
  if (atMost !== undefined) field = field.max(atMost)
  if (below !== undefined) field = field.lt(below)
  return field
}
