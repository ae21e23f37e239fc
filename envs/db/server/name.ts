/**
 * Names of a session's database and user on a server: they tell the lease that they were made under.
 *
 * Invariants
 * - A name gives back its lease's id and scope; other names give nothing.
 * - A database's name has at most 64 characters and a user's 32, as MySQL asks.
 */

import type { Leased } from '../../../machine/processes/lease.ts'
import { EnvironmentFault } from '../../contract/environment.ts'

/** The beginning of all names of databases. */
export const namePrefix = 'pdr_'
const longestName = 64
const digits = 25
const pattern = /^pdr_([0-9a-z]{25})_([0-9a-z_]+)$/
/** The scope of a process with its PID namespace: too long for a name as it is. */
const processScope = /^p(\d+)s(\d+)b([0-9a-f]{12})n(\d+)$/
const shortScope = /^([0-9a-z]+)_([0-9a-z]+)_([0-9a-z]+)_([0-9a-z]+)$/

/** @throws EnvironmentFault where lease or scope do not fit into a name */
export function databaseNameOf({ id, scope }: Leased): string {
  const name = `${userNameOf(id)}_${shortened(scope)}`
  if (!pattern.test(name) || name.length > longestName)
    throw new EnvironmentFault('backend', `no database can be named by the lease ${id} of ${scope}`)
  return name
}

export function userNameOf(leaseId: string): string {
  const hexadecimal = leaseId.replace(/^perdure-/, '').replaceAll('-', '')
  return namePrefix + BigInt(`0x${hexadecimal}`).toString(36).padStart(digits, '0')
}

/** The numbers of a process's scope to base 36; other scopes as they are. */
function shortened(scope: string): string {
  const [, pid, start, boot, namespace] = processScope.exec(scope) ?? []
  if (pid === undefined) return scope
  return [pid, start, `0x${boot}`, namespace].map((number) => BigInt(number ?? 0).toString(36)).join('_')
}

function lengthened(text: string): string {
  const numbers = shortScope.exec(text)?.slice(1).map(numberOf)
  if (numbers === undefined) return text
  const [pid = 0n, start = 0n, boot = 0n, namespace = 0n] = numbers
  return `p${pid}s${start}b${boot.toString(16).padStart(12, '0')}n${namespace}`
}

function numberOf(digits: string): bigint {
  let value = 0n
  for (const digit of digits) value = value * 36n + BigInt(Number.parseInt(digit, 36))
  return value
}

/** The lease that a database was made under; undefined for databases of others. */
export function leasedOf(database: string): Leased | undefined {
  const [, number = '', scope = ''] = pattern.exec(database) ?? []
  if (number === '') return undefined
  const hexadecimal = numberOf(number).toString(16).padStart(32, '0')
  const uuid = hexadecimal.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { id: `perdure-${uuid}`, scope: lengthened(scope) }
}
