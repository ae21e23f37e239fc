/**
 * Ctrl-C: the first asks for a clean stop, the second does not wait for it.
 *
 * Invariants
 * - The first signal only tells; whoever listens stops in its own order.
 * - The second ends the process at once with 130: what is finished is durable either way.
 * - Disposing gives the signals back.
 */
import { exitCodes } from './failure.ts'

const signals = ['SIGINT', 'SIGTERM'] as const

/** Listens for Ctrl-C and SIGTERM. */
export interface Interrupt extends Disposable {
  readonly signal: AbortSignal
}

/**
 * @param onForced called before the process ends by force
 * @param source where signals come from and where a forced end goes; the process itself unless tested
 */
export function watchInterrupts(
  onForced: () => void,
  source: Pick<NodeJS.Process, 'on' | 'off' | 'exit'> = process,
): Interrupt {
  const controller = new AbortController()
  const listener = (): void => {
    if (controller.signal.aborted) {
      onForced()
      source.exit(exitCodes.interrupted)
    } else {
      controller.abort()
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
