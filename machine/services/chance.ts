/**
 * The chance of the durable path: names that no other process takes, secrets and draws. Whatever an identity or a seed decides does not
 * come from here (`identity/`). `scripts/services.ts` forbids other ways to chance.
 *
 * Invariants
 * - [CHANCE-1] Work that begins within `withChance` draws from that source, and so does all work that it begins; other work of the
 *   process does not.
 * - The system's chance is fit for secrets.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes, randomInt, randomUUID } from 'node:crypto'

export interface Chance {
  /** A name of its own, in the form of a UUID. */
  uuid(): string
  bytes(length: number): Buffer
  /** A whole number from 0, below the end. */
  below(end: number): number
}

/** The chance of the machine. */
export const systemChance: Chance = {
  uuid: () => randomUUID(),
  bytes: (length) => randomBytes(length),
  below: (end) => randomInt(end),
}

const scope = new AsyncLocalStorage<Chance>()
const current = (): Chance => scope.getStore() ?? systemChance

/** The chance of the work that calls: the system's, or the one of `withChance`. */
export const chance: Chance = {
  uuid: () => current().uuid(),
  bytes: (length) => current().bytes(length),
  below: (end) => current().below(end),
}

/** Calls with another source of chance. */
export function withChance<Result>(other: Chance, call: () => Result): Result {
  return scope.run(other, call)
}
