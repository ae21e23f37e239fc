/**
 * The embedded Temporal server of a home directory, shared by all Perdure processes that use it.
 *
 * Invariants
 * - A home has at most one server, even if many processes start it at once.
 * - A second user reuses the running server; the last user that leaves stops it.
 * - A server that dies is started again on the same ports and the same file by any of its users.
 * - A user killed with SIGKILL does not count; the server it leaves behind is reused by the next
 *   one, or stopped when that one leaves.
 * - [SERVER-ELSEWHERE-1] A home whose server runs in another container, out of reach, gets no second one while it is used there.
 * - A copy of a home has a server of its own, whether that of the original runs or not.
 * - A process that exits without leaving counts no more either, and kills the server that it alone used.
 * - A start that is given up leaves no process.
 * - If the server cannot start, a TemporalFault says what to do.
 */
import { isLoopback } from '../../machine/network/listening.ts'
import { clock } from '../../machine/services/clock.ts'
import { withProxy } from '../calls/proxied.ts'
import { TemporalFault } from './fault.ts'
import { embeddedRemedy, hungAfterMs, silenceWords, watchHealth } from './health.ts'
import { isAtWork, servesFile } from './process.ts'
import { readRecord, type ServerPaths, type ServerRecord, serverPaths } from './record.ts'
import { loopbackAddress } from './startup/launch.ts'
import {
  bringUp,
  type FoundServer,
  findServer,
  preparePaths,
  requireNoneElsewhere,
  stopRecorded,
  takeStartLock,
} from './startup/startup.ts'
import { type RunningTemporal, supervise } from './supervision.ts'
import { countUsers, joinUsers } from './users.ts'

export type { RunningTemporal } from './supervision.ts'

/** A command that only reads does not wait longer for a server that others are about to start again. */
const clientWaitMs = 10_000
const lookEveryMs = 250

export interface TemporalServerOptions {
  /** Receives what happens, in lines for a person. */
  readonly log?: (line: string) => void
  /** Gives up starting; `startTemporal` rejects with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Called when a dead server could not be brought back; the connection stays dead. */
  readonly onFault?: (fault: TemporalFault) => void
  /** Whether a server that hangs is started again rather than reported; true by default. */
  readonly restartsHung?: boolean
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
  const { signal } = options
  const paths = preparePaths(home)
  for (let hung: number | undefined; ; ) {
    let found: FoundServer
    {
      using _ = await takeStartLock(paths, signal)
      found = await findServer(paths)
      if (found.kind !== 'silent' || found.pid === hung) {
        if (found.kind === 'none') requireNoneElsewhere(paths)
        if (found.kind !== 'answers') await stopRecorded(paths, { forcibly: found.kind === 'silent' })
        const record = found.kind === 'answers' ? found.record : await bringUp(paths, log, signal)
        const user = joinUsers(paths.users)
        return supervise({ paths, record, reused: found.kind === 'answers', leave: user.leave, log, options })
      }
    }
    // Without the lock: the process that supervises the server may need it.
    hung = await awaitAnswer(paths, found, options)
  }
}

/**
 * Waits until a silent server answers, or has hung for long enough.
 * @returns its process where it hangs
 * @throws TemporalFault `unreachable` where that is not to be changed here
 */
async function awaitAnswer(
  paths: ServerPaths,
  { record, pid }: Extract<FoundServer, { kind: 'silent' }>,
  { log, signal, restartsHung = true }: TemporalServerOptions,
): Promise<number | undefined> {
  const remedy = { remedy: embeddedRemedy, ...(log === undefined ? {} : { log }) }
  const health = watchHealth(withProxy({ address: loopbackAddress(record.port) }), remedy)
  const atWork = isAtWork(pid)
  try {
    for (;;) {
      const silentMs = health.silentMs()
      if (health.hasAnswered() || !servesFile(pid, paths.database)) return undefined
      if (silentMs >= (restartsHung ? hungAfterMs : clientWaitMs) && !(restartsHung && atWork(silentMs))) {
        if (restartsHung) return pid
        throw new TemporalFault(
          'unreachable',
          `${silenceWords(silentMs)} (process ${pid}): ${remedyOf(paths)}.`,
        )
      }
      await clock.sleep(lookEveryMs, { signal })
    }
  } finally {
    await health.close()
  }
}

/** Who starts a server again that hangs. */
function remedyOf(paths: ServerPaths): string {
  return countUsers(paths.users) > 0
    ? `processes that use it start it again after ${hungAfterMs / 1000} s`
    : 'the next `perdure resume` starts it again'
}

/**
 * Stops the server of a home directory even if it is in use, e.g. one left behind by a killed process.
 * @returns whether one was running
 */
export async function stopTemporal(home: string): Promise<boolean> {
  const paths = preparePaths(home)
  using _ = await takeStartLock(paths)
  return await stopRecorded(paths)
}

/** The state of a home's server. */
export interface TemporalInspection {
  readonly record: ServerRecord
  /** Whether it answers. */
  readonly running: boolean
  /** The report about a server that lives and does not answer. */
  readonly silence?: string
  /** Living processes that use it. */
  readonly users: number
}

/** Inspects the server of a home directory, without changing anything. @returns undefined when none ever ran */
export async function inspectTemporal(home: string): Promise<TemporalInspection | undefined> {
  const paths = serverPaths(home)
  const record = readRecord(paths.record)
  if (record === undefined) return undefined
  const found = await findServer(paths)
  const users = countUsers(paths.users)
  if (found.kind !== 'silent') return { record, running: found.kind === 'answers', users }
  const silence = `the Temporal server (process ${found.pid}) does not answer; ${remedyOf(paths)}`
  return { record, running: false, silence, users }
}

/** True when what listens there is the server of that home directory, as its record and the process say. */
export function servesHome(address: string, home: string): boolean {
  const paths = serverPaths(home)
  const { port, pid } = readRecord(paths.record) ?? {}
  const [, host = '', named] = /^(.*):(\d+)$/.exec(address) ?? []
  if (pid === undefined || Number(named) !== port || !isLoopback(host)) return false
  return servesFile(pid, paths.database)
}
