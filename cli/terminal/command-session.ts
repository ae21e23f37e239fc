/**
 * The training session of a command: opened for its work, closed after it.
 *
 * Invariants
 * - [COMMAND-SESSION-1] A wait ends, or the command fails with a reason: also when the session loses its store
 *   or server, or its workers stop by themselves.
 * - A signal ends the wait, and the session closes in its own order; the command then ends with 130.
 */
import { SessionFault } from '../../client/run/session-fault.ts'
import type { SessionOptions, TrainingSession } from '../../client/session/training-session.ts'
import { exitCodes } from './failure.ts'
import { unlessAborted, watchInterrupts } from './interrupt.ts'
import { logLostOutput } from './output.ts'
import type { Terminal } from './terminal.ts'

interface WorkerSession extends Pick<SessionOptions, 'home' | 'metrics' | 'shared' | 'cache'> {
  /** All by default. */
  readonly roles?: SessionOptions['roles']
  readonly signal: AbortSignal
}

/** Does something with a session that starts no workers. */
export async function withClient<T>(
  home: string,
  terminal: Terminal,
  work: (session: TrainingSession) => Promise<T>,
): Promise<T> {
  const { openSession } = await import('../../client/session/training-session.ts')
  await using session = await openSession({ home, roles: 'client', log: (line) => terminal.say(line) })
  return await unlessLost(session, work(session))
}

/**
 * Waits for the work, but not beyond the end of what does it.
 * @throws the reason for which the session lost its home, its server or its workers; SessionFault `no_workers`
 */
export async function unlessLost<T>(
  { stopped }: Pick<TrainingSession, 'stopped'>,
  work: Promise<T>,
): Promise<T> {
  const deserted = stopped.then(() => {
    throw new SessionFault('no_workers', 'the workers of this process stopped before the work was done')
  })
  return await Promise.race([work, deserted])
}

/** Does something with a session that has workers. @param work is given up by the signal only as far as it listens */
export async function withWorkers<T>(
  { roles = 'all', ...options }: WorkerSession,
  terminal: Terminal,
  work: (session: TrainingSession) => Promise<T>,
): Promise<T> {
  const { openSession } = await import('../../client/session/training-session.ts')
  await using session = await openSession({ ...options, roles, log: (line) => terminal.say(line) })
  logLostOutput()
  return await work(session)
}

/** Asks something of workers in this process, and reports it unless a signal comes first. */
export async function askWorkers<T>(
  home: string,
  terminal: Terminal,
  ask: (session: TrainingSession) => Promise<T>,
  report: (answer: T) => void,
): Promise<void> {
  using interrupt = watchInterrupts(() => undefined)
  const { signal } = interrupt
  try {
    await withWorkers({ home, signal }, terminal, async (session) =>
      report(await unlessAborted(signal, unlessLost(session, ask(session)))),
    )
  } catch (error) {
    if (!signal.aborted) throw error
    terminal.say('Interrupted; the same command continues where it stopped.')
    process.exitCode = exitCodes.interrupted
  }
}
