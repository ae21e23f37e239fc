/**
 * The figures that trainers report, by the table of metrics.
 *
 * Invariants
 * - A figure is one of these where its row of the table names a trainer.
 */
import { figureOf, type Metric, metricRows, type TrainerFigures } from './metrics.ts'

/** The figures that trainers report, with the row of each. */
export const trainerRows: readonly (readonly [keyof TrainerFigures, Metric])[] = metricRows.flatMap(
  ([name, row]) =>
    row.trainer === undefined ? [] : [[figureOf(name) as keyof TrainerFigures, row] as const],
)

/** The figures that trainers report, without the rest of their statistics. */
export function trainerFigures(statistics: TrainerFigures): TrainerFigures {
  const found = trainerRows.flatMap(([figure]) => {
    const value = statistics[figure]
    return value === undefined ? [] : [[figure, value]]
  })
  return Object.fromEntries(found)
}

/** The figures of an update that trained nothing. */
export const noTrainerFigures: TrainerFigures = Object.fromEntries(
  trainerRows.flatMap(([figure, { trainer }]) => (trainer === 'required' ? [[figure, 0]] : [])),
) as never
