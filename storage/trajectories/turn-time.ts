/**
 * Time of half a turn: its sampling, or the environment's step. It is stored beside the half, as its first writer measured it.
 *
 * Invariants
 * - [TURNTIME-1] It is no part of the trajectory: neither the seal nor the result of a second execution depends on it.
 * - Nullable: turns that a branch copies have none.
 */
export interface TurnTime {
  readonly seconds: number
  /** Which try of the activity stored it, from 1 on. */
  readonly attempt: number
}

/** The time in a stored row. */
export function turnTimeOf({
  seconds,
  attempt,
}: {
  readonly seconds: number | null
  readonly attempt: number | null
}): TurnTime | undefined {
  return seconds === null || attempt === null ? undefined : { seconds, attempt }
}
