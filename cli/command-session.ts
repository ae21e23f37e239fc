/**
 * The training session of a command: opened for its work, closed after it.
 *
 * Invariants
 * - A signal gives up what is waited for, and the session closes in its own order; the command then ends with 130.
 */
import type { SessionOptions, TrainingSession } from '../client/training-session.ts'
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
  const { openSession } = await import('../client/training-session.ts')
  await using session = await openSession({ home, roles: 'client', log: (line) => terminal.say(line) })
  return await unlessLost(session, work(session))
}

/** Waits for the work, but not beyond the loss of what the session stands on. @throws its reason */
async function unlessLost<T>({ stopped }: TrainingSession, work: Promise<T>): Promise<T> {
  const lost = Promise.withResolvers<never>()
  stopped.catch(lost.reject)
  return await Promise.race([work, lost.promise])
}

/** Does something with a session that has workers. @param work is given up by the signal only as far as it listens */
export async function withWorkers<T>(
  { roles = 'all', ...options }: WorkerSession,
  terminal: Terminal,
  work: (session: TrainingSession) => Promise<T>,
): Promise<T> {
  const { openSession } = await import('../client/training-session.ts')
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
