/**
 * Forty-eight signals on a busy machine: three kinds, once and twice, in eight phases of a run.
 *
 * Invariants
 * - The figures are sums over all cases. A case is good when its command ended with 130 or 0; traces and processes that
 *   are left should be none, and as many runs be brought to their end as there are cases.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { allCases, playCase, type SignalOutcome } from '../test/signal-cases.ts'
import type { Figure } from './figure.ts'

/** Programs that want a core, beside what is measured. */
const load = 20

export async function bench(): Promise<Figure[]> {
  using _ = keepBusy(load)
  const outcomes: SignalOutcome[] = []
  for (const of of allCases) {
    const outcome = await playCase(of)
    outcomes.push(outcome)
    const { output, ...figures } = outcome
    console.error(`${of.phase}, ${of.signal} ${of.times}×: ${JSON.stringify(figures)}`)
    if (!isGood(outcome)) console.error(output)
  }
  const sum = (of: (outcome: SignalOutcome) => number): number =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0)
  return [
    { name: 'signals', value: outcomes.length, unit: 'cases' },
    { name: 'ended with 130', value: sum(({ code }) => Number(code === 130)), unit: 'cases' },
    { name: 'ended with 0', value: sum(({ code }) => Number(code === 0)), unit: 'cases' },
    { name: 'ended otherwise', value: sum(({ code }) => Number(code !== 130 && code !== 0)), unit: 'cases' },
    { name: 'traces', value: sum(({ traces }) => traces.length), unit: 'lines' },
    { name: 'left', value: sum(({ left }) => left.length), unit: 'processes' },
    { name: 'brought to their end', value: sum(({ resumed }) => Number(resumed)), unit: 'runs' },
  ]
}

function isGood({ code, traces, left, resumed }: SignalOutcome): boolean {
  return (code === 130 || code === 0) && traces.length === 0 && left.length === 0 && resumed
}

/** Processes that compute for nothing. */
function keepBusy(count: number): Disposable {
  const children: ChildProcess[] = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  return {
    [Symbol.dispose]() {
      for (const child of children) child.kill('SIGKILL')
    },
  }
}
