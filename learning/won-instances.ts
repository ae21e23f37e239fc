/**
 * Won instances: which instances of a split were won by all episodes of their last group, so that they may be played less often.
 *
 * Invariants
 * - [WON-INSTANCES-1] An instance that was not won is never passed over; one that was is, with the probability that the rule says,
 *   drawn for each of its turns by the run's seed.
 * - [WON-INSTANCES-2] What is remembered of all tasks is bounded, whatever the splits: larger splits are not followed.
 */

/** Instances of all tasks that are remembered at most; four of them take a character. */
const mostRemembered = 65_536

/** Instances of a split of each of so many tasks that are remembered at most. */
export function mostFollowed(tasks: number): number {
  return Math.floor(mostRemembered / Math.max(1, tasks))
}

/** Nothing won yet. @returns hexadecimal digits, each of four instances */
export function noneWon(size: number): string {
  return '0'.repeat(Math.ceil(size / 4))
}

/** Whether the instance was won when it was last played. */
export function isWonIn(won: string, instance: number): boolean {
  return (Number.parseInt(won[Math.floor(instance / 4)] ?? '0', 16) & (1 << (instance % 4))) !== 0
}

/** What is remembered once the instance was played. @example withOutcome('0', 1, true) // '2' */
export function withOutcome(won: string, instance: number, isWon: boolean): string {
  const at = Math.floor(instance / 4)
  const bit = 1 << (instance % 4)
  const before = Number.parseInt(won[at] ?? '0', 16)
  const digit = (isWon ? before | bit : before & ~bit).toString(16)
  return won.slice(0, at) + digit + won.slice(at + 1)
}

/**
 * The first position from one on whose instance is played.
 * @param wonAgain probability that a won instance is played when its turn comes
 * @param draw a uniform in [0, 1) for a position, the same each time
 * @returns at most a round further, so that something is played where all is won
 */
export function nextPosition(
  position: number,
  { size, won }: { readonly size: number; readonly won: string },
  wonAgain: number,
  draw: (position: number) => number,
): number {
  for (let next = position; next < position + size; next++)
    if (!isWonIn(won, next % size) || draw(next) < wonAgain) return next
  return position + size
}
