/** The common part of the sections of a run's curves. */
import type { RunCurves } from '../../../contract/curves.ts'
import type { Axis, Mark } from '../../charts/series.ts'

/** The data that every section draws. */
export interface CurvesProps {
  readonly curves: RunCurves
  readonly axis: Axis
  readonly marks: readonly Mark[]
  /** Values before and after that a value is averaged with. */
  readonly reach: number
}
