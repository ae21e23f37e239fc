/**
 * MySQL's functions of texts.
 *
 * Invariants
 * - Positions count characters from 1; LENGTH counts bytes.
 * - No result is longer than a value may be.
 * - Neither case nor accents count; positions are characters from 1.
 */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { valueBytes } from '../budget.ts'
import { withinLimit } from '../expressions/match-limit.ts'
import { compiled, matchesPattern } from '../expressions/pattern.ts'
import type { Compiled } from '../expressions/scope.ts'
import { notSupported, refuse, tooLarge } from '../failure.ts'
import { Decimal } from '../values/decimal.ts'
import { binaryTextType, bytesType, integerType, type Type, textType, unsignedType } from '../values/type.ts'
import {
  compareTexts,
  foldText,
  type Present,
  toBytes,
  toText,
  toWhole,
  truth,
  type Value,
} from '../values/value.ts'
import type { FunctionRule, FunctionTable } from './function-rule.ts'

/** Refuses a text that is longer than a value may be. @throws StatementRefused */
export function bounded(text: string): string {
  if (text.length > valueBytes) refuse(tooLarge)
  return text
}

function sameText([first]: readonly Compiled[]): Type {
  return first?.type.binary ? binaryTextType : first?.type.kind === 'bytes' ? bytesType : textType
}

function text(takes: string, call: FunctionRule['call']): FunctionRule {
  return { takes, gives: textType, call }
}

function whole(takes: string, call: FunctionRule['call']): FunctionRule {
  return { takes, gives: integerType, call }
}

function part(given: string, start: number, count = Number.MAX_SAFE_INTEGER): string {
  const letters = [...given]
  const first = start < 0 ? letters.length + start : start - 1
  if (start === 0 || first < 0) return ''
  return letters.slice(first, first + Math.max(0, count)).join('')
}

/** Letters whose capital is more than one letter stay. */
function upper(given: string): string {
  return [...given]
    .map((letter) => (letter.toUpperCase().length > letter.length ? letter : letter.toUpperCase()))
    .join('')
}

/** Position of a text in another one by the collation, from 1; 0 where it is not. */
function found(needle: string, hay: string, from = 1): bigint {
  const [wanted, letters] = [[...foldText(needle)].join(''), [...foldText(hay)]]
  if (from < 1 || from > letters.length + 1) return 0n
  const rest = letters.slice(from - 1).join('')
  const at = rest.indexOf(wanted)
  return at < 0 ? 0n : BigInt([...rest.slice(0, at)].length + from)
}

function repeated(given: string, count: number): string {
  if (count > 0 && given.length * count > valueBytes) refuse(tooLarge)
  return given.repeat(Math.max(0, count))
}

function padded(given: string, length: number, filling: string, left: boolean): Value {
  const letters = [...given]
  if (length < 0) return null
  if (length <= letters.length) return letters.slice(0, length).join('')
  if (length > valueBytes) refuse(tooLarge)
  const fill = [...filling]
  if (fill.length === 0) return ''
  const padding = Array.from(
    { length: length - letters.length },
    (_, at) => fill[at % fill.length] ?? '',
  ).join('')
  return left ? padding + given : given + padding
}

function replaced(given: string, from: string, to: string): string {
  if (from === '') return given
  const parts = given.split(from)
  if (given.length + (parts.length - 1) * (to.length - from.length) > valueBytes) refuse(tooLarge)
  return parts.join(to)
}

function trimmed(given: string, remove: string, ends: string): string {
  let text = given
  if (remove === '') return text
  while (ends !== 'TRAILING' && text.startsWith(remove)) text = text.slice(remove.length)
  while (ends !== 'LEADING' && text.endsWith(remove)) text = text.slice(0, text.length - remove.length)
  return text
}

function substringIndex(given: string, mark: string, count: number): string {
  if (mark === '' || count === 0) return ''
  const parts = given.split(mark)
  return (count > 0 ? parts.slice(0, count) : parts.slice(Math.max(0, parts.length + count))).join(mark)
}

function inserted(given: string, start: number, length: number, other: string): string {
  const letters = [...given]
  if (start < 1 || start > letters.length) return given
  const end = length < 0 || start - 1 + length > letters.length ? letters.length : start - 1 + length
  return bounded(letters.slice(0, start - 1).join('') + other + letters.slice(end).join(''))
}

const soundexCodes = '01230120022455012623010202'

function soundex(given: string): string {
  const capitals = given.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())
  const letters = [...capitals].filter((letter) => /[A-Z\u0080-\uffff]/.test(letter))
  const [first] = letters
  if (first === undefined) return ''
  const codeOf = (letter: string) => soundexCodes[letter.charCodeAt(0) - 65] ?? '0'
  let result = first
  let last = codeOf(first)
  for (const letter of letters.slice(1)) {
    const code = codeOf(letter)
    if (code === '0' && 'HW'.includes(letter)) continue
    if (code !== '0' && code !== last) result += code
    last = code
  }
  return result.padEnd(4, '0')
}

function hash(name: string): (given: Uint8Array) => string {
  return (given) => createHash(name).update(given).digest('hex')
}

const sha2Names: Readonly<Record<number, string>> = {
  0: 'sha256',
  224: 'sha224',
  256: 'sha256',
  384: 'sha384',
  512: 'sha512',
}

function sha2(given: Uint8Array, bits: number): Value {
  const name = sha2Names[bits]
  return name === undefined ? null : hash(name)(given)
}

function quoted(given: string | null): string {
  if (given === null) return 'NULL'
  const escapes: Readonly<Record<string, string>> = { '\0': '\\0', '\u001a': '\\Z', "'": "\\'", '\\': '\\\\' }
  return bounded(`'${given.replaceAll(/['\\]|\p{Cc}/gu, (letter) => escapes[letter] ?? letter)}'`)
}

function base64(given: Uint8Array): string {
  return bounded(
    (
      Buffer.from(given)
        .toString('base64')
        .match(/.{1,76}/g) ?? []
    ).join('\n'),
  )
}

function fromBase64(given: string): Value {
  const letters = given.replaceAll(/\s/g, '')
  if (letters.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(letters)) return null
  return new Uint8Array(Buffer.from(letters, 'base64'))
}

/** Digits to base 16 of a number, or of the bytes of any other value. */
function hexOf(value: Present): string {
  if (typeof value === 'bigint' || typeof value === 'number' || value instanceof Decimal)
    return BigInt.asUintN(64, toWhole(value)).toString(16).toUpperCase()
  const bytes = toBytes(value)
  return bounded(Buffer.from(bytes).toString('hex').toUpperCase())
}

function unhex(given: string): Value {
  const digits = given.length % 2 === 0 ? given : `0${given}`
  return /^[0-9a-fA-F]*$/.test(digits) ? new Uint8Array(Buffer.from(digits, 'hex')) : null
}

function ordOf(given: string): bigint {
  const [first = ''] = [...given]
  return [...toBytes(first)].reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
}

function charOf(...codes: readonly (bigint | null)[]): Uint8Array {
  const bytes: number[] = []
  for (const code of codes) {
    if (code === null) continue
    const four = Number(BigInt.asUintN(32, code))
    const parts = [four >>> 24, (four >>> 16) & 255, (four >>> 8) & 255, four & 255]
    const start = parts.findIndex((byte) => byte !== 0)
    bytes.push(...(start < 0 ? [0] : parts.slice(start)))
  }
  return new Uint8Array(bytes)
}

function concatenated(separator: string, parts: readonly string[]): string {
  return bounded(parts.join(separator))
}

function exported(bits: bigint, on: string, off: string, separator = ',', count = 64): string {
  const parts = Array.from({ length: Math.min(64, Math.max(0, count)) }, (_, at) =>
    (bits >> BigInt(at)) & 1n ? on : off,
  )
  return concatenated(separator, parts)
}

export const textFunctions: FunctionTable = {
  CONCAT: {
    takes: 'any...',
    gives: (args) => (args.some(({ type }) => type.kind === 'bytes') ? bytesType : textType),
    call: (...parts: never[]) =>
      concatenated(
        '',
        parts.map((value) => toText(value)),
      ),
  },
  CONCAT_WS: {
    takes: 'text text...',
    gives: textType,
    seesNull: true,
    call: (separator: string | null, ...parts: (string | null)[]) =>
      separator === null
        ? null
        : concatenated(
            separator,
            parts.filter((part) => part !== null),
          ),
  },
  UPPER: { takes: 'text', gives: sameText, call: upper },
  LOWER: { takes: 'text', gives: sameText, call: (given: string) => given.toLowerCase() },
  LENGTH: whole('bytes', (given: Uint8Array) => BigInt(given.length)),
  BIT_LENGTH: whole('bytes', (given: Uint8Array) => BigInt(8 * given.length)),
  CHAR_LENGTH: whole('text', (given: string) => BigInt([...given].length)),
  REVERSE: text('text', (given: string) => [...given].reverse().join('')),
  LEFT: text('text integer', (given: string, count: number) =>
    [...given].slice(0, Math.max(0, count)).join(''),
  ),
  RIGHT: text('text integer', (given: string, count: number) =>
    count <= 0 ? '' : [...given].slice(-count).join(''),
  ),
  SUBSTRING: text('text integer integer?', part),
  SUBSTRING_INDEX: text('text text integer', substringIndex),
  LOCATE: whole('text text integer?', found),
  INSTR: whole('text text', (hay: string, needle: string) => found(needle, hay)),
  REPLACE: text('text text text', replaced),
  REPEAT: text('text integer', repeated),
  SPACE: text('integer', (count: number) => repeated(' ', count)),
  LPAD: text('text integer text', (given: string, length: number, fill: string) =>
    padded(given, length, fill, true),
  ),
  RPAD: text('text integer text', (given: string, length: number, fill: string) =>
    padded(given, length, fill, false),
  ),
  TRIM: text('text text text', trimmed),
  LTRIM: text('text', (given: string) => trimmed(given, ' ', 'LEADING')),
  RTRIM: text('text', (given: string) => trimmed(given, ' ', 'TRAILING')),
  INSERT: text('text integer integer text', inserted),
  ELT: {
    takes: 'integer text text...',
    gives: textType,
    seesNull: true,
    call: (at: number | null, ...members: (string | null)[]) =>
      at === null ? null : (members[at - 1] ?? null),
  },
  FIND_IN_SET: whole('text text', (wanted: string, set: string) =>
    set === '' ? 0n : BigInt(set.split(',').findIndex((member) => compareTexts(wanted, member) === 0) + 1),
  ),
  MAKE_SET: {
    takes: 'whole text...',
    gives: textType,
    seesNull: true,
    call: (bits: bigint | null, ...members: (string | null)[]) =>
      bits === null
        ? null
        : concatenated(
            ',',
            members.filter((member, at) => member !== null && (bits >> BigInt(at)) & 1n) as string[],
          ),
  },
  EXPORT_SET: text('whole text text text? integer?', exported),
  STRCMP: whole('text text', (left: string, right: string) => BigInt(Math.sign(compareTexts(left, right)))),
  ASCII: whole('bytes', (given: Uint8Array) => BigInt(given[0] ?? 0)),
  ORD: whole('text', ordOf),
  CHAR: { takes: 'whole...', gives: bytesType, seesNull: true, call: charOf },
  HEX: text('any', hexOf),
  UNHEX: { takes: 'text', gives: bytesType, call: unhex },
  MD5: text('bytes', hash('md5')),
  SHA1: text('bytes', hash('sha1')),
  SHA2: text('bytes integer', sha2),
  CRC32: { takes: 'bytes', gives: unsignedType, call: (given: Uint8Array) => BigInt(crc32(given)) },
  QUOTE: { takes: 'text', gives: textType, seesNull: true, call: quoted },
  SOUNDEX: text('text', soundex),
  TO_BASE64: text('bytes', base64),
  FROM_BASE64: { takes: 'text', gives: bytesType, call: fromBase64 },
}

export const textAliases: Readonly<Record<string, string>> = {
  UCASE: 'UPPER',
  LCASE: 'LOWER',
  OCTET_LENGTH: 'LENGTH',
  CHARACTER_LENGTH: 'CHAR_LENGTH',
  SHA: 'SHA1',
}

/** Matches in the text, found within the time. */
function matches(text: string, pattern: string): readonly RegExpExecArray[] {
  const expression = compiled(pattern, 'gi')
  return withinLimit(pattern, text, () => [...text.matchAll(expression)] as RegExpExecArray[])
}

function replacedByPattern(text: string, pattern: string, by: string): string {
  const expression = compiled(pattern, 'gi')
  const replacement = by.replaceAll(/\\(.)/gs, (_, letter: string) => (letter === '$' ? '$$' : letter))
  return bounded(withinLimit(pattern, text, () => text.replace(expression, replacement)))
}

function substring(text: string, pattern: string): Value {
  return matches(text, pattern)[0]?.[0] ?? null
}

function position(text: string, pattern: string): bigint {
  const index = matches(text, pattern)[0]?.index
  return index === undefined ? 0n : BigInt([...text.slice(0, index)].length + 1)
}

function like(text: string, pattern: string, mode?: string): Value {
  if (mode !== undefined && mode !== 'i') refuse(notSupported(`match type '${mode}' of REGEXP_LIKE`))
  return truth(matchesPattern(text, pattern))
}

/** MySQL's functions of regular expressions. */
export const patternFunctions: FunctionTable = {
  REGEXP_LIKE: { takes: 'text text text?', gives: integerType, call: like },
  REGEXP_REPLACE: { takes: 'text text text', gives: textType, call: replacedByPattern },
  REGEXP_SUBSTR: { takes: 'text text', gives: textType, call: substring },
  REGEXP_INSTR: { takes: 'text text', gives: integerType, call: position },
}
