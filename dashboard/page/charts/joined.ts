/**
 * Curves that arrive in parts.
 *
 * Invariants
 * - [CURVEPARTS-1] Curves that were asked for in parts are the curves that are asked for at once.
 */
import type { RatioColumn, RunCurves } from '../../contract/curves.ts'

/** Curves and those of later updates as one. */
export function joined(before: RunCurves, after: RunCurves): RunCurves {
  if (after.step.length === 0) return { ...after, ...columnsBefore(before) }
  const [n, m] = [before.step.length, after.step.length]
  return {
    ...after,
    step: [...before.step, ...after.step],
    version: [...before.version, ...after.version],
    time: [...before.time, ...after.time],
    tokensSoFar: [...before.tokensSoFar, ...after.tokensSoFar],
    turnsSoFar: [...before.turnsSoFar, ...after.turnsSoFar],
    stalenessBound: [...before.stalenessBound, ...after.stalenessBound],
    figures: joinedTables(before.figures, after.figures, n, m),
    tasks: joinedByTask(before.tasks, after.tasks, n, m),
    metrics: joinedByTask(before.metrics, after.metrics, n, m),
    fresh: joinedRatios(before.fresh, after.fresh),
    stale: joinedRatios(before.stale, after.stale),
  }
}

type Columns =
  | 'step'
  | 'version'
  | 'time'
  | 'tokensSoFar'
  | 'turnsSoFar'
  | 'stalenessBound'
  | 'figures'
  | 'tasks'
  | 'metrics'
  | 'fresh'
  | 'stale'

function columnsBefore(curves: RunCurves): Pick<RunCurves, Columns> {
  const { step, version, time, tokensSoFar, turnsSoFar, stalenessBound } = curves
  const { figures, tasks, metrics, fresh, stale } = curves
  const amounts = { step, version, time, tokensSoFar, turnsSoFar, stalenessBound }
  return { ...amounts, figures, tasks, metrics, fresh, stale }
}

type Table = Readonly<Record<string, readonly (number | null)[]>>

/** Column by column; a name that one of them lacks (a task that came later) is null there. */
function joinedTables<Columns extends object>(
  before: Columns | undefined,
  after: Columns | undefined,
  n: number,
  m: number,
): Columns {
  const [one, other] = [(before ?? {}) as Table, (after ?? {}) as Table]
  return Object.fromEntries(
    namesOf(one, other).map((name) => [name, [...(one[name] ?? nulls(n)), ...(other[name] ?? nulls(m))]]),
  ) as Columns
}

function joinedByTask<Columns extends object>(
  before: Readonly<Record<string, Columns>>,
  after: Readonly<Record<string, Columns>>,
  n: number,
  m: number,
): Readonly<Record<string, Columns>> {
  const tables = namesOf(before, after).map(
    (task) => [task, joinedTables(before[task], after[task], n, m)] as const,
  )
  return Object.fromEntries(tables)
}

function joinedRatios(before: RatioColumn, after: RatioColumn): RatioColumn {
  return {
    kl: [...before.kl, ...after.kl],
    effective_share: [...before.effective_share, ...after.effective_share],
    tokens: [...before.tokens, ...after.tokens],
    ratios: [...before.ratios, ...after.ratios],
  }
}

function namesOf(one: object, other: object): readonly string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])]
}

function nulls(length: number): readonly null[] {
  return Array.from({ length }, () => null)
}
