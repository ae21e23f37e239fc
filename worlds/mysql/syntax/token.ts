/**
 * MySQL's tokens.
 *
 * Invariants
 * - Every text gives tokens or a SyntaxFailure; none is skipped but blanks and comments.
 * - A string's value has its escapes undone as MySQL does; a quoted name's value its doubled quotes.
 * - A token knows where it is, so that a failure can quote the text from there on.
 */

/** One token; `start` is its place in the text. */
export type Token =
  | { readonly kind: 'word'; readonly text: string; readonly upper: string; readonly start: number }
  | { readonly kind: 'name'; readonly text: string; readonly start: number }
  | { readonly kind: 'string'; readonly text: string; readonly start: number }
  | { readonly kind: 'number'; readonly text: string; readonly start: number }
  | { readonly kind: 'bytes'; readonly text: string; readonly start: number }
  | { readonly kind: 'variable'; readonly text: string; readonly start: number }
  | { readonly kind: 'symbol'; readonly text: string; readonly start: number }
  | { readonly kind: 'end'; readonly text: ''; readonly start: number }

/** The text is no SQL from this place on. */
export class SyntaxFailure extends Error {
  override readonly name = 'SyntaxFailure'
  readonly kind = 'syntax'
  readonly start: number

  constructor(start: number) {
    super(`no SQL from character ${start} on`)
    this.start = start
  }
}

const blank = /\s+|#[^\n]*|--(?=\s|$)[^\n]*|\/\*[\s\S]*?\*\//y
const numeral = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y
// A name may begin with a digit, but `1e5` is a number and `12` too.
const bareName = /[\p{L}\p{N}_$\u0080-\uffff]+/uy
const variable = /@@?[\p{L}\p{N}_$.]*/uy
const hexadecimal = /0x([0-9a-fA-F]+)(?![\p{L}\p{N}_$])|[xX]'((?:[0-9a-fA-F]{2})*)'/uy
const symbol = /<=>|->>|:=|<=|>=|<>|!=|<<|>>|&&|\|\||->|[-+*/%=<>!(),.;&|^~{}?:[\]]/y

/** Splits a statement. @throws SyntaxFailure */
export function tokensOf(sql: string): readonly Token[] {
  const tokens: Token[] = []
  let at = 0

  function match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at
    return pattern.exec(sql)
  }

  while (at < sql.length) {
    const skipped = match(blank)
    if (skipped !== null) {
      at += skipped[0].length
      continue
    }
    const token = tokenAt()
    tokens.push(token.token)
    at = token.end
  }
  tokens.push({ kind: 'end', text: '', start: sql.length })
  return tokens

  function tokenAt(): { token: Token; end: number } {
    const start = at
    const character = sql[at] ?? ''
    if (character === "'" || character === '"') {
      const { text, end } = quoted(sql, at, true)
      return { token: { kind: 'string', text, start }, end }
    }
    if (character === '`') {
      const { text, end } = quoted(sql, at, false)
      if (text === '' && end - start !== 2) throw new SyntaxFailure(start)
      return { token: { kind: 'name', text, start }, end }
    }
    const bytes = match(hexadecimal)
    if (bytes !== null) {
      const digits = bytes[1] ?? bytes[2] ?? ''
      const text = digits.length % 2 === 0 ? digits : `0${digits}`
      return { token: { kind: 'bytes', text, start }, end: at + bytes[0].length }
    }
    if (character === '@') {
      const text = match(variable)?.[0] ?? ''
      return { token: { kind: 'variable', text, start }, end: at + text.length }
    }
    const number = match(numeral)?.[0] ?? ''
    // After a point digits are a name: `table`.2007
    const afterPoint = sql[at - 1] === '.' && tokens.at(-1)?.text === '.'
    const word = match(bareName)?.[0] ?? ''
    if (number !== '' && number.length >= word.length && !afterPoint)
      return { token: { kind: 'number', text: number, start }, end: at + number.length }
    if (word !== '')
      return { token: { kind: 'word', text: word, upper: word.toUpperCase(), start }, end: at + word.length }
    const text = match(symbol)?.[0]
    if (text === undefined) throw new SyntaxFailure(start)
    return { token: { kind: 'symbol', text, start }, end: at + text.length }
  }
}

const escaped: Readonly<Record<string, string>> = {
  '0': '\0',
  b: '\b',
  n: '\n',
  r: '\r',
  t: '\t',
  Z: '\u001a',
  // Kept with their backslash: they mean something to LIKE alone.
  '%': '\\%',
  _: '\\_',
}

function quoted(sql: string, start: number, backslash: boolean): { text: string; end: number } {
  const quote = sql[start]
  const parts: string[] = []
  let from = start + 1
  for (let at = from; at < sql.length; at++) {
    const character = sql[at]
    if (character === quote) {
      parts.push(sql.slice(from, at))
      if (sql[at + 1] !== quote) return { text: parts.join(''), end: at + 1 }
      parts.push(quote ?? '')
      at++
      from = at + 1
    } else if (character === '\\' && backslash) {
      parts.push(sql.slice(from, at))
      at++
      const next = sql[at] ?? ''
      parts.push(escaped[next] ?? next)
      from = at + 1
    }
  }
  throw new SyntaxFailure(start)
}
