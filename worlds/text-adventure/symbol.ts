/**
 * The symbols of a text grammar: what is on the right of its rules.
 *
 * Invariants
 * - Reading follows the official parser: it stops silently at the first character that fits no symbol,
 *   leaves out tabs before symbols, and at the start of a line also blanks and `//` comments.
 */
import { TextAdventureFault } from './fault.ts'

/** A placeholder of a condition, `r:receptacle`. */
interface Placeholder {
  readonly name: string
  readonly type: string
}

/** A fact with placeholders; `not_p` asks for facts that actions took away. */
export interface Pattern {
  readonly predicate: string
  readonly placeholders: readonly Placeholder[]
}

/** Facts that must hold together; different placeholders stand for different objects. */
export type Query = readonly Pattern[]

/** A small expression over objects: `o.indefinite + ' ' + o.name`. */
export type Value =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'object'; readonly name: string; readonly attribute: string | undefined }
  | { readonly kind: 'sum' | 'either'; readonly left: Value; readonly right: Value }

export type TextSymbol =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'rule'; readonly name: string }
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'each'; readonly symbol: TextSymbol; readonly given: Query | undefined }
  | { readonly kind: 'list'; readonly symbol: TextSymbol & { readonly kind: 'each' } }

/** Reads the right side of a rule. @throws TextAdventureFault bad_data for an expression that is not supported */
export function parseSymbols(text: string): TextSymbol[] {
  const symbols: TextSymbol[] = []
  let at = 0
  for (;;) {
    at = skipBlanks(text, at)
    const read = readList(text, at) ?? readEach(text, at) ?? readRule(text, at) ?? readText(text, at)
    if (read.end === at) return symbols
    symbols.push(read.symbol)
    at = read.end
  }
}

interface Read<Kind extends TextSymbol = TextSymbol> {
  readonly symbol: Kind
  readonly end: number
}

type Each = TextSymbol & { readonly kind: 'each' }

function skipBlanks(text: string, start: number): number {
  let at = start
  for (;;) {
    const before = at
    while (text[at] === '\t') at++
    if (at === 0 || text[at - 1] === '\n') at += /^(\/\/.*|\s*)\n?/.exec(text.slice(at))?.[0].length ?? 0
    if (at === before) return at
  }
}

function readList(text: string, start: number): Read | undefined {
  if (text[start] !== '[') return undefined
  const inner = readEach(text, skipBlanks(text, start + 1))
  if (inner === undefined || text[inner.end] !== ']') return undefined
  return { symbol: { kind: 'list', symbol: inner.symbol }, end: inner.end + 1 }
}

function readEach(text: string, start: number): Read<Each> | undefined {
  if (text[start] !== '{') return undefined
  const at = skipBlanks(text, start + 1)
  const inner = readRule(text, at) ?? readValue(text, at)
  if (inner === undefined) return undefined
  const given = /^\s*\|\s*([^;|{}\n[\]#]+)/.exec(text.slice(inner.end))
  const end = inner.end + (given?.[0].length ?? 0)
  if (text[end] !== '}') return undefined
  const query = given?.[1] === undefined ? undefined : parseQuery(given[1])
  return { symbol: { kind: 'each', symbol: inner.symbol, given: query }, end: end + 1 }
}

function readRule(text: string, start: number): Read | undefined {
  const match = /^#([\w()/!<>\-\s,.]+)#/.exec(text.slice(start))
  if (match?.[1] === undefined) return undefined
  return { symbol: { kind: 'rule', name: match[1] }, end: start + match[0].length }
}

function readValue(text: string, start: number): Read | undefined {
  const statement = /^[^|[\]{}\n<>]+/.exec(text.slice(start))?.[0]
  if (statement === undefined) return undefined
  return { symbol: { kind: 'value', value: parseValue(statement) }, end: start + statement.length }
}

function readText(text: string, start: number): Read {
  const quoted = /^"([^;|"<>[\]#{}]*)"/.exec(text.slice(start))
  const literal = quoted?.[1] ?? /^[^;|"<>[\]#{}]*/.exec(text.slice(start))?.[0] ?? ''
  const end = start + (quoted?.[0].length ?? literal.length)
  return { symbol: { kind: 'text', text: literal.replaceAll('\\n', '\n') }, end }
}

/** Reads `p(a:t, b:u) & q(a:t)`. @throws TextAdventureFault bad_data */
export function parseQuery(text: string): Query {
  return text.split('&').map((part) => {
    const match = /^\s*(!?[\w/]+)\s*\(([^()]*)\)\s*$/.exec(part)
    if (match?.[1] === undefined)
      throw new TextAdventureFault('bad_data', `text grammar: cannot read condition "${text}"`)
    const placeholders =
      (match[2] ?? '').trim() === '' ? [] : (match[2] ?? '').split(',').map(parsePlaceholder)
    return { predicate: match[1], placeholders }
  })
}

function parsePlaceholder(text: string): Placeholder {
  const match = /^\s*([\w']+)\s*(?::\s*([\w/-]+)\s*)?$/.exec(text)
  if (match?.[1] === undefined)
    throw new TextAdventureFault('bad_data', `text grammar: cannot read placeholder "${text}"`)
  return { name: match[1], type: match[2] ?? match[1].replace(/'+$/, '') }
}

const valueToken = /\s*(?:'([^']*)'|"([^"]*)"|([A-Za-z_]\w*)|([.+()]))/y

/** Reads an expression of `+`, `or`, brackets, texts and attributes of objects. @throws TextAdventureFault bad_data */
function parseValue(statement: string): Value {
  const tokens: { text?: string; word?: string; sign?: string }[] = []
  const source = statement.trim()
  valueToken.lastIndex = 0
  while (valueToken.lastIndex < source.length) {
    const match = valueToken.exec(source)
    if (match === null) throw unreadable(statement)
    const text = match[1] ?? match[2]
    if (text !== undefined) tokens.push({ text })
    else if (match[3] !== undefined) tokens.push({ word: match[3] })
    else if (match[4] !== undefined) tokens.push({ sign: match[4] })
  }
  let at = 0
  function either(): Value {
    let value = sum()
    while (tokens[at]?.word === 'or') {
      at++
      value = { kind: 'either', left: value, right: sum() }
    }
    return value
  }
  function sum(): Value {
    let value = single()
    while (tokens[at]?.sign === '+') {
      at++
      value = { kind: 'sum', left: value, right: single() }
    }
    return value
  }
  function single(): Value {
    const token = tokens[at++]
    if (token?.text !== undefined) return { kind: 'text', text: token.text }
    if (token?.sign === '(') {
      const value = either()
      if (tokens[at++]?.sign !== ')') throw unreadable(statement)
      return value
    }
    if (token?.word === undefined || token.word === 'or') throw unreadable(statement)
    if (tokens[at]?.sign !== '.') return { kind: 'object', name: token.word, attribute: undefined }
    const attribute = tokens[at + 1]?.word
    if (attribute === undefined) throw unreadable(statement)
    at += 2
    return { kind: 'object', name: token.word, attribute }
  }
  const value = either()
  if (at !== tokens.length) throw unreadable(statement)
  return value
}

function unreadable(statement: string): TextAdventureFault {
  return new TextAdventureFault('bad_data', `text grammar: cannot read expression "${statement}"`)
}
