/**
 * The restart of a home's server that died or hangs.
 *
 * Invariants
 * - It comes back on the same ports and the same file.
 * - Among the processes that use it, the holder of the start lock starts it; the others find it there.
 */
import { reasonOf } from '../../faults/reason.ts'
import { clock } from '../../machine/services/clock.ts'
import { TemporalFault } from './fault.ts'
import type { ServerPaths, ServerRecord } from './record.ts'
import { obtainTemporalBinary } from './startup/fetch-binary.ts'
import { findServer, launchOn, stopRecorded, takeStartLock } from './startup/startup.ts'

const lookEveryMs = 500
/** A living server that accepts no connection is starting or ending, and does so within this time. */
const closedAfterMs = 15_000
const firstBackOffMs = 100
const longestBackOffMs = 10_000
/** About a minute of attempts; what has not come back by then needs a person. */
const restartAttempts = 10

export interface Restart {
  readonly paths: ServerPaths
  /** The server as it was. */
  readonly record: ServerRecord
  /** The process that hangs, where it is not dead. */
  readonly hung: number | undefined
  readonly log: (line: string) => void
  readonly signal: AbortSignal
}

export interface Restarted {
  readonly record: ServerRecord
  /** Whether this process did it; another user may have been faster. */
  readonly byThis: boolean
}

/**
 * Starts the server again, or finds it started.
 * @returns undefined once the signal is aborted
 * @throws TemporalFault `gave_up`
 */
export async function restartServer(restart: Restart): Promise<Restarted | undefined> {
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
