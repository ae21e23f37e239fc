/**
 * Ctrl-C: the first asks for a clean stop, the second does not wait for it.
 *
 * Invariants
 * - The first signal only tells; whoever listens stops in its own order.
 * - The second ends the process at once with 130: what is finished is durable either way.
 * - An echo of the first signal is no second one: a terminal sends Ctrl-C to every process, and npm and
 *   the launcher pass theirs on as well.
 * - Disposing gives the signals back.
 */
import { exitCodes } from './failure.ts'

const signals = ['SIGINT', 'SIGTERM'] as const
/** Echoes arrive within milliseconds; nobody presses twice that fast. */
const echoMs = 250

/** Listens for Ctrl-C and SIGTERM. */
export interface Interrupt extends Disposable {
  readonly signal: AbortSignal
}

/**
 * @param onForced called before the process ends by force
 * @param source where signals come from and where a forced end goes; the process itself unless tested
 * @param now milliseconds of a clock that only goes forward
 */
export function watchInterrupts(
  onForced: () => void,
  source: Pick<NodeJS.Process, 'on' | 'off' | 'exit'> = process,
  now: () => number = () => performance.now(),
): Interrupt {
  const controller = new AbortController()
  let firstAt: number | undefined
  const listener = (): void => {
    if (firstAt === undefined) {
      firstAt = now()
      controller.abort()
    } else if (now() - firstAt > echoMs) {
      onForced()
      source.exit(exitCodes.interrupted)
    }
  }
  for (const name of signals) source.on(name, listener)
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const name of signals) source.off(name, listener)
    },
  }
}
