/**
 * Supervision: a process that uses a home's server watches it, and starts it again when it dies or hangs.
 *
 * Invariants
 * - All users of a server watch it, and any of them starts it again.
 * - The server of a home that was deleted ends with the first process that leaves it.
 * - A server that is silent and works, as on a file that is slow, is given more time than one that does nothing.
 * - It comes back on the same ports and the same file.
 * - Among the processes that use it, the holder of the start lock starts it; the others find it there.
 */
import { existsSync } from 'node:fs'
import { reasonOf } from '../../faults/reason.ts'
import { clock } from '../../machine/services/clock.ts'
import { withProxy } from '../calls/proxied.ts'
import { TemporalFault } from './fault.ts'
import { type FileLock, tryLock } from './file-lock.ts'
import { embeddedRemedy, type Health, hungAfterMs, silentAfterMs, watchHealth } from './health.ts'
import { isAtWork, killProcess, servesFile } from './process.ts'
import type { ServerPaths, ServerRecord } from './record.ts'
import { flushRegularly } from './server-file.ts'
import { obtainTemporalBinary } from './startup/fetch-binary.ts'
import { atExit, embeddedNamespace, loopbackAddress } from './startup/launch.ts'
import { isPortOpen } from './startup/ports.ts'
import { findServer, killRecorded, launchOn, stopRecorded, takeStartLock } from './startup/startup.ts'
import { countUsers } from './users.ts'

const watchMs = 500

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
  /** Milliseconds for which it has not answered. */
  silentMs(): number
  /** Settles when what the server has written is on the disk. */
  flushed(): Promise<void>
  /** Whether no one else uses it now. */
  isAlone(): Promise<boolean>
  /** Leaves; the last user stops the server. May be called twice. */
  close(): Promise<void>
}

interface Membership {
  readonly paths: ServerPaths
  readonly record: ServerRecord
  readonly reused: boolean
  readonly leave: () => void
  readonly log: (line: string) => void
  readonly options: { readonly onFault?: (fault: TemporalFault) => void }
}

/** The restart of a home's server that died or hangs. */
interface Restart {
  readonly paths: ServerPaths
  /** The server as it was. */
  readonly record: ServerRecord
  /** The process that hangs, where it is not dead. */
  readonly hung: number | undefined
  readonly log: (line: string) => void
  readonly signal: AbortSignal
}

interface Restarted {
  readonly record: ServerRecord
  /** Whether this process did it; another user may have been faster. */
  readonly byThis: boolean
}

/** Watches the server for as long as this process uses it. */
export function supervise(membership: Membership): RunningTemporal {
  const { paths, log } = membership
  let record = membership.record
  let restarts = 0
  let closed: Promise<void> | undefined
  const stopWatching = new AbortController()
  let health = attend()
  const stay = atExit(leaveAtOnce)
  let leaving: FileLock | undefined
  const flushing = flushRegularly(paths.database, log)

  const watching = watch().catch((error: unknown) => {
    if (stopWatching.signal.aborted) return
    const fault = error instanceof TemporalFault ? error : unwatchable(paths, error)
    log(fault.message)
    membership.options.onFault?.(fault)
  })

  function attend(): Health {
    return watchHealth(withProxy({ address: loopbackAddress(record.port) }), { log, remedy: embeddedRemedy })
  }

  async function watch(): Promise<void> {
    let atWork: ReturnType<typeof isAtWork> | undefined
    while (!stopWatching.signal.aborted) {
      await clock.sleep(watchMs, { signal: stopWatching.signal, ref: false })
      const silentMs = health.silentMs()
      const { pid } = record
      if (!(await isPortOpen(record.port))) await recover('has died')
      else if (silentMs < silentAfterMs || pid === undefined) atWork = undefined
      else {
        atWork ??= isAtWork(pid)
        if (silentMs >= hungAfterMs && !atWork(silentMs))
          await recover(`hangs: it has not answered for ${Math.round(silentMs / 1000)} s`, pid)
      }
    }
  }

  /** @param hung the process that hangs, where it is not dead */
  async function recover(what: string, hung?: number): Promise<void> {
    log(`The Temporal server ${what}; starting it again …`)
    try {
      const restarted = await restartServer({ paths, record, hung, log, signal: stopWatching.signal })
      if (restarted === undefined) return
      record = restarted.record
      if (restarted.byThis) restarts += 1
    } finally {
      // The restarted server begins without a silence.
      await health.close()
      health = attend()
    }
  }

  async function leaveServer(): Promise<void> {
    stopWatching.abort()
    flushing.close()
    await watching
    await health.close()
    if (isHomeGone(paths)) {
      membership.leave()
      if (record.pid !== undefined && servesFile(record.pid, paths.database)) await killProcess(record.pid)
      stay()
      return
    }
    leaving = await takeStartLock(paths)
    try {
      membership.leave()
      if (countUsers(paths.users) === 0) await stopRecorded(paths)
    } finally {
      leaving.release()
      stay()
    }
  }

  /** Another process that holds the start lock joins, starts or stops the server, and is its last user then. */
  function leaveAtOnce(): void {
    membership.leave()
    if (isHomeGone(paths)) {
      if (record.pid !== undefined && servesFile(record.pid, paths.database))
        process.kill(record.pid, 'SIGKILL')
      return
    }
    const lock = leaving ?? tryLock(paths.startLock)
    if (lock === undefined) return
    if (countUsers(paths.users) === 0) killRecorded(paths)
    lock.release()
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
    silentMs: () => health.silentMs(),
    flushed: flushing.flushed,
    isAlone: () => isAlone(paths),
    close() {
      closed ??= leaveServer()
      return closed
    },
  }
}

function unwatchable({ home }: ServerPaths, cause: unknown): TemporalFault {
  return new TemporalFault('gave_up', `The Temporal server of ${home} cannot be watched.`, { cause })
}

async function isAlone(paths: ServerPaths): Promise<boolean> {
  using _ = await takeStartLock(paths)
  return countUsers(paths.users) === 1
}

/** A server of a deleted home can be found by no one else, and its file is gone. */
function isHomeGone(paths: ServerPaths): boolean {
  return !existsSync(paths.record)
}

const lookEveryMs = 500

/** A living server that accepts no connection is starting or ending, and does so within this time. */
const closedAfterMs = 15_000

const firstBackOffMs = 100
const longestBackOffMs = 10_000

/** About a minute of attempts; what has not come back by then needs a person. */
const restartAttempts = 10

/**
 * Starts the server again, or finds it started.
 * @returns undefined once the signal is aborted
 * @throws TemporalFault `gave_up`
 */
async function restartServer(restart: Restart): Promise<Restarted | undefined> {
  const { paths, log, signal } = restart
  let backOffMs = firstBackOffMs
  let lastFault: unknown
  for (let attempt = 1; attempt <= restartAttempts; attempt += 1) {
    if (signal.aborted) return undefined
    try {
      return await restartOnce(restart)
    } catch (error) {
      lastFault = error
      log(reasonOf(error))
    }
    await clock.sleep(backOffMs, { signal, ref: false })
    backOffMs = Math.min(backOffMs * 2, longestBackOffMs)
  }
  throw new TemporalFault(
    'gave_up',
    `The Temporal server of ${paths.home} died and did not come back in ${restartAttempts} attempts; its log is ${paths.log}. Nothing is lost: fix what it names, then resume.`,
    { cause: lastFault },
  )
}

async function restartOnce({ paths, record, hung, log }: Restart): Promise<Restarted> {
  using _ = await takeStartLock(paths)
  const deadline = clock.monotonic() + closedAfterMs
  let found = await findServer(paths)
  while (found.kind === 'silent' && found.pid !== hung && clock.monotonic() < deadline) {
    await clock.sleep(lookEveryMs)
    found = await findServer(paths)
  }
  if (found.kind === 'answers') return { record: found.record, byThis: false }
  await stopRecorded(paths, { forcibly: found.kind === 'silent' })
  const binary = await obtainTemporalBinary(log)
  // Connections of workers and clients go to these ports; no others will do.
  const { port, uiPort } = record
  return { record: await launchOn(paths, binary, { port, uiPort }, log), byThis: true }
}
