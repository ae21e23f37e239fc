/** What the sections of a run's curves have in common. */
import type { RunCurves } from '../../../contract/curves.ts'
import type { Axis, Mark } from '../../charts/series.ts'

/** What every section draws from. */
export interface CurvesProps {
  readonly curves: RunCurves
  readonly axis: Axis
  readonly marks: readonly Mark[]
  /** Values before and after that a value is averaged with. */
  readonly reach: number
}
