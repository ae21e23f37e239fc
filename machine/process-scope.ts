/**
 * The scope of a process: its name on this boot of this machine, which outlives it in what it made.
 *
 * Invariants
 * - Two processes never share a scope: the number alone is given again to others, the start and the boot are not.
 * - Of a process on another machine, or of another boot, nothing is claimed.
 */
import { bootId, isAlive, readProcess, thisProcess, writtenProcess } from './process.ts'

/** Names this process on this boot of this machine. */
export function processScope(): string {
  return writtenProcess(thisProcess())
}

/** Whether the process of such a scope is alive; undefined for other scopes, other machines and other boots. */
export function processOfScopeAlive(scope: string): boolean | undefined {
  const owner = readProcess(scope)
  return owner === undefined || owner.boot !== bootId() ? undefined : isAlive(owner)
}
