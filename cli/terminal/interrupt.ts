/**
 * Signals that ask a process to end: the first asks for a clean stop, the second does not wait for it.
 *
 * Invariants
 * - [INTERRUPT-1] The first signal only asks; a command that listens stops in its own order.
 * - [INTERRUPT-2] The second ends the process at once with 130, or with the code of work that has ended already:
 *   finished work is durable either way.
 * - [INTERRUPT-3] An echo does not count as a second signal: a terminal sends Ctrl-C to every process, and npm passes
 *   its own on a moment later. Signals that the launcher passes on are marked, and count only among themselves.
 * - [INTERRUPT-4] A command that does not listen ends at the first signal with 130.
 * - [INTERRUPT-5] Disposing restores the default handling of signals.
 */
import { exitCodes } from './failure.ts'

/** Ctrl-C, what a service manager sends, and the end of the terminal. */
export const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Echoes arrive within milliseconds, on a busy machine later; hardly anyone presses twice that fast. */
const echoMs = 500

type Source = Pick<NodeJS.Process, 'on' | 'off' | 'exit' | 'listeners'>

/** Commands that listen now. */
let listening = 0

/** Listens for the signals. */
export interface Interrupt extends Disposable {
  readonly signal: AbortSignal
}

/**
 * @param onForced called before the process ends by force; may give another exit code
 * @param source where signals come from and where a forced end goes; the process itself unless tested
 * @param now milliseconds of a clock that only goes forward
 */
export function watchInterrupts(
  onForced: () => number | undefined,
  source: Source = process,
  now: () => number = () => performance.now(),
): Interrupt {
  const controller = new AbortController()
  const firstAt = new Map<unknown, number>()
  const listener = (_: string, from: unknown): void => {
    const way = from === 'launcher' ? from : 'system'
    const first = firstAt.get(way)
    if (first === undefined) {
      firstAt.set(way, now())
      controller.abort()
    } else if (now() - first > echoMs) {
      source.exit(onForced() ?? exitCodes.interrupted)
    }
  }
  let isListening = true
  listening++
  for (const name of endingSignals) source.on(name, listener)
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      if (isListening) listening--
      isListening = false
      for (const name of endingSignals) source.off(name, listener)
    },
  }
}

/** Whether a command listens: it has work in progress that ends in an order of its own. */
export function isListening(): boolean {
  return listening > 0
}

/** Ends the process at a signal for which no command listens; takes over from the launcher. */
export function endUnlessWatched(source: Source = process): Disposable {
  const listener = (): void => {
    if (!isListening()) source.exit(exitCodes.interrupted)
  }
  for (const name of endingSignals) {
    const before = source.listeners(name)
    source.on(name, listener)
    // Last: a signal is lost while nothing listens.
    for (const each of before) source.off(name, each as () => void)
  }
  return {
    [Symbol.dispose]() {
      for (const name of endingSignals) source.off(name, listener)
    },
  }
}

/** Waits for the work, but not beyond the signal. @throws its reason */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  if (signal.aborted) reject(signal.reason)
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return await Promise.race([aborted, work])
}
