/**
 * Whether committed answers are the right ones.
 *
 * Rules
 * - As many answers as there are right values, each right value answered by one of them; order is free.
 * - Blanks and quotation marks around a value do not count; upper and lower case do.
 * - Null words (`none`, `null`, `undefined`, `nan`, nothing at all) equal one another and nothing else:
 *   `null` is not `0`.
 * - Numbers are decimal, with commas between thousands and a percent sign at will. Two are equal when they
 *   differ by less than one unit in the last place of the one with fewer decimals, which is taken to have
 *   two at least.
 * - Whole dates are equal when they are the same day: `2001-02-03` (also with the time 00:00:00, or as
 *   `datetime.date(2001, 2, 3)`), `February 3, 2001`, `3 February 2001`. Days and months in figures alone
 *   (`03/02/2001`) are text.
 * - All else is text and equal to the letter, after Unicode normalization (NFC).
 *
 * Invariants
 * - No text is evaluated as code.
 */

/** Whether the answers are the right ones, by the rules above. */
export function sameAnswers(answers: readonly string[], right: readonly string[]): boolean {
  if (answers.length !== right.length) return false
  const values = answers.map(readAnswer)
  const rightValues = right.map(readAnswer)
  // Without numbers equality is one of keys, and counting is enough, however many there are.
  if (rightValues.every(({ kind }) => kind !== 'number')) return sameCounts(values, rightValues)
  if (right.length > largestMatching) return false
  return matches(values, rightValues)
}

// Equality of numbers is not transitive, so numbers are matched, in time cubic in their number.
const largestMatching = 500

type Answer =
  | { readonly kind: 'null' }
  | { readonly kind: 'number'; readonly value: number; readonly decimals: number }
  | { readonly kind: 'date'; readonly day: string }
  | { readonly kind: 'text'; readonly text: string }

const nullWords = new Set(['', 'none', 'null', 'undefined', 'nan'])

/** Parses the text of an answer as a value. */
export function readAnswer(given: string): Answer {
  const text = unquoted(given).normalize('NFC')
  if (nullWords.has(text.toLowerCase())) return { kind: 'null' }
  return readNumber(text) ?? readDate(text) ?? { kind: 'text', text }
}

function unquoted(text: string): string {
  const trimmed = text.trim()
  let start = 0
  let end = trimmed.length
  while (start < end && isQuote(trimmed[start])) start++
  while (end > start && isQuote(trimmed[end - 1])) end--
  return trimmed.slice(start, end).trim()
}

function isQuote(character: string | undefined): boolean {
  return character === '"' || character === "'"
}

const numberPattern = /^([+-]?)(\d{1,3}(?:,\d{3})+|\d+)?(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))? ?%?$/
// No number worth comparing is longer, and the agent decides the length of the text.
const longestNumber = 60

function readNumber(text: string): Answer | undefined {
  if (text.length > longestNumber) return undefined
  const [all, sign = '', whole = '', fraction = '', exponent = '0'] = numberPattern.exec(text) ?? []
  if (all === undefined || (whole === '' && fraction === '')) return undefined
  const value = Number(`${sign}${whole.replaceAll(',', '')}.${fraction}e${exponent}`)
  // Zeros at the end claim nothing: 5.0 is as precise as 5.
  const decimals = Math.max(0, fraction.replace(/0+$/, '').length - Number(exponent))
  return Number.isFinite(value) ? { kind: 'number', value, decimals } : undefined
}

const months = 'january february march april may june july august september october november december'.split(
  ' ',
)
const isoDate = /^(\d{4})-(\d{2})-(\d{2})(?:[ T]00:00:00)?$/
const pythonDate = /^datetime\.date\((\d{4}), (\d{1,2}), (\d{1,2})\)$/
const monthFirst = /^([a-z]{3,9})\.? (\d{1,2}) ?, ?(\d{4})$/i
const dayFirst = /^(\d{1,2}) ([a-z]{3,9})\.?,? (\d{4})$/i

function readDate(text: string): Answer | undefined {
  const figures = isoDate.exec(text) ?? pythonDate.exec(text)
  if (figures !== null) return date(Number(figures[1]), Number(figures[2]), Number(figures[3]))
  const [, name, day, year] = monthFirst.exec(text) ?? []
  if (name !== undefined) return date(Number(year), monthNamed(name), Number(day))
  const [, day2, name2, year2] = dayFirst.exec(text) ?? []
  if (name2 !== undefined) return date(Number(year2), monthNamed(name2), Number(day2))
  return undefined
}

function monthNamed(name: string): number {
  const lower = name.toLowerCase()
  return months.findIndex((month) => month === lower || month.slice(0, 3) === lower) + 1
}

function date(year: number, month: number, day: number): Answer | undefined {
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
  if (month < 1 || month > 12 || day < 1 || day > lastDay) return undefined
  return { kind: 'date', day: `${year}-${month}-${day}` }
}

function sameNumber(
  left: { readonly value: number; readonly decimals: number },
  right: { readonly value: number; readonly decimals: number },
): boolean {
  if (left.value === right.value) return true
  const unit = 10 ** -Math.max(2, Math.min(left.decimals, right.decimals))
  // Doubles of decimals are off by a little: a difference of one whole unit must not pass for less.
  return Math.abs(left.value - right.value) < unit * (1 - 1e-6)
}

function sameAnswer(left: Answer, right: Answer): boolean {
  if (left.kind === 'number' && right.kind === 'number') return sameNumber(left, right)
  return keyOf(left) === keyOf(right)
}

function keyOf(answer: Answer): string {
  switch (answer.kind) {
    case 'null':
      return 'null'
    case 'number':
      return `number ${answer.value}`
    case 'date':
      return `date ${answer.day}`
    case 'text':
      return `text ${answer.text}`
  }
}

function sameCounts(left: readonly Answer[], right: readonly Answer[]): boolean {
  const counts = new Map<string, number>()
  for (const answer of right) counts.set(keyOf(answer), (counts.get(keyOf(answer)) ?? 0) + 1)
  return left.every((answer) => {
    const count = counts.get(keyOf(answer)) ?? 0
    counts.set(keyOf(answer), count - 1)
    return count > 0
  })
}

/** A perfect matching by augmenting paths. */
function matches(left: readonly Answer[], right: readonly Answer[]): boolean {
  const matched = new Map<number, number>()
  function place(position: number, seen: Set<number>): boolean {
    const answer = left[position]
    if (answer === undefined) return false
    for (const [at, value] of right.entries()) {
      if (seen.has(at) || !sameAnswer(answer, value)) continue
      seen.add(at)
      const other = matched.get(at)
      if (other === undefined || place(other, seen)) {
        matched.set(at, position)
        return true
      }
    }
    return false
  }
  return left.every((_, position) => place(position, new Set()))
}
