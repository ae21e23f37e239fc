/**
 * The error of a setting's value, in the words that a configuration, the command line and a running run share.
 *
 * Invariants
 * - It names the key, shows the value and says what would be right.
 */

/** A value as it is shown to a person; of a long one the beginning. */
export function shownValue(value: unknown): string {
  // JSON has no word for what is no finite number.
  if (typeof value === 'number') return String(value)
  return excerpt(JSON.stringify(value) ?? String(value))
}

/** The beginning of a text that may be long. */
export function excerpt(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}

/** The sentence about a wrong value. @param shown the value as text @param allowed the allowed values, in words */
export function wrongValueWords(key: string, shown: string, allowed: string): string {
  return `\`${key}\` is ${shown}: expected ${allowed}`
}
