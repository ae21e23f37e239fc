/**
 * System variables: those that a session may read, and the settings that change nothing here.
 *
 * Invariants
 * - A setting that would change results is refused, so that no statement is answered by other rules than were asked for.
 */

import { recursionRounds } from '../budget.ts'
import { sqlFailure } from '../database.ts'
import { notSupported, refuse } from '../failure.ts'
import { groupConcatBytes } from '../state-hash.ts'
import { integerType, textType } from '../values/type.ts'
import { toText, type Value } from '../values/value.ts'
import type { Compiled, Scope } from './scope.ts'

/** The modes of AgentBench's sessions: texts that are no numbers count as numbers, without an error. */
const mode = 'NO_ENGINE_SUBSTITUTION'

const variables: Readonly<Record<string, bigint | string>> = {
  version: '8.0.36',
  sql_mode: mode,
  group_concat_max_len: BigInt(groupConcatBytes),
  cte_max_recursion_depth: BigInt(recursionRounds),
  max_allowed_packet: 67_108_864n,
  foreign_key_checks: 1n,
  unique_checks: 1n,
  sql_safe_updates: 0n,
  character_set_client: 'utf8mb4',
  character_set_connection: 'utf8mb4',
  character_set_results: 'utf8mb4',
  collation_connection: 'utf8mb4_0900_ai_ci',
  collation_database: 'utf8mb4_0900_ai_ci',
  time_zone: '+00:00',
  lower_case_table_names: 0n,
  auto_increment_increment: 1n,
  auto_increment_offset: 1n,
}

/** @throws StatementRefused where there is no such variable, or the engine does not know it */
export function systemVariable(name: string, { context }: Scope): Compiled {
  if (name === 'autocommit') return { type: integerType, get: () => (context.session.autocommit ? 1n : 0n) }
  const value = Object.hasOwn(variables, name) ? (variables[name] as bigint | string) : undefined
  if (value === undefined) return refuse(sqlFailure(1193, 'HY000', `Unknown system variable '${name}'`))
  return { type: typeof value === 'bigint' ? integerType : textType, get: () => value }
}

/** Settings whose value makes no difference to an embedded database. */
const harmless = new Set(
  `foreign_key_checks unique_checks sql_safe_updates sql_notes sql_warnings profiling wait_timeout net_read_timeout
   net_write_timeout lock_wait_timeout innodb_lock_wait_timeout optimizer_switch`.split(/\s+/),
)

/** @throws StatementRefused where the setting would change results */
export function checkSetting(name: string, value: Value): void {
  if (harmless.has(name)) return
  const given = value === null ? '' : toText(value).toLowerCase()
  const isUtf8 = /^(?:utf8(?:mb[34])?|default)(?:_\w+)?$/.test(given)
  if ((name === 'names' || name.startsWith('character_set_') || name.startsWith('collation_')) && isUtf8)
    return
  if (!Object.hasOwn(variables, name)) refuse(sqlFailure(1193, 'HY000', `Unknown system variable '${name}'`))
  const modes = new Set(given.split(','))
  if (name === 'sql_mode' && [...modes].every((each) => each === '' || each === mode.toLowerCase())) return
  if (given === String(variables[name]).toLowerCase() || given === 'default') return
  refuse(notSupported(`SET ${name} = ${given}`))
}
