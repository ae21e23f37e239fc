/**
 * Startup: finding the server of a home directory, or bringing one up, under the lock that one process at a time holds.
 *
 * Invariants
 * - Everything here but `takeStartLock` and `isHealthy` is done by the process that holds the lock.
 * - A server that lives is ended only after it has been silent for as long as its caller says.
 */
import { reasonOf } from '../../../faults/reason.ts'
import { makeFolder } from '../../../machine/files/folder.ts'
import { isAlive, processOf, readProcess, writtenProcess } from '../../../machine/processes/process.ts'
import { requireDisk } from '../../../storage/disk/room.ts'
import { TemporalFault } from '../fault.ts'
import { type FileLock, lockWithin } from '../file-lock.ts'
import { killProcess, servesAnotherFile, servesFile, stopProcess } from '../process.ts'
import { readRecord, type ServerPaths, type ServerRecord, serverPaths, writeRecord } from '../record.ts'
import { countUsers } from '../users.ts'
import { compareVersions, type TemporalBinary } from './binary.ts'
import { obtainTemporalBinary } from './fetch-binary.ts'
import { identifyServer, launchServer, loopbackAddress } from './launch.ts'
import { thinIndexes } from './list-indexes.ts'
import { chooseFreePorts, isPortOpen, type ServerPorts, searchedRange } from './ports.ts'

/** A holder of the start lock may be starting a server on a slow machine. */
const lockTimeoutMs = 180_000
/** Ports that another starting server takes first are passed over that often. */
const portAttempts = 8

/** The paths of a home's server, whose folders exist. */
export function preparePaths(home: string): ServerPaths {
  const paths = serverPaths(home)
  try {
    for (const folder of [paths.home, paths.logs, paths.locks]) makeFolder(folder)
  } catch (error) {
    throw new TemporalFault(
      'no_permission',
      `The home directory ${paths.home} cannot be written: make it writable, or choose another with --home.`,
      { cause: error },
    )
  }
  return paths
}

/** @throws TemporalFault `busy`, `no_permission` */
export async function takeStartLock(paths: ServerPaths, signal?: AbortSignal): Promise<FileLock> {
  let lock: FileLock | undefined
  try {
    lock = await lockWithin(paths.startLock, lockTimeoutMs, signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw new TemporalFault(
      'no_permission',
      `${paths.startLock} cannot be locked: make ${paths.home} writable, or choose another home on a local disk with --home.`,
      { cause: error },
    )
  }
  if (lock !== undefined) return lock
  throw new TemporalFault(
    'busy',
    `Another process has been starting or stopping the server of ${paths.home} for ${lockTimeoutMs / 60_000} minutes: end that process and try again.`,
  )
}

/** The server that a home's record names, and its actual state. */
export type FoundServer =
  | { readonly kind: 'answers'; readonly record: ServerRecord }
  /** It lives, and has not answered a call of a few seconds. */
  | { readonly kind: 'silent'; readonly record: ServerRecord; readonly pid: number }
  | { readonly kind: 'none' }

/** Looks for the server of a home. */
export async function findServer(paths: ServerPaths): Promise<FoundServer> {
  const record = readRecord(paths.record)
  if (record === undefined) return { kind: 'none' }
  if (await isHealthy(record, paths)) return { kind: 'answers', record }
  const { pid, clusterId } = record
  if (pid === undefined || clusterId === undefined || !servesFile(pid, paths.database))
    return { kind: 'none' }
  return { kind: 'silent', record, pid }
}

/** Whether the recorded server answers a call within seconds, and is the home's own. */
export async function isHealthy(record: ServerRecord, paths: ServerPaths): Promise<boolean> {
  if (record.pid === undefined || record.clusterId === undefined) return false
  // The server of the home that this one is a copy of says the same of itself.
  if (servesAnotherFile(record.pid, paths.database)) return false
  if (!(await isPortOpen(record.port))) return false
  return (await identifyServer(record.port)) === record.clusterId
}

/**
 * Ends the recorded server.
 * @param how.forcibly a server that hangs hears no polite word
 */
export async function stopRecorded(
  paths: ServerPaths,
  how: { readonly forcibly?: boolean } = {},
): Promise<boolean> {
  const record = readRecord(paths.record)
  if (record?.pid === undefined) return false
  const ours = servesFile(record.pid, paths.database)
  if (ours) await (how.forcibly === true ? killProcess(record.pid) : stopProcess(record.pid))
  writeStopped(paths, record)
  return ours
}

/** The same for a process that exits, which can wait for nothing. */
export function killRecorded(paths: ServerPaths): void {
  const record = readRecord(paths.record)
  if (record?.pid === undefined || !servesFile(record.pid, paths.database)) return
  process.kill(record.pid, 'SIGKILL')
  writeStopped(paths, record)
}

function writeStopped(paths: ServerPaths, { pid: _pid, process: _process, ...stopped }: ServerRecord): void {
  writeRecord(paths.record, stopped)
}

/**
 * Two servers on one file take each other's work away, and one in another container can be neither reached nor seen.
 * @throws TemporalFault `unreachable` where living users have a server there
 */
export function requireNoneElsewhere(paths: ServerPaths): void {
  const { pid, process: text = '' } = readRecord(paths.record) ?? {}
  const server = readProcess(text)
  if (pid === undefined || server === undefined || isAlive(server) !== undefined) return
  if (countUsers(paths.users) > 0)
    throw new TemporalFault(
      'unreachable',
      `The Temporal server of ${paths.home} runs in another container (process ${pid} there) and does not answer here: share the network of that container, or end what uses the home there.`,
    )
}

/** Starts a server on its former ports, or else on the next free ones. */
export async function bringUp(
  paths: ServerPaths,
  log: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<ServerRecord> {
  requireDisk(paths.home)
  const former = readRecord(paths.record)
  const binary = await obtainTemporalBinary(log)
  signal?.throwIfAborted()
  refuseOlderServer(paths, binary, former)
  const passedOver = new Set<number>()
  for (let attempt = 1; ; attempt += 1) {
    const ports = await chooseFreePorts(former, passedOver)
    if (ports === undefined)
      throw new TemporalFault(
        'port_in_use',
        `No free pair of ports was found ${searchedRange()}: end programs that use them, or name another first port in PERDURE_TEMPORAL_PORT.`,
      )
    try {
      return await launchOn(paths, binary, ports, log, signal)
    } catch (error) {
      if (!(error instanceof TemporalFault) || error.kind !== 'port_in_use' || attempt >= portAttempts)
        throw error
      passedOver.add(ports.port)
    }
  }
}

/** Starts a server on these ports. */
export async function launchOn(
  paths: ServerPaths,
  binary: TemporalBinary,
  ports: ServerPorts,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<ServerRecord> {
  const described = { ...ports, serverVersion: binary.serverVersion }
  const server = await launchServer(
    binary,
    paths,
    ports,
    (pid) => writeRecord(paths.record, { ...described, ...identityOf(pid) }),
    signal,
  )
  const record: ServerRecord = { ...described, ...identityOf(server.pid), clusterId: server.clusterId }
  writeRecord(paths.record, record)
  try {
    thinIndexes(paths.database)
  } catch (error) {
    log(`The list of workflows is as slow to write as the server makes it: ${reasonOf(error)}`)
  }
  log(`Temporal ${binary.serverVersion} listens on ${loopbackAddress(server.port)}.`)
  return record
}

function identityOf(pid: number): Required<Pick<ServerRecord, 'pid' | 'process'>> {
  return { pid, process: writtenProcess(processOf(pid)) }
}

function refuseOlderServer(
  paths: ServerPaths,
  binary: TemporalBinary,
  former: ServerRecord | undefined,
): void {
  if (former === undefined || compareVersions(binary.serverVersion, former.serverVersion) >= 0) return
  throw new TemporalFault(
    'incompatible_file',
    `${paths.database} was written by Temporal server ${former.serverVersion}, and ${binary.path} is the older ${binary.serverVersion}: update it, name a newer one in PERDURE_TEMPORAL_CLI, or start afresh with another --home.`,
  )
}
