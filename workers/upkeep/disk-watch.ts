/**
 * Disk watch: a run warns before the disk of its home is full, and pauses before nothing can be written any more.
 *
 * Invariants
 * - A run is paused through its workflow, with the reason and how to continue; nothing in progress is lost.
 * - It is not paused again before it was continued, and each warning is reported once until there is room again.
 * - [DISK-PAUSE-1] A pause of this watch ends by itself when there is room again; a person's pause is left to that person.
 * - A watch that fails is reported once and continues; it stops no work.
 */

import type { RunConfig } from '../../config/schema/schema.ts'
import type { RunId } from '../../identity/identity.ts'
import type { RunPhase } from '../../learning/run/run-phase.ts'
import { percent } from '../../learning/statistics/percent.ts'
import { clock } from '../../machine/services/clock.ts'
import { type DiskSpace, diskSpace, type FreeLimit, isShort } from '../../storage/disk/disk-use.ts'

/** A disk fills at some hundred megabytes a second at most. */
const lookEveryMs = 5_000
const megabyte = 1e6
/** So much more than at the pause has to be free, or a run at the limit would pause and continue all the time. */
const roomToContinue = 2

/** Who pauses and continues, in the audit trail. */
export const diskWatcher = 'disk watch'

/** A run in progress. */
export interface WatchedRun {
  readonly run: RunId
  readonly config: RunConfig
}

export interface DiskWatchOptions {
  readonly home: string
  readonly log: (line: string) => void
  /** The runs in progress. */
  running(): Promise<readonly WatchedRun[]>
  phase(run: RunId): Promise<RunPhase>
  /** @returns false where the run has ended or cannot be paused */
  pause(run: RunId, reason: string): Promise<boolean>
  /** Whether the latest order to pause or to continue was a pause by this watch, in this process or another. */
  isPausedForDisk(run: RunId): Promise<boolean>
  /** @returns false where the run has ended or cannot be continued */
  continue(run: RunId, reason: string): Promise<boolean>
  readonly everyMs?: number | undefined
}

export interface DiskWatch {
  close(): Promise<void>
}

type Retention = RunConfig['retention']

function warnLimit({ warnFreeMegabytes, warnFreeShare }: Retention): FreeLimit {
  return { bytes: warnFreeMegabytes * megabyte, share: warnFreeShare }
}

function pauseLimit({ pauseFreeMegabytes, pauseFreeShare }: Retention): FreeLimit {
  return { bytes: pauseFreeMegabytes * megabyte, share: pauseFreeShare }
}

/** Warning for a run whose disk is short of room; undefined while there is enough. */
export function diskWarning(home: string, space: DiskSpace, retention: Retention): string | undefined {
  if (!isShort(space, warnLimit(retention))) return undefined
  return `${freeWords(space)} on the disk of ${home}; \`perdure clean\` makes room, and below ${limitWords(space, retention)} the run pauses`
}

function roomLimit(retention: Retention): FreeLimit {
  const { bytes, share } = pauseLimit(retention)
  return { bytes: roomToContinue * bytes, share: roomToContinue * share }
}

function freeWords({ free, total }: DiskSpace): string {
  return `only ${megabytesFree({ free, total })} (${percent(free / total)}) are free`
}

function megabytesFree({ free }: DiskSpace): string {
  return `${Math.floor(free / megabyte)} MB`
}

function limitWords({ total }: DiskSpace, retention: Retention): string {
  const { bytes, share } = pauseLimit(retention)
  return `${Math.ceil(Math.min(bytes, share * total) / megabyte)} MB`
}

/** Watches until it is closed. */
export function watchDisk(options: DiskWatchOptions): DiskWatch {
  const { home, log, everyMs = lookEveryMs } = options
  const closing = new AbortController()
  const warned = new Set<RunId>()
  const paused = new Set<RunId>()
  let isFailing = false

  async function look(): Promise<void> {
    const space = await diskSpace(home)
    for (const { run, config } of await options.running()) {
      const warning = diskWarning(home, space, config.retention)
      if (warning === undefined) warned.delete(run)
      else if (!warned.has(run)) {
        warned.add(run)
        log(`run ${run}: ${warning}`)
      }
      if (isShort(space, pauseLimit(config.retention))) await pauseOnce(run, space)
      else {
        paused.delete(run)
        if (!isShort(space, roomLimit(config.retention))) await continuePaused(run, space)
      }
    }
  }

  async function continuePaused(run: RunId, space: DiskSpace): Promise<void> {
    if (!(await options.isPausedForDisk(run))) return
    const reason = `${megabytesFree(space)} are free again on the disk of ${home}`
    if (await options.continue(run, reason)) log(`run ${run} continues: ${reason}`)
  }

  async function pauseOnce(run: RunId, space: DiskSpace): Promise<void> {
    const phase = await options.phase(run)
    // Paused by us or by a person; the warm start pauses when it ends.
    if (phase === 'paused' || (paused.has(run) && phase !== 'training')) return
    const reason = `${freeWords(space)} on the disk of ${home}: make room, e.g. with \`perdure clean\`; the run continues by itself when there is room`
    const isPaused = await options.pause(run, reason)
    paused.add(run)
    if (isPaused) log(`run ${run} is paused: ${reason}`)
  }

  async function watch(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await look()
        isFailing = false
      } catch (error) {
        if (!isFailing && !closing.signal.aborted) log(`the disk of ${home} is not watched: ${String(error)}`)
        isFailing = true
      }
      await clock.sleep(everyMs, { signal: closing.signal, ref: false }).catch(() => undefined)
    }
  }

  const watching = watch()
  return {
    async close() {
      closing.abort()
      await watching
    },
  }
}
