/**
 * How numbers are written for people at a terminal: shares, durations, counts, bytes.
 *
 * Invariants
 * - The same on every machine, whatever its locale.
 * - A number that is not finite reads as `–`.
 */
export {
  bytes,
  count,
  differenceWords,
  duration,
  points,
  pointsBetween,
} from '../../learning/statistics/figures.ts'

/** How long a run took, or has taken so far: from when it was started, breaks included, until it ended. */
export function runSeconds(
  { created, ended }: { created: number; ended?: number | undefined },
  now: number,
): number {
  return ((ended ?? now) - created) / 1000
}

/** Time of day, local, e.g. `14:03:07`. */
export function timeOfDay(milliseconds: number): string {
  const date = new Date(milliseconds)
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}

/** A text in lines of so many characters; a longer word has a line of its own. */
export function inLines(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
