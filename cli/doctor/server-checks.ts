/**
 * Checks of a home's Temporal server: its file, its record, and the traces of processes that used it.
 *
 * Invariants
 * - No server is started; one that serves others is left alone.
 * - A damaged file is moved aside, never deleted.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { moveAside } from '../../storage/disk/aside.ts'
import type { Home } from '../../storage/disk/home.ts'
import { isWritable } from '../../storage/sqlite/read-only.ts'
import { tryLock } from '../../temporal/server/file-lock.ts'
import { servesFile } from '../../temporal/server/process.ts'
import { readRecord, serverPaths } from '../../temporal/server/record.ts'
import { inspectTemporal, stopTemporal } from '../../temporal/server/server.ts'
import { compareVersions, type TemporalBinary } from '../../temporal/server/startup/binary.ts'
import { type Check, check, type Examination, mayRepair, plural, unrepaired } from './check.ts'
import { problemsOf } from './store-checks.ts'

/** Living processes that use a home; changes nothing. */
export function livingUsers(home: Home): number {
  return usersOf(home).living
}

function usersOf(home: Home): { readonly living: number; readonly dead: readonly string[] } {
  const { users } = serverPaths(home.dir)
  if (!existsSync(users)) return { living: 0, dead: [] }
  const dead: string[] = []
  // A process that uses a home writes to it.
  const names = readdirSync(users).filter((name) => isWritable(join(users, name)))
  for (const name of names) {
    const lock = tryLock(join(users, name))
    if (lock === undefined) continue
    lock.release()
    dead.push(join(users, name))
  }
  return { living: names.length - dead.length, dead }
}

/** All checks of the server. @param binary the one that would be started; undefined where it will be fetched */
export async function checkServerHome(
  home: Home,
  binary: TemporalBinary | undefined,
  examination: Examination,
): Promise<readonly Check[]> {
  return [
    checkFile(home, binary, examination),
    await checkRecord(home, examination),
    checkUsers(home, examination),
  ]
}

function checkFile(home: Home, binary: TemporalBinary | undefined, examination: Examination): Check {
  const { temporalFile } = home
  const name = basename(temporalFile)
  if (!existsSync(temporalFile)) return check.fine(name, 'none yet')
  const record = readRecord(serverPaths(home.dir).record)
  if (binary !== undefined && record !== undefined) {
    if (compareVersions(binary.serverVersion, record.serverVersion) < 0)
      return check.wrong(
        name,
        `written by Temporal server ${record.serverVersion}; ${binary.path} is the older ${binary.serverVersion}`,
        'Update it, or name a newer one in PERDURE_TEMPORAL_CLI.',
      )
  }
  const problems = fileProblems(temporalFile)
  if (problems.length === 0) return check.fine(name, 'is whole')
  const found = check.wrong(
    name,
    `is damaged: ${problems[0]}`,
    'Restore a backup, or move it aside: `perdure resume` continues runs from their last publication.',
  )
  if (!mayRepair(examination)) return unrepaired(found, examination)
  const stamp = Date.now()
  for (const suffix of ['-wal', '-shm'])
    if (existsSync(temporalFile + suffix))
      moveAside(home, temporalFile + suffix, `temporal-${stamp}.db${suffix}`)
  const target = moveAside(home, temporalFile, `temporal-${stamp}.db`)
  return check.repaired(
    name,
    `was damaged and is now ${target}; \`perdure resume\` continues runs from their last publication`,
  )
}

function fileProblems(file: string): readonly string[] {
  return statSync(file).size === 0 ? ['it is empty (0 bytes)'] : problemsOf(file)
}

async function checkRecord(home: Home, examination: Examination): Promise<Check> {
  const name = 'server record'
  const paths = serverPaths(home.dir)
  if (!existsSync(paths.record)) return check.fine(name, 'none')
  const record = readRecord(paths.record)
  if (record === undefined) return unreadable(home, paths.record, examination)
  if (record.pid === undefined) return check.fine(name, 'says that no server runs')
  if (servesFile(record.pid, paths.database)) {
    const server = await inspectTemporal(home.dir)
    if (server?.running === true && examination.inUse) return check.fine(name, `server ${record.pid} runs`)
    if (server?.silence !== undefined && examination.inUse)
      return check.warning(name, server.silence, 'Wait for a minute and look again.')
    return leftServer(home, record.pid, examination)
  }
  const found = check.warning(
    name,
    `names process ${record.pid}, which does not serve this home any more`,
    'The next command that needs the server puts it right.',
  )
  if (!mayRepair(examination)) return unrepaired(found, examination)
  await stopTemporal(home.dir)
  return check.repaired(name, `named process ${record.pid}, which is gone; it says so now`)
}

function unreadable(home: Home, file: string, examination: Examination): Check {
  const name = 'server record'
  const found = check.warning(
    name,
    `${file} cannot be read: ${readFileSync(file, 'utf8').slice(0, 40)}`,
    'It only saves work and can be moved aside.',
  )
  if (!mayRepair(examination)) return unrepaired(found, examination)
  return check.repaired(name, `could not be read and is now ${moveAside(home, file, 'temporal.json')}`)
}

async function leftServer(home: Home, pid: number, examination: Examination): Promise<Check> {
  const name = 'server record'
  const found = check.warning(
    name,
    `server ${pid} was left behind by a process that was killed`,
    'The next command on this home takes it over and stops it.',
  )
  if (!mayRepair(examination)) return unrepaired(found, examination)
  await stopTemporal(home.dir)
  return check.repaired(name, `server ${pid} was left behind and is stopped`)
}

function checkUsers(home: Home, examination: Examination): Check {
  const name = 'locks'
  const { living, dead } = usersOf(home)
  if (dead.length === 0) return check.fine(name, `${living} in use`)
  const detail = `${plural(dead.length, 'lock')} of processes that were killed`
  if (!examination.repair)
    return unrepaired(check.warning(name, detail, 'They count for nothing.'), examination)
  for (const file of dead) rmSync(file, { force: true })
  return check.repaired(name, `${detail} were removed`)
}
