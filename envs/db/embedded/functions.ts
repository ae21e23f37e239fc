/**
 * All functions that a translated statement may call.
 *
 * Invariants
 * - Each is registered under `my_` and MySQL's name; a name that is not listed here does not exist.
 * - A call with too few arguments is refused in MySQL's words.
 */
import { databaseName, StatementRefused, wrongArguments } from './failure.ts'
import { dateAliases, plainDateFunctions } from './functions-date.ts'
import { numberAliases, plainNumberFunctions, randomFunctions } from './functions-number.ts'
import { plainTextFunctions, textAliases, textFunctions } from './functions-text.ts'
import { operators, type StatementContext } from './operators.ts'
import type { SqlFunction } from './sqlite.ts'
import type { Value } from './value.ts'

type Present = Exclude<Value, null>

// What tells of the server, or would wait for it.
const serverFunctions: Readonly<Record<string, () => Value>> = {
  database: () => databaseName,
  schema: () => databaseName,
  version: () => '8.0.36',
  user: () => 'agent@localhost',
  current_user: () => 'agent@localhost',
  connection_id: () => 1n,
  last_insert_id: () => 0n,
  sleep: () => 0n,
  load_file: () => null,
}

const plain = { ...plainTextFunctions, ...plainNumberFunctions, ...plainDateFunctions, ...serverFunctions }
const aliases: Readonly<Record<string, string>> = { ...textAliases, ...numberAliases, ...dateAliases }

/** SQLite's own functions that MySQL has too, with the same meaning. */
const shared = new Set(
  `count min max coalesce ifnull nullif json_extract json_array json_object json_valid row_number rank dense_rank
   percent_rank cume_dist ntile lag lead first_value last_value nth_value`.split(/\s+/),
)

/** The name under which a function of MySQL is called here; undefined where it does not exist. */
export function calledName(name: string): string | undefined {
  const lower = name.toLowerCase()
  if (shared.has(lower)) return lower
  const own = Object.hasOwn(aliases, lower) ? (aliases[lower] ?? lower) : lower
  if (Object.hasOwn(plain, own) || Object.hasOwn(textFunctions, own) || own === 'rand') return `my_${own}`
  return undefined
}

/** Everything to register. */
export function allFunctions(context: StatementContext): SqlFunction[] {
  return [
    ...operators(),
    ...randomFunctions(context),
    ...Object.entries(plain).map(([name, call]) => ({
      name: `my_${name}`,
      deterministic: true,
      call: (args: readonly Value[]) => {
        if (args.length < requiredOf(call)) throw new StatementRefused(wrongArguments(name))
        return args.includes(null) ? null : (call as (...args: Present[]) => Value)(...(args as Present[]))
      },
    })),
    ...Object.entries(textFunctions).map(([name, call]) => ({
      name: `my_${name}`,
      deterministic: true,
      call,
    })),
  ]
}

/** Parameters without a default, at least one where any are taken. */
function requiredOf(call: (...args: Present[]) => Value): number {
  return call.length
}
