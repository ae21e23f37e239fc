/**
 * Events of a run beside its updates, with their places on the curves: orders, roll-backs, refused updates.
 *
 * Invariants
 * - [MARKS-1] Every order of the audit trail has a mark; a roll-back has that of the version which it made.
 * - Changes of the policy are drawn over other events.
 */
import { stepOfVersion } from '../../../../learning/run/version-step.ts'
import type { RunCurves } from '../../../contract/curves.ts'
import type { AuditMark } from '../../../contract/run.ts'
import type { Axis, Mark } from '../../charts/series.ts'
import { visible } from '../../parts/visible.ts'
import { positionOf } from './axis.ts'

/** Orders that leave the policy as it is: they are drawn more quietly. */
const quiet = new Set(['evaluate', 'checkpoint', 'promote'])
const quietest = 'var(--line-strong)'

/** @param begin the place of events before the first update; the first update by default */
export function marksOf(
  audit: readonly AuditMark[],
  curves: RunCurves,
  axis: Axis,
  begin: number | undefined = axis.values[0],
): readonly Mark[] {
  const updates = curves.step.map((step, at) => ({ step, version: curves.version[at] ?? 0 }))
  const orders = audit
    .filter(({ what }) => what !== 'rollback')
    .map((entry) => ({
      step: entry.step,
      text: auditText(entry),
      colour: quiet.has(entry.what) ? quietest : 'var(--quiet)',
    }))
  const marks = [
    ...orders.toSorted((a, b) => Number(b.colour === quietest) - Number(a.colour === quietest)),
    ...curves.rollbacks.map(({ to, from, version }) => ({
      step: stepOfVersion(updates, version),
      text: `rolled back from v${from} to v${to}`,
      colour: 'var(--lost)',
    })),
    ...curves.refused.map(({ step, reason }) => ({
      step,
      text: visible(`update refused: ${reason}`),
      colour: 'var(--mixed)',
    })),
  ]
  return marks.flatMap(({ step, text, colour }) => {
    const at = step < (curves.step[0] ?? Number.POSITIVE_INFINITY) ? begin : positionOf(step, curves, axis)
    return at === undefined ? [] : [{ at, text, colour }]
  })
}

/** Orders that name a version or a suite. */
const named: Readonly<Record<string, (to: string) => string>> = {
  evaluate: (suite) => `evaluate on ${suite}`,
  checkpoint: (version) => `checkpoint of v${version}`,
  promote: (version) => `promote v${version}`,
}

/** @example auditText(…) // 'learning.learningRate 0.0004 → 0.0002, by me' */
export function auditText({ what, from, to, by, reason }: AuditMark): string {
  const change = what.includes('.') ? ` ${String(from)} → ${String(to)}` : ''
  const words = to === null ? undefined : named[what]?.(String(to))
  return visible(`${words ?? `${what}${change}`}, by ${by}${reason === null ? '' : `: ${reason}`}`)
}
