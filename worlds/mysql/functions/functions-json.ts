/**
 * MySQL's functions of JSON.
 *
 * Invariants
 * - JSON is written as MySQL writes it: keys by length and then by letter, a blank behind each comma and colon.
 * - A number keeps the digits that it was given with.
 */
import { sqlFailure } from '../database.ts'
import { refuse } from '../failure.ts'
import { Decimal } from '../values/decimal.ts'
import { integerType, type Type, textType } from '../values/type.ts'
import { toText, type Value } from '../values/value.ts'
import type { FunctionTable } from './function-rule.ts'
import { bounded } from './functions-text.ts'

const jsonType: Type = { ...textType, json: true }

class JsonNumber {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }
}

type Json = null | boolean | string | JsonNumber | readonly Json[] | ReadonlyMap<string, Json>

/** @throws StatementRefused where a text is no JSON */
function parsed(text: string, name: string): Json {
  const json = tryParse(text)
  if (json === undefined)
    return refuse(sqlFailure(3141, '22032', `Invalid JSON text in argument 1 to function ${name}`))
  return json
}

function tryParse(text: string): Json | undefined {
  try {
    const raw: unknown = JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
      typeof value === 'number' ? new JsonNumber(context?.source ?? String(value)) : value,
    )
    return ordered(raw)
  } catch {
    return undefined
  }
}

function ordered(raw: unknown): Json {
  if (raw === null || typeof raw === 'boolean' || typeof raw === 'string' || raw instanceof JsonNumber)
    return raw
  if (Array.isArray(raw)) return raw.map(ordered)
  return sorted(Object.entries(raw as object).map(([key, value]) => [key, ordered(value)]))
}

function sorted(entries: readonly (readonly [string, Json])[]): ReadonlyMap<string, Json> {
  return new Map(
    [...new Map(entries)].sort(([left], [right]) => left.length - right.length || (left < right ? -1 : 1)),
  )
}

function written(json: Json): string {
  if (json instanceof JsonNumber) return json.source
  if (isArray(json)) return `[${json.map(written).join(', ')}]`
  if (isObject(json))
    return `{${[...json].map(([key, value]) => `${JSON.stringify(key)}: ${written(value)}`).join(', ')}}`
  return JSON.stringify(json)
}

function isArray(json: Json): json is readonly Json[] {
  return Array.isArray(json)
}

function isObject(json: Json): json is ReadonlyMap<string, Json> {
  return json instanceof Map
}

/** A value of SQL in JSON. */
function jsonOf(value: Value): Json {
  if (value === null) return null
  if (typeof value === 'bigint' || typeof value === 'number' || value instanceof Decimal)
    return new JsonNumber(toText(value))
  return toText(value)
}

const step = /\.(?:"((?:[^"\\]|\\.)*)"|([\p{L}_$][\p{L}\p{N}_$]*))|\[(\d+)\]/uy

/** @throws StatementRefused where the path is none, or has wildcards */
function found(json: Json, path: string): Json | undefined {
  if (!path.startsWith('$')) refuse(sqlFailure(3143, '42000', 'Invalid JSON path expression.'))
  let at = 1
  let current: Json | undefined = json
  while (at < path.length) {
    step.lastIndex = at
    const match = step.exec(path)
    if (match === null) return refuse(sqlFailure(3143, '42000', 'Invalid JSON path expression.'))
    at += match[0].length
    if (current === undefined) continue
    const [, quoted, plain, index] = match
    if (index === undefined) current = isObject(current) ? current.get(quoted ?? plain ?? '') : undefined
    else current = isArray(current) ? current[Number(index)] : index === '0' ? current : undefined
  }
  return current
}

function extract(text: string, ...paths: readonly string[]): Value {
  const json = parsed(text, 'json_extract')
  const all = paths.map((path) => found(json, path))
  if (paths.length === 1) return all[0] === undefined ? null : written(all[0])
  const present = all.filter((each) => each !== undefined)
  return present.length === 0 ? null : written(present)
}

function unquoted(text: string): string {
  if (!text.startsWith('"') || !text.endsWith('"')) return text
  const json = tryParse(text)
  return typeof json === 'string' ? json : text
}

function lengthOf(text: string, path = '$'): Value {
  const json = found(parsed(text, 'json_length'), path)
  if (json === undefined) return null
  return BigInt(isArray(json) ? json.length : isObject(json) ? json.size : 1)
}

function typeOf(text: string): string {
  const json = parsed(text, 'json_type')
  if (json === null) return 'NULL'
  if (json instanceof JsonNumber) return /[.eE]/.test(json.source) ? 'DOUBLE' : 'INTEGER'
  if (isArray(json)) return 'ARRAY'
  if (isObject(json)) return 'OBJECT'
  return typeof json === 'boolean' ? 'BOOLEAN' : 'STRING'
}

function contains(json: Json, wanted: Json): boolean {
  if (isArray(json)) {
    if (isArray(wanted)) return wanted.every((each) => contains(json, each))
    return json.some((each) => contains(each, wanted))
  }
  if (isObject(json))
    return (
      isObject(wanted) &&
      [...wanted].every(([key, value]) => {
        const own = json.get(key)
        return own !== undefined && contains(own, value)
      })
    )
  if (json instanceof JsonNumber)
    return wanted instanceof JsonNumber && Number(json.source) === Number(wanted.source)
  return json === wanted
}

function object(...members: readonly Value[]): string {
  const entries: [string, Json][] = []
  for (let at = 0; at < members.length; at += 2) {
    const key = members[at]
    if (key === null || key === undefined)
      refuse(sqlFailure(3158, '22032', 'JSON documents may not contain NULL member names.'))
    entries.push([toText(key), jsonOf(members[at + 1] ?? null)])
  }
  return bounded(written(sorted(entries)))
}

export const jsonFunctions: FunctionTable = {
  JSON_EXTRACT: { takes: 'text text text...', gives: jsonType, call: extract },
  JSON_UNQUOTE: { takes: 'text', gives: textType, call: unquoted },
  JSON_QUOTE: { takes: 'text', gives: textType, call: (text: string) => JSON.stringify(text) },
  JSON_VALID: {
    takes: 'text',
    gives: integerType,
    call: (text: string) => (tryParse(text) === undefined ? 0n : 1n),
  },
  JSON_LENGTH: { takes: 'text text?', gives: integerType, call: lengthOf },
  JSON_TYPE: { takes: 'text', gives: textType, call: typeOf },
  JSON_KEYS: {
    takes: 'text',
    gives: jsonType,
    call: (text: string) => {
      const json = parsed(text, 'json_keys')
      return isObject(json) ? written([...json.keys()]) : null
    },
  },
  JSON_CONTAINS: {
    takes: 'text text',
    gives: integerType,
    call: (text: string, wanted: string) =>
      contains(parsed(text, 'json_contains'), parsed(wanted, 'json_contains')) ? 1n : 0n,
  },
  JSON_ARRAY: {
    takes: 'any?...',
    gives: jsonType,
    seesNull: true,
    call: (...members: never[]) => bounded(written(members.map(jsonOf))),
  },
  JSON_OBJECT: { takes: 'any?...', gives: jsonType, seesNull: true, call: object },
}
