/**
 * The embedded Temporal server of a home directory, shared by all Perdure processes that use it.
 *
 * Invariants
 * - A home has at most one server, whoever starts it and however many start it at once.
 * - A second user reuses the running server; the last user that leaves stops it.
 * - A server that dies is started again on the same ports and the same file by any of its users.
 * - A user killed with SIGKILL does not count; the server it leaves behind is reused by the next
 *   one, or stopped when that one leaves.
 * - A copy of a home has a server of its own, whether that of the original runs or not.
 * - What keeps the server from starting is a TemporalFault whose message says what to do.
 */
import { mkdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { isLoopback } from '../../listening.ts'
import { reasonOf } from '../../reason.ts'
import { requireRoom } from '../../storage/room.ts'
import { compareVersions, type TemporalBinary } from './binary.ts'
import { TemporalFault } from './fault.ts'
import { obtainTemporalBinary } from './fetch-binary.ts'
import { type FileLock, lockWithin } from './file-lock.ts'
import { embeddedNamespace, identifyServer, launchServer, loopbackAddress } from './launch.ts'
import { type ServerPaths, serverPaths } from './paths.ts'
import { chooseFreePorts, isPortOpen, type ServerPorts, searchedRange } from './ports.ts'
import { servesAnotherFile, servesFile, stopProcess } from './process.ts'
import { readRecord, type ServerRecord, writeRecord } from './record.ts'
import { countUsers, joinUsers } from './users.ts'

/** A holder of the start lock may be starting a server on a slow machine. */
const lockTimeoutMs = 180_000
const watchMs = 500
/** On a machine that is short of CPU a server answers late; one that hangs does not answer within this time. */
const hungAfterMs = 15_000
/** Ports that another starting server takes first are passed over that often. */
const portAttempts = 8
const firstBackOffMs = 100
const longestBackOffMs = 10_000
/** About a minute of attempts; what has not come back by then needs a person. */
const restartAttempts = 10

export interface TemporalServerOptions {
  /** Told what happens, in lines for a person. */
  readonly log?: (line: string) => void
  /** Told when a dead server could not be brought back; the connection stays dead. */
  readonly onFault?: (fault: TemporalFault) => void
}

/** A server in use by this process. */
export interface RunningTemporal {
  readonly address: string
  readonly namespace: string
  readonly uiUrl: string
  /** The server's process now; changes when it is started again. */
  readonly pid: number
  /** Whether it was running already. */
  readonly reused: boolean
  /** How often this process brought it back. */
  readonly restarts: number
  /** Whether nobody else uses it now. */
  isAlone(): Promise<boolean>
  /** Leaves; the last user stops the server. May be called twice. */
  close(): Promise<void>
}

/**
 * Starts the server of the home directory, or joins it.
 * @throws TemporalFault
 */
export async function startTemporal(
  home: string,
  options: TemporalServerOptions = {},
): Promise<RunningTemporal> {
  const log = options.log ?? (() => undefined)
  const paths = preparePaths(home)
  const lock = await takeStartLock(paths)
  try {
    const running = await reuseServer(paths)
    const record = running ?? (await bringUp(paths, log))
    const user = joinUsers(paths.users)
    return supervise({ paths, record, reused: running !== undefined, leave: user.leave, log, options })
  } finally {
    lock.release()
  }
}

/**
 * Stops the server of a home directory whoever uses it, e.g. one left behind by a killed process.
 * @returns whether one was running
 */
export async function stopTemporal(home: string): Promise<boolean> {
  const paths = preparePaths(home)
  const lock = await takeStartLock(paths)
  try {
    return await stopRecorded(paths)
  } finally {
    lock.release()
  }
}

/** What is known of a home's server. */
export interface TemporalInspection {
  readonly record: ServerRecord
  readonly running: boolean
  /** Living processes that use it. */
  readonly users: number
}

/** What runs for a home directory, without changing anything. @returns undefined when nothing ever did */
export async function inspectTemporal(home: string): Promise<TemporalInspection | undefined> {
  const paths = serverPaths(home)
  const record = readRecord(paths.record)
  if (record === undefined) return undefined
  return { record, running: await isHealthy(record, paths), users: countUsers(paths.users) }
}

/** True when what listens there is the server of that home directory, as its record and the process say. */
export function servesHome(address: string, home: string): boolean {
  const paths = serverPaths(home)
  const { port, pid } = readRecord(paths.record) ?? {}
  const [, host = '', named] = /^(.*):(\d+)$/.exec(address) ?? []
  if (pid === undefined || Number(named) !== port || !isLoopback(host)) return false
  return servesFile(pid, paths.database)
}

function preparePaths(home: string): ServerPaths {
  const paths = serverPaths(home)
  try {
    for (const folder of [paths.home, paths.logs, paths.locks]) mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new TemporalFault(
      'no_permission',
      `The home directory ${paths.home} cannot be written: make it writable, or choose another with --home.`,
      { cause: error },
    )
  }
  return paths
}

async function takeStartLock(paths: ServerPaths): Promise<FileLock> {
  let lock: FileLock | undefined
  try {
    lock = await lockWithin(paths.startLock, lockTimeoutMs)
  } catch (error) {
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

/** @returns the record of a server that answers; a hung one is ended */
async function reuseServer(paths: ServerPaths): Promise<ServerRecord | undefined> {
  const record = readRecord(paths.record)
  if (record === undefined) return undefined
  const patience = performance.now() + hungAfterMs
  for (;;) {
    if (await isHealthy(record, paths)) return record
    const mayAnswer =
      record.pid !== undefined && record.clusterId !== undefined && servesFile(record.pid, paths.database)
    if (!mayAnswer || performance.now() >= patience) break
    await delay(watchMs)
  }
  await stopRecorded(paths)
  return undefined
}

async function isHealthy(record: ServerRecord, paths: ServerPaths): Promise<boolean> {
  if (record.pid === undefined || record.clusterId === undefined) return false
  // The server of the home that this one is a copy of says the same of itself.
  if (servesAnotherFile(record.pid, paths.database)) return false
  if (!(await isPortOpen(record.port))) return false
  return (await identifyServer(record.port)) === record.clusterId
}

async function stopRecorded(paths: ServerPaths): Promise<boolean> {
  const record = readRecord(paths.record)
  if (record?.pid === undefined) return false
  const ours = servesFile(record.pid, paths.database)
  if (ours) await stopProcess(record.pid)
  const { pid: _, ...stopped } = record
  writeRecord(paths.record, stopped)
  return ours
}

/** Starts a server on its former ports, or else on the next free ones. */
async function bringUp(paths: ServerPaths, log: (line: string) => void): Promise<ServerRecord> {
  requireRoom(paths.home)
  const former = readRecord(paths.record)
  const binary = await obtainTemporalBinary(log)
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
      return await launchOn(paths, binary, ports, log)
    } catch (error) {
      if (!(error instanceof TemporalFault) || error.kind !== 'port_in_use' || attempt >= portAttempts)
        throw error
      passedOver.add(ports.port)
    }
  }
}

async function launchOn(
  paths: ServerPaths,
  binary: TemporalBinary,
  ports: ServerPorts,
  log: (line: string) => void,
): Promise<ServerRecord> {
  const described = { ...ports, serverVersion: binary.serverVersion }
  const server = await launchServer(binary, paths, ports, (pid) =>
    writeRecord(paths.record, { ...described, pid }),
  )
  const record: ServerRecord = { ...described, pid: server.pid, clusterId: server.clusterId }
  writeRecord(paths.record, record)
  log(`Temporal ${binary.serverVersion} listens on ${loopbackAddress(server.port)}.`)
  return record
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

interface Membership {
  readonly paths: ServerPaths
  readonly record: ServerRecord
  readonly reused: boolean
  readonly leave: () => void
  readonly log: (line: string) => void
  readonly options: TemporalServerOptions
}

/** Watches the server for as long as this process uses it. */
function supervise(membership: Membership): RunningTemporal {
  const { paths, log } = membership
  let record = membership.record
  let restarts = 0
  let closed: Promise<void> | undefined
  const stopWatching = new AbortController()

  const watching = watch().catch((error: unknown) => {
    if (stopWatching.signal.aborted) return
    const fault =
      error instanceof TemporalFault
        ? error
        : new TemporalFault('gave_up', `The Temporal server of ${paths.home} cannot be watched.`, {
            cause: error,
          })
    log(fault.message)
    membership.options.onFault?.(fault)
  })

  async function watch(): Promise<void> {
    while (!stopWatching.signal.aborted) {
      await delay(watchMs, undefined, { signal: stopWatching.signal, ref: false })
      if (await isPortOpen(record.port)) continue
      await recover()
    }
  }

  async function recover(): Promise<void> {
    log('The Temporal server has died; starting it again …')
    let backOffMs = firstBackOffMs
    let lastFault: unknown
    for (let attempt = 1; attempt <= restartAttempts; attempt += 1) {
      if (stopWatching.signal.aborted) return
      try {
        if (await restartOnce()) restarts += 1
        return
      } catch (error) {
        lastFault = error
        log(reasonOf(error))
      }
      await delay(backOffMs, undefined, { signal: stopWatching.signal, ref: false })
      backOffMs = Math.min(backOffMs * 2, longestBackOffMs)
    }
    throw new TemporalFault(
      'gave_up',
      `The Temporal server of ${paths.home} died and did not come back in ${restartAttempts} attempts; its log is ${paths.log}. Nothing is lost: mend what it names, then resume.`,
      { cause: lastFault },
    )
  }

  /** @returns whether this process did it; another user may have been faster */
  async function restartOnce(): Promise<boolean> {
    const lock = await takeStartLock(paths)
    try {
      const running = await reuseServer(paths)
      record = running ?? (await launchOn(paths, await obtainTemporalBinary(log), restartPorts(record), log))
      return running === undefined
    } finally {
      lock.release()
    }
  }

  async function isAlone(): Promise<boolean> {
    const lock = await takeStartLock(paths)
    try {
      return countUsers(paths.users) === 1
    } finally {
      lock.release()
    }
  }

  async function leaveServer(): Promise<void> {
    stopWatching.abort()
    await watching
    const lock = await takeStartLock(paths)
    try {
      membership.leave()
      if (countUsers(paths.users) === 0) await stopRecorded(paths)
    } finally {
      lock.release()
    }
  }

  return {
    address: loopbackAddress(record.port),
    namespace: embeddedNamespace,
    uiUrl: `http://${loopbackAddress(record.uiPort)}`,
    reused: membership.reused,
    get pid() {
      return record.pid ?? 0
    },
    get restarts() {
      return restarts
    },
    isAlone,
    close() {
      closed ??= leaveServer()
      return closed
    },
  }
}

/** Connections of workers and clients go to these ports; no others will do. */
function restartPorts(record: ServerRecord): ServerPorts {
  return { port: record.port, uiPort: record.uiPort }
}
