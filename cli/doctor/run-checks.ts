/**
 * Checks of the runs of a home: their checkpoints, half-written files, and whether a process works on them.
 *
 * Invariants
 * - A checkpoint that differs from its published form is moved aside under its run and version, never deleted.
 * - Nothing is moved or deleted under a process that lives.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { hasAllMetrics, restoreMetrics } from '../../activities/metrics/run-metrics.ts'
import { inHome } from '../../config/files/home-paths.ts'
import { storedConfig } from '../../config/files/stored-config.ts'
import { reasonOf } from '../../faults/reason.ts'
import { isRunName, type RunId } from '../../identity/identity.ts'
import { verifyCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { publishedVersions } from '../../policy/checkpoints/versions.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { moveAside } from '../../storage/disk/aside.ts'
import type { Home } from '../../storage/disk/home.ts'
import type { StoredRun } from '../../storage/records/runs.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { writeTrackers } from '../../storage/trackers/tracking.ts'
import { type Check, check, type Examination, mayRepair, plural, unrepaired } from './check.ts'

/** Names that are shown of many. */
const shown = 5

/** Whether the workflow of a run is running; undefined where no server can be asked. */
export type Attendance = (run: RunId) => Promise<boolean | undefined>

/** All checks of the runs, those of the store's runs among them. */
export async function checkRuns(
  home: Home,
  attended: Attendance,
  examination: Examination,
): Promise<readonly Check[]> {
  await using store = await openStore(home.storeFile, { create: false, access: 'read' })
  const runs = await store.runs.list()
  const checks: Check[] = []
  for (const run of runs) {
    checks.push(...(await checkCheckpoints(home, run, examination)))
    checks.push(...(await checkMetrics(home, store, run, examination)))
  }
  checks.push(checkLeftovers(home, runs, examination))
  checks.push(...checkStrays(home, runs))
  for (const { id, status } of runs) {
    if (status !== 'running' || (await attended(id)) === true) continue
    checks.push(
      check.warning(
        `run ${id}`,
        'was left in the middle: no process works on it',
        `\`perdure resume ${id}\` continues it.`,
      ),
    )
  }
  return checks
}

async function checkCheckpoints(
  home: Home,
  { id, version: published }: StoredRun,
  examination: Examination,
): Promise<readonly Check[]> {
  const { checkpointsDir, checkpointDir, baseDir } = home.run(id)
  const name = `run ${id}`
  const ofBase = existsSync(baseDir) ? await checkBase(name, baseDir) : undefined
  if (ofBase !== undefined) return [ofBase]
  const broken: Check[] = []
  const good: number[] = []
  const versions = await publishedVersions(checkpointsDir)
  for (const version of versions) {
    const dir = checkpointDir(version)
    try {
      await verifyCheckpoint(dir)
      good.push(version)
    } catch (error) {
      if (!(error instanceof CheckpointFault) || error.kind === 'io') throw error
      const found = check.wrong(name, error.message, `It can be moved aside; ${standIn(good, version)}.`)
      if (!mayRepair(examination)) broken.push(unrepaired(found, examination))
      else {
        const target = moveAside(home, dir, asideName(id, version))
        const detail = `the checkpoint of version ${version} was broken and is now ${target}; ${standIn(good, version)}`
        broken.push(check.repaired(name, detail))
      }
    }
  }
  if (published !== undefined && good.length === 0 && broken.length === 0)
    return [
      check.wrong(
        name,
        `has published version ${published}, and there is no checkpoint in ${checkpointsDir}`,
        'Restore a backup of its directory.',
      ),
    ]
  const newest = good.at(-1)
  const isMissing = published !== undefined && newest !== undefined && !versions.includes(published)
  // A checkpoint that was moved aside has been reported.
  if (isMissing && !existsSync(join(home.asideDir, asideName(id, published))))
    broken.push(
      check.warning(
        name,
        `the checkpoint of version ${published}, which the run published, is missing; ${standIn(good, published)}`,
        `Put a copy of ${checkpointDir(published)} back before the run continues, or let it continue from version ${newest}.`,
      ),
    )
  if (broken.length > 0) return broken
  return [check.fine(name, `${plural(good.length, 'checkpoint')}, all whole`)]
}

/** The base of a run's adapters: nothing takes its place, and without it no version can be judged. */
async function checkBase(name: string, baseDir: string): Promise<Check | undefined> {
  try {
    await verifyCheckpoint(baseDir)
    return undefined
  } catch (error) {
    if (!(error instanceof CheckpointFault) || error.kind === 'io') throw error
    return check.wrong(name, `${error.message}; every version is an adapter over it`, 'Restore a backup.')
  }
}

function asideName(run: RunId, version: number): string {
  return `${run}-checkpoint-${version}`
}

function standIn(good: readonly number[], version: number): string {
  const before = good.at(-1)
  return before === undefined
    ? `nothing replaces version ${version}: restore a backup`
    : `version ${before} is used in its place`
}

/** The file follows from the store, so that whatever became of it can be put right. */
async function checkMetrics(
  home: Home,
  store: Store,
  { id, config }: StoredRun,
  examination: Examination,
): Promise<readonly Check[]> {
  const { dir, metricsFile } = home.run(id)
  // Between the store and the file of a run in progress there is always a line on its way.
  if (examination.inUse || !existsSync(dir)) return []
  if (await hasAllMetrics(store, id, metricsFile)) return []
  const name = `run ${id}`
  const detail = existsSync(metricsFile)
    ? `${metricsFile} lacks lines that the store has, or holds others`
    : `${metricsFile} is missing`
  if (!mayRepair(examination))
    return [unrepaired(check.warning(name, detail, 'It can be made again from the store.'), examination)]
  await restoreMetrics(store, id, metricsFile)
  const { sent } = await writeTrackers(store, id, inHome(storedConfig(config), home.dir).trackers)
  const untold = await sent.then(
    () => '',
    (error: unknown) => `; ${reasonOf(error)}`,
  )
  return [check.repaired(name, `${detail}: it was made again from the store${untold}`)]
}

/** Files of writers that died: `.NAME.….partial` beside checkpoints and batches, `….new` beside the record. */
function checkLeftovers(home: Home, runs: readonly StoredRun[], examination: Examination): Check {
  const name = 'leftovers'
  const folders = runs.flatMap(({ id }) => {
    const { dir, checkpointsDir, batchesDir } = home.run(id)
    return [dir, checkpointsDir, batchesDir]
  })
  const left = [
    ...folders.flatMap((folder) => leftIn(folder, /^\..+\.partial$|\.tmp$/)),
    ...leftIn(home.dir, /^temporal\.json\.\d+\.new$|\.tmp$/),
  ]
  if (left.length === 0) return check.fine(name, 'nothing half written')
  const names = left.slice(0, shown).map((file) => relative(home.dir, file))
  const detail = `${plural(left.length, 'file')} half written by processes that died: ${names.join(', ')}${left.length > shown ? ', …' : ''}`
  // A living process may be writing them now.
  if (examination.inUse) return check.fine(name, 'not looked for while processes write')
  if (!mayRepair(examination))
    return unrepaired(check.warning(name, detail, 'They can be removed.'), examination)
  for (const file of left) rmSync(file, { recursive: true, force: true })
  return check.repaired(name, `${detail}; they were removed`)
}

function leftIn(folder: string, pattern: RegExp): readonly string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => pattern.test(file))
    .map((file) => join(folder, file))
}

/** Directories of runs that the store does not know. */
function checkStrays({ runsDir }: Home, runs: readonly StoredRun[]): readonly Check[] {
  const known = new Set<string>(runs.map(({ id }) => id))
  const names = existsSync(runsDir) ? readdirSync(runsDir) : []
  return names
    .filter((each) => isRunName(each) && !known.has(each))
    .map((each) =>
      check.warning(
        `run ${each}`,
        `${join(runsDir, each)} is there, and the store knows no such run`,
        'Its checkpoints can be used as policy.from; move it away when it is unused.',
      ),
    )
}

/** @returns the check of what kept the runs from being looked at */
export function unseen(error: unknown): Check {
  return check.wrong(
    'runs',
    `cannot be looked at: ${reasonOf(error)}`,
    'Repair the named part, then check again.',
  )
}
