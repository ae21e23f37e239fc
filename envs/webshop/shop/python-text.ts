/**
 * Texts as Python writes them: the original shop is a Python program, and what it prints is what agents read.
 *
 * Invariants
 * - Each function gives, for every input, what the Python function that its doc names gives.
 */

// Blanks beyond ASCII. Python has U+0085 among them, and not U+FEFF; JavaScript has it the other way.
const wideBlank = /[\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

function isBlank(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  if (unit < 0x80) return (unit >= 0x09 && unit <= 0x0d) || (unit >= 0x1c && unit <= 0x20)
  return wideBlank.test(text.charAt(at))
}

/** `str.strip()` */
export function strip(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text, start)) start++
  while (end > start && isBlank(text, end - 1)) end--
  return text.slice(start, end)
}

/** `repr` of a float. @example floatText(1) // '1.0' */
export function floatText(value: number): string {
  const size = Math.abs(value)
  if (Number.isInteger(value) && size < 1e16) return `${Object.is(value, -0) ? '-0' : value}.0`
  if (size >= 1e-4 && size < 1e16) return String(value)
  const [digits = '', exponent = ''] = value.toExponential().split('e')
  return `${digits}e${exponent.replace(/^([+-])(\d)$/, '$10$2')}`
}

/** Order of Python's strings: by code points, where JavaScript's is by UTF-16 units. */
export function compareText(one: string, other: string): number {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at++) {
    const left = one.charCodeAt(at)
    const right = other.charCodeAt(at)
    if (left === right) continue
    const leftSurrogate = left >= 0xd800 && left <= 0xdfff
    const rightSurrogate = right >= 0xd800 && right <= 0xdfff
    if (leftSurrogate !== rightSurrogate) return leftSurrogate ? 1 : -1
    return left - right
  }
  return one.length - other.length
}

/** Flask's `tojson` of texts by name: sorted, in ASCII, and safe within HTML. */
export function jsonText(values: ReadonlyMap<string, string>): string {
  const pairs = [...values].sort(([one], [other]) => compareText(one, other))
  return `{${pairs.map(([name, value]) => `${jsonString(name)}: ${jsonString(value)}`).join(', ')}}`
}

function jsonString(text: string): string {
  return JSON.stringify(text).replace(
    /[^ -~]|[<>&']/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }

/** `repr` of a str. @example textLiteral("it's") // '"it\'s"' */
export function textLiteral(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replace(/[\p{C}\p{Zl}\p{Zp}\p{Zs}\\'"]/gu, (character) => {
    if (character === ' ') return character
    if (character === '"' || character === "'") return character === quote ? `\\${character}` : character
    const short = shortEscapes[character]
    if (short !== undefined) return short
    const point = character.codePointAt(0) ?? 0
    if (point < 0x100) return `\\x${point.toString(16).padStart(2, '0')}`
    if (point < 0x10000) return `\\u${point.toString(16).padStart(4, '0')}`
    return `\\U${point.toString(16).padStart(8, '0')}`
  })
  return `${quote}${inner}${quote}`
}
