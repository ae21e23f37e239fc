/** The axes of a run's curves: updates, environment steps, tokens or the time since its start. */
import { count, duration } from '../../../../learning/statistics/figures.ts'
import type { RunCurves } from '../../../contract/curves.ts'
import type { Axis } from '../../charts/series.ts'

export const axisNames = ['updates', 'steps', 'tokens', 'time'] as const
export type AxisName = (typeof axisNames)[number]

export const axisTexts: Readonly<Record<AxisName, string>> = {
  updates: 'Updates',
  steps: 'Environment steps',
  tokens: 'Tokens',
  time: 'Time',
}

/** Seconds between lines of the grid. */
const timeSteps = [
  1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400, 172_800, 604_800,
]

/** The axis of a run's updates. */
export function axisOf(name: AxisName, { step, tokensSoFar, turnsSoFar, time, created }: RunCurves): Axis {
  switch (name) {
    case 'updates':
      return { label: 'update', values: step, write: count, steps: wholeSteps }
    case 'steps':
      return { label: 'environment steps', values: turnsSoFar, write: shortCount }
    case 'tokens':
      return { label: 'tokens', values: tokensSoFar, write: shortCount }
    case 'time':
      return {
        label: 'after',
        values: time.map((at) => (at - created) / 1000),
        write: duration,
        steps: timeSteps,
      }
  }
}

/** Updates are whole: no line of the grid between two of them. */
export const wholeSteps = [1, 2, 5]
  .flatMap((digit) => [1, 10, 100, 1000, 10_000, 100_000].map((ten) => digit * ten))
  .sort((a, b) => a - b)

/** @example shortCount(1_250_000) // '1.25 M' */
export function shortCount(value: number): string {
  if (Math.abs(value) >= 1e9) return `${Number((value / 1e9).toPrecision(3))} G`
  if (Math.abs(value) >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`
  return Math.abs(value) >= 1e4 ? `${Number((value / 1e3).toPrecision(3))} k` : count(value)
}

/** The place of an update on the axis; before the first one it is the beginning of the axis. */
export function positionOf(step: number, curves: RunCurves, axis: Axis): number | undefined {
  const index = curves.step.findLastIndex((each) => each <= step)
  return axis.values[Math.max(0, index)]
}
