/**
 * Power cuts: all processes end at once, and only what the disk has is left.
 *
 * Invariants
 * - Counted as finished is only what the server had reported as done before the cut: an activity that was about to report may
 *   lose its work.
 * - Where a file is put back as it was some seconds before, what only a newer file has is not counted as finished.
 */
import { rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { groupId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import type { PoweredDisk } from './disk.ts'
import type { Fault, Means, Victim } from './faults.ts'
import { type Finished, Observer } from './observer.ts'
import { polled } from './waiting.ts'

/** Longer than the regular flush of the server's file. */
const longestLossMs = 3_000

/** @param older the file that the disk has as it was up to some seconds before */
export function powerCut(summary: string, older?: 'store' | 'temporal'): Fault {
  return {
    summary,
    obstacle: ({ disk }) => (typeof disk === 'string' ? disk : obstacleOf(disk)),
    async strike(victim, choice) {
      const { deployment, disk, run } = victim
      if (typeof disk === 'string' || !isPowered(disk)) throw new RangeError('the disk cannot lose its power')
      const home = homeAt(deployment.places.home)
      const file = older === 'store' ? home.storeFile : home.temporalFile
      const before = await reported(victim)
      const copy = `${disk.folder}.${older ?? 'none'}.copy`
      if (older !== undefined) {
        await copied(file, copy)
        await delay(longestLossMs * choice)
      }
      const inTheMiddle = choice > 1 / 3 || (await betweenCommitAndReport(victim))
      const server = deployment.freezeAll()
      const open = victim.observer.openEpisodes()
      disk.cutPower()
      await deployment.killAll(server)
      let finished = before
      let again: readonly string[] = []
      await victim.whileAway(async () => {
        disk.boot()
        if (older !== undefined) {
          for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true })
          await copied(copy, file)
          rmSync(copy, { force: true })
        }
        using observer = new Observer(home.storeFile)
        if (older === 'store') finished = both(before, observer.finished())
        again = unconsumed(run, observer.consumedGroups(run))
      })
      victim.hands.expectAgain([run, ...again])
      deployment.startAll()
      const isTakenBack = older === 'store'
      return { open, finished, restored: performance.now(), inTheMiddle, isTakenBack }
    },
  }
}

function isPowered(disk: Exclude<Means['disk'], string>): disk is PoweredDisk {
  return 'cutPower' in disk
}

function obstacleOf(disk: Exclude<Means['disk'], string>): string | undefined {
  return isPowered(disk) ? undefined : 'the disk of the home is in memory'
}

/** Everything finished whose workflow has ended, and with it every activity. */
async function reported({ observer, hands, run }: Victim): Promise<Finished> {
  const completed = await hands.completed(run)
  const finished = observer.finished()
  const version = observer.version(run) ?? 0
  return new Map(
    [...finished].filter(([mark]) => {
      const [kind = '', work = ''] = mark.split(' ')
      const [id = '', part = ''] = work.split('#')
      if (kind === 'update') return id !== run || Number(part) < version
      return completed.has(id) || !id.startsWith(`${run}/`)
    }),
  )
}

/** A moment at which work is in the store and its workflow has not heard of it. */
function betweenCommitAndReport(victim: Victim): Promise<boolean> {
  const { observer, run, turnLimit } = victim
  return polled(victim, () => observer.isSealing(turnLimit) || observer.isPublishing(run))
}

async function copied(from: string, to: string): Promise<void> {
  rmSync(to, { force: true })
  const database = new DatabaseSync(from, { timeout: 10_000 })
  try {
    await backup(database, to)
  } finally {
    database.close()
  }
}

/** More than a run has in flight. */
const mostInFlight = 64

/** Groups that may be played by another execution: those that no update has consumed. */
function unconsumed(run: string, consumed: ReadonlySet<number>): readonly string[] {
  const count = Math.max(-1, ...consumed) + 1 + mostInFlight
  return Array.from({ length: count }, (_, number) => number)
    .filter((number) => !consumed.has(number))
    .map((number) => groupId(runId(run), number))
}

function both(one: Finished, other: Finished): Finished {
  return new Map([...one].filter(([mark, digest]) => other.get(mark) === digest))
}
