/**
 * All of MySQL's functions that the engine has, by name.
 *
 * Invariants
 * - A function of MySQL's that the engine lacks is refused by name, as not supported; any other as unknown.
 */

import type { Compiled, Scope } from '../expressions/scope.ts'
import { databaseName, notSupported, refuse, unknownFunction } from '../failure.ts'
import { doubleType, integerType, textType, unsignedType } from '../values/type.ts'
import type { Value } from '../values/value.ts'
import { calledBy, type FunctionTable } from './function-rule.ts'
import { dateAliases, dateFunctions } from './functions-date.ts'
import { flowFunctions } from './functions-flow.ts'
import { jsonFunctions } from './functions-json.ts'
import { numberAliases, numberFunctions } from './functions-number.ts'
import { patternFunctions, textAliases, textFunctions } from './functions-text.ts'

const functions: FunctionTable = {
  ...textFunctions,
  ...numberFunctions,
  ...dateFunctions,
  ...jsonFunctions,
  ...patternFunctions,
}

const aliases: Readonly<Record<string, string>> = {
  ...textAliases,
  ...numberAliases,
  ...dateAliases,
  CURRENT_USER: 'USER',
  SESSION_USER: 'USER',
  SYSTEM_USER: 'USER',
  SCHEMA: 'DATABASE',
}

/** VERSION(): the release whose dialect the engine follows. */
const release = '8.0.36'

type SessionFunction = (args: readonly Compiled[], scope: Scope) => Compiled

function fact(type: Compiled['type'], read: (scope: Scope) => Value): SessionFunction {
  return (_, scope) => ({ type, get: () => read(scope) })
}

const sessionFunctions: Readonly<Record<string, SessionFunction>> = {
  DATABASE: fact(textType, () => databaseName),
  VERSION: fact(textType, () => release),
  USER: fact(textType, () => 'agent@localhost'),
  CONNECTION_ID: fact(unsignedType, () => 1n),
  LAST_INSERT_ID: fact(unsignedType, ({ context }) => context.session.lastInsertId),
  ROW_COUNT: fact(integerType, ({ context }) => context.session.rowCount),
  RAND: (args, scope) => {
    scope.markVolatile()
    return { type: doubleType, get: () => seeded(args[0]) ?? scope.context.random() }
  },
  SLEEP: () => refuse(notSupported('SLEEP')),
}

/** RAND(seed) is drawn otherwise on a server, so it is refused. */
function seeded(seed: Compiled | undefined): number | undefined {
  if (seed !== undefined) refuse(notSupported('RAND with a seed'))
  return undefined
}

/** Functions that MySQL has and the engine lacks. */
const lacking = new Set(
  `AES_DECRYPT AES_ENCRYPT BENCHMARK BIN_TO_UUID CHARSET COERCIBILITY COLLATION COMPRESS EXTRACTVALUE FORMAT_BYTES
   FOUND_ROWS GET_LOCK INET6_ATON INET6_NTOA IS_FREE_LOCK IS_IPV4 IS_IPV6 IS_UUID JSON_ARRAY_APPEND JSON_ARRAY_INSERT
   JSON_CONTAINS_PATH JSON_DEPTH JSON_INSERT JSON_MERGE JSON_MERGE_PATCH JSON_MERGE_PRESERVE JSON_OVERLAPS JSON_PRETTY
   JSON_REMOVE JSON_REPLACE JSON_SCHEMA_VALID JSON_SEARCH JSON_SET JSON_STORAGE_SIZE JSON_TABLE JSON_VALUE LOAD_FILE
   NAME_CONST RANDOM_BYTES RELEASE_LOCK RELEASE_ALL_LOCKS STATEMENT_DIGEST UNCOMPRESS UPDATEXML UUID UUID_SHORT
   UUID_TO_BIN VALIDATE_PASSWORD_STRENGTH WEIGHT_STRING MEMBER ST_ASTEXT GROUPING`.split(/\s+/),
)

/** @throws StatementRefused where there is no such function, or it takes other arguments */
export function functionCall(name: string, args: readonly Compiled[], scope: Scope): Compiled {
  const known = Object.hasOwn(aliases, name) ? (aliases[name] as string) : name
  if (Object.hasOwn(flowFunctions, known))
    return (flowFunctions[known] as (typeof flowFunctions)[string])(args, name)
  if (Object.hasOwn(sessionFunctions, known)) return (sessionFunctions[known] as SessionFunction)(args, scope)
  const rule = Object.hasOwn(functions, known) ? functions[known] : undefined
  if (rule !== undefined) return calledBy(name, rule, args)
  return refuse(lacking.has(known) ? notSupported(known) : unknownFunction(name))
}
