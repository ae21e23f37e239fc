/**
 * Effect of Ctrl-C, a service manager and a closed terminal on a run: one moment of each phase.
 * `npm run bench -- signals` plays all.
 */
import { expect, it } from 'vitest'
import { phases, playCase, type SignalCase, signals, signalUntilEnd } from './signal-cases.ts'

/** Each phase with one of the signals, every other one twice. */
const cases: readonly SignalCase[] = phases.map((phase, at) => ({
  phase,
  signal: signals[at % signals.length] ?? 'SIGINT',
  times: at % 2 === 0 ? 2 : 1,
  seed: at,
}))

it.each(cases)(
  '$signal during $phase, sent $times times, ends with 130 or what was done, leaves no trace and no process, and the run continues to its end',
  async (of) => {
    const { code, traces, left, resumed, output } = await playCase(of)
    expect({ code, traces, left, resumed }, output).toEqual({
      code: code === 0 ? 0 : 130,
      traces: [],
      left: [],
      resumed: true,
    })
  },
  900_000,
)

it.each(signals)(
  '%s sent again while the process takes itself down changes nothing of its code',
  async (signal) => {
    expect(await signalUntilEnd(signal)).toBe(130)
  },
  900_000,
)
