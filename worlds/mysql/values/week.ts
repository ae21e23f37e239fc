/**
 * Weeks of a year in MySQL's eight modes.
 *
 * Invariants
 * - The bits of a mode mean: weeks begin on Monday, the year may be another one, week 1 has its first weekday.
 */
import { dayNumber, type Temporal } from './temporal.ts'

const mondayFirst = 1
const ownYear = 2
const firstWeekday = 4

/** The bits of the mode that WEEK() is given. */
export function weekMode(given: number): number {
  const mode = given & 7
  return mode & mondayFirst ? mode : mode ^ firstWeekday
}

export const weekModes = {
  U: firstWeekday,
  u: mondayFirst,
  V: ownYear | firstWeekday,
  v: ownYear | mondayFirst,
} as const

/** 0 is Monday, or Sunday where weeks begin on it. */
export function weekdayOf(days: number, sundayFirst = false): number {
  return (days + 5 + (sundayFirst ? 1 : 0)) % 7
}

export function daysInYear(year: number): number {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 366 : 365
}

export interface Week {
  readonly week: number
  readonly year: number
}

export function weekOf({ year: given, month, day, days: number }: Temporal, mode: number): Week {
  let year = given
  let first = dayNumber(year, 1, 1)
  let isOwnYear = (mode & ownYear) !== 0
  let weekday = weekdayOf(first, (mode & mondayFirst) === 0)
  const begins = () => ((mode & firstWeekday) !== 0 ? weekday === 0 : weekday < 4)
  if (month === 1 && day <= 7 - weekday) {
    if (!isOwnYear && !begins()) return { week: 0, year }
    if (!begins()) {
      isOwnYear = true
      year--
      const days = daysInYear(year)
      first -= days
      weekday = (weekday + 53 * 7 - days) % 7
    }
  }
  const days = begins() ? number - (first - weekday) : number - (first + 7 - weekday)
  if (isOwnYear && days >= 52 * 7) {
    weekday = (weekday + daysInYear(year)) % 7
    if (begins()) return { week: 1, year: year + 1 }
  }
  return { week: Math.floor(days / 7) + 1, year }
}
