/**
 * How numbers are written for people: shares, durations, counts, bytes.
 *
 * Invariants
 * - The same on every machine, whatever its locale.
 * - A number that is not finite reads as `–`.
 */
const none = '–'

/** @example points(-0.4137) // '−41.4' */
export function points(difference: number): string {
  if (!Number.isFinite(difference)) return none
  return `${difference < 0 ? '−' : '+'}${Math.abs(difference * 100).toFixed(1)}`
}

/** @example count(1234567) // '1,234,567' */
export function count(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString('en-US') : none
}

/** How long a run took, or has taken so far: from when it was started, breaks included, until it ended. */
export function runSeconds(
  { created, ended }: { created: number; ended?: number | undefined },
  now: number,
): number {
  return ((ended ?? now) - created) / 1000
}

/** @example duration(250) // '4 min 10 s' */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return none
  const whole = Math.max(0, Math.round(seconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, '0')} min`
  if (minutes > 0) return `${minutes} min ${String(whole % 60).padStart(2, '0')} s`
  return `${whole} s`
}

/** @example bytes(12_345_678) // '12.3 MB' */
export function bytes(value: number): string {
  if (!Number.isFinite(value)) return none
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let at = 0
  let rest = value
  while (rest >= 1000 && at < units.length - 1) {
    rest /= 1000
    at++
  }
  return `${at === 0 ? rest : rest.toFixed(1)} ${units[at]}`
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
