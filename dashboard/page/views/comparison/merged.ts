/**
 * One axis for several curves, which have points at different places.
 *
 * Invariants
 * - [MERGED-1] Every value keeps the place that its own axis gave it; between its points a curve has none.
 */
import type { Column } from '../../charts/series.ts'

export interface MergedAxis {
  /** All places, in order, each once. */
  readonly values: readonly number[]
  /** A column of the n-th curve, along the merged axis. */
  readonly spread: (curve: number, column: Column) => Column
}

/** @param axes [curves] each in order */
export function mergedAxis(axes: readonly (readonly number[])[]): MergedAxis {
  const values = [...new Set(axes.flat())].sort((a, b) => a - b)
  const position = new Map(values.map((value, at) => [value, at]))
  return {
    values,
    spread(curve, column) {
      const spread: (number | null)[] = values.map(() => null)
      axes[curve]?.forEach((value, at) => {
        const to = position.get(value)
        if (to !== undefined) spread[to] = column[at] ?? null
      })
      return spread
    },
  }
}
