/**
 * Fields that several sections of the configuration have in common: numbers within bounds.
 *
 * Invariants
 * - A setting that may change while a run trains is as the table of live settings says.
 */
import { z } from 'zod'
import {
  type LiveKey,
  type LiveNames,
  type LiveSetting,
  liveSettings,
  rowsOf,
} from '../../learning/run/live-settings.ts'

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

/** A live setting with its bounds alone. */
function bounded({ whole, atLeast, above, atMost, below }: LiveSetting['schema']): z.ZodNumber {
  let field: z.ZodNumber = whole === true ? z.int() : z.number()
  if (atLeast !== undefined) field = field.min(atLeast)
  if (above !== undefined) field = field.gt(above)
  if (atMost !== undefined) field = field.max(atMost)
  if (below !== undefined) field = field.lt(below)
  return field
}

type Live<Key extends LiveKey> = (typeof liveSettings)[Key]['default'] extends null
  ? z.ZodOptional<z.ZodNumber>
  : z.ZodDefault<z.ZodNumber>

/** A setting that may change while a run trains. */
export function live<Key extends LiveKey>(key: Key): Live<Key> {
  const { schema, default: given, words }: LiveSetting = liveSettings[key]
  const field = bounded(schema)
  return (given === null ? field.optional() : field.default(given)).describe(words) as Live<Key>
}

/** The learning settings that may change while a run trains. */
export function liveLearning() {
  return Object.fromEntries(rowsOf('learning').map(([name]) => [name, live(`learning.${name}`)])) as {
    readonly [Name in LiveNames<'learning'>]: z.ZodDefault<z.ZodNumber>
  }
}
