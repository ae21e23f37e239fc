/**
 * The clock of the embedded databases.
 *
 * Invariants
 * - It is stopped, so that a session that is played again says the same.
 */
import { momentOf, Temporal } from './values/temporal.ts'

export const now = new Temporal('datetime', { year: 2024, month: 1, day: 1 })
/** The same in seconds since 1970. */
export const nowSeconds = Date.UTC(2024, 0, 1) / 1000

/** A time as the moment that it is today. */
export function today(time: Temporal): Temporal | undefined {
  return momentOf(now.days, time.seconds, time.negative ? -time.micro : time.micro, 'datetime')
}
