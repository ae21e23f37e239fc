/**
 * Watches what containers write, on engines that cannot limit it (overlay2 on ext4 has no quota).
 *
 * Invariants
 * - [DISK-WATCH-1] From before its first command a container is watched, during commands and between them, until it has
 *   ended.
 * - [DISK-WATCH-2] A container that may have passed its limit, for bytes or names, is stopped and counted; if it has, or
 *   cannot be counted, it is over. It continues only after a count below its limit.
 * - [DISK-WATCH-3] A single file never passes the limit (RLIMIT_FSIZE).
 */

import type { ContainerSpec } from '../sandbox.ts'
import type { DiskUse } from './disk-count.ts'
import type { DiskGauge } from './disk-gauge.ts'
import { DiskLedger } from './disk-ledger.ts'

/** A disk takes a gigabyte a second at best; a reading takes some milliseconds. */
const periodMs = 200
/** ext4's own measure of how many files a disk is for. */
const bytesPerName = 16 * 2 ** 10
/** More files than most tasks make, and nothing to a disk. */
const fewestNames = 4_096

/** The most bytes and names that may be written to a disk of so many bytes. */
export function diskLimit(bytes: number): DiskUse {
  return { bytes, names: Math.max(fewestNames, Math.floor(bytes / bytesPerName)) }
}

/** A container that is watched. */
export interface Watched {
  readonly spec: ContainerSpec
  readonly limit: DiskUse
  /** Where its files are on the engine's machine, as far as the engine says. */
  layer(): Promise<string | undefined>
  /** Whether it is stopped already, and cannot grow. */
  readonly still: boolean
  /**
   * Counts what it has, while it is stopped, and ends it where that is over.
   * @param isOver hears what there is; undefined where that cannot be counted
   * @throws ContainerFault
   */
  count(isOver: (use: DiskUse | undefined) => boolean): Promise<void>
  /** Bytes written to its files that are still in memory: the containers with the most are counted first. */
  cached(): Promise<number>
  /** Ends it because it cannot be watched. */
  unwatched(fault: unknown): Promise<void>
}

export interface DiskWatch {
  /** Begins to watch, by a reading before the container does anything; one that is watched is no error. */
  begin(container: Watched): Promise<void>
  /** Returns when no growth before this moment can have passed the container's limit unnoticed. */
  settle(container: Watched): Promise<void>
  /** Ends the watch; after that of the last container nothing of it is left. */
  end(container: Watched): Promise<void>
  close(): Promise<void>
}

export function createDiskWatch(gauge: Pick<DiskGauge, 'read' | 'close'>): DiskWatch {
  const ledger = new DiskLedger<Watched>()
  const watched = new Set<Watched>()
  let running: Promise<void> | undefined
  let queued: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function count(container: Watched): Promise<void> {
    const isOver = (use: DiskUse | undefined) => {
      const over = use === undefined || ledger.count(container, use)
      if (over) forget(container)
      return over
    }
    try {
      await container.count(isOver).catch((fault: unknown) => {
        // A container that ended just now takes its inspector with it: the second attempt finds it gone.
        if (!watched.has(container)) throw fault
        return container.count(isOver)
      })
    } catch (fault) {
      forget(container)
      await container.unwatched(fault)
    }
  }

  async function play(): Promise<void> {
    const [first] = watched
    if (first === undefined) return
    try {
      ledger.read(await gauge.read(first).catch(() => gauge.read(first)))
    } catch (fault) {
      // Without a gauge none can continue.
      const all = [...watched]
      watched.clear()
      await Promise.all(all.map((container) => container.unwatched(fault)))
      return
    }
    const isSuspect = (container: Watched) => !container.still && ledger.isSuspect(container)
    for (const container of await inOrder([...watched].filter(isSuspect)))
      if (isSuspect(container)) await count(container)
  }

  /** One round after the other; all that ask during one get the next. */
  function next(): Promise<void> {
    if (running === undefined) {
      running = play().finally(() => {
        running = undefined
      })
      return running
    }
    queued ??= running
      .catch(() => undefined)
      .then(() => {
        queued = undefined
        return next()
      })
    return queued
  }

  function schedule(): void {
    if (closed || timer !== undefined || watched.size === 0) return
    timer = setTimeout(async () => {
      await (running ?? next()).catch(() => undefined)
      timer = undefined
      schedule()
    }, periodMs)
    timer.unref()
  }

  function forget(container: Watched): void {
    watched.delete(container)
    ledger.close(container)
  }

  return {
    async begin(container) {
      if (closed || watched.has(container)) return
      watched.add(container)
      ledger.open(container, container.limit)
      await next()
      schedule()
    },
    async settle(container) {
      if (watched.has(container)) await next()
    },
    async end(container) {
      forget(container)
      if (watched.size === 0) await gauge.close()
    },
    async close() {
      closed = true
      clearTimeout(timer)
      watched.clear()
      await queued?.catch(() => undefined)
      await running?.catch(() => undefined)
      await gauge.close()
    },
  }
}

async function inOrder(suspects: readonly Watched[]): Promise<readonly Watched[]> {
  if (suspects.length < 2) return suspects
  const cached = await Promise.all(suspects.map((container) => container.cached().catch(() => 0)))
  return suspects
    .map((container, index) => ({ container, bytes: cached[index] ?? 0 }))
    .sort((left, right) => right.bytes - left.bytes)
    .map(({ container }) => container)
}
