/**
 * The ledger of a disk that containers share: whose growth could have passed a limit since it was last counted.
 *
 * Invariants
 * - Growth is what the disk has lost between any two readings, summed; what others free takes nothing off it. So a
 *   container that has passed its limit by more than one reading's growth is always suspect.
 * - Growth that a count has found in one container is no growth of the others.
 */
import type { DiskUse } from './disk-count.ts'

/** The free space on a disk. */
export type DiskRoom = DiskUse

/** One container's page. */
interface Page {
  readonly limit: DiskUse
  counted: DiskUse
  /** Growth of the disk when it was counted. */
  since: DiskUse
}

const nothing: DiskUse = { bytes: 0, names: 0 }

export class DiskLedger<Name> {
  readonly #pages = new Map<Name, Page>()
  #growth = nothing
  /** Growth between the last two readings: as much may have come since. */
  #step = nothing
  #room: DiskRoom | undefined

  /** Begins a container's page: there is nothing of its own on the disk yet. */
  open(name: Name, limit: DiskUse): void {
    this.#pages.set(name, { limit, counted: nothing, since: this.#growth })
  }

  close(name: Name): void {
    this.#pages.delete(name)
    // While no container is watched nothing is read: what the disk loses until then is no container's growth.
    if (this.#pages.size === 0) this.#room = undefined
  }

  /** Enters what is free now. */
  read(room: DiskRoom): void {
    const before = this.#room ?? room
    this.#room = room
    this.#step = {
      bytes: Math.max(0, before.bytes - room.bytes),
      names: Math.max(0, before.names - room.names),
    }
    this.#growth = plus(this.#growth, this.#step)
  }

  /** Whether the container may be over its limit, or will be before the next reading. */
  isSuspect(name: Name): boolean {
    const page = this.#pages.get(name)
    if (page === undefined) return false
    const most = plus(page.counted, minus(plus(this.#growth, this.#step), page.since))
    return isOver(most, page.limit)
  }

  /** Enters what a container has. @returns whether that is over its limit */
  count(name: Name, use: DiskUse): boolean {
    const page = this.#pages.get(name)
    if (page === undefined) return false
    const grown = minus(use, page.counted)
    for (const other of this.#pages.values()) if (other !== page) other.since = plus(other.since, grown)
    page.counted = use
    page.since = this.#growth
    return isOver(use, page.limit)
  }
}

function isOver(use: DiskUse, limit: DiskUse): boolean {
  return use.bytes > limit.bytes || use.names > limit.names
}

function plus(left: DiskUse, right: DiskUse): DiskUse {
  return { bytes: left.bytes + right.bytes, names: left.names + right.names }
}

/** The difference, at least 0. */
function minus(left: DiskUse, right: DiskUse): DiskUse {
  return { bytes: Math.max(0, left.bytes - right.bytes), names: Math.max(0, left.names - right.names) }
}
