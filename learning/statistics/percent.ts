/**
 * How a share is written for people, the same in the command line, the Temporal UI and messages.
 *
 * Invariants
 * - A number that is not finite is no figure, and reads as a dash.
 */

/** @param digits after the point. @example percent(0.4137) // '41.4 %' */
export function percent(share: number, digits = 1): string {
  return Number.isFinite(share) ? `${(100 * share).toFixed(digits)} %` : '–'
}
