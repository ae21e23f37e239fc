/**
 * Grids: the points among which an arm's values are chosen before its own seeds run.
 *
 * Invariants
 * - [GRID-1] A point is an arm of its own, with the tuning seeds: the last key's values change first.
 */
import type { ExperimentFile, FileGrid } from '../schema/experiment-schema.ts'

type SetValues = ExperimentFile['set']

/** An arm as a file states it, or a point of its grid. */
export interface FileArm {
  readonly arm: string
  readonly set: SetValues
  /** The arm whose grid it is a point of. */
  readonly pointOf?: string
}

/** The chosen points, by arm. */
export type Choices = Readonly<Record<string, string>>

/** The arms of a file, and behind them the points of their grids. */
export function armsWithPoints(arms: ExperimentFile['arms']): readonly FileArm[] {
  const read = Object.entries(arms).map(([arm, { grid, ...set }]) => ({ arm, grid, set: set as SetValues }))
  const points = read.flatMap(({ arm, grid, set }): readonly FileArm[] =>
    grid === undefined
      ? []
      : pointsOf(grid).map((point, at) => ({
          arm: pointName(arm, at),
          set: { ...set, ...point },
          pointOf: arm,
        })),
  )
  return [...read.map(({ arm, set }) => ({ arm, set })), ...points]
}

/** @example pointName('tuned', 0) // 'tuned-1' */
function pointName(arm: string, at: number): string {
  return `${arm}-${at + 1}`
}

/** @example pointsOf({ a: [1, 2], b: [3, 4] }) // [{ a: 1, b: 3 }, { a: 1, b: 4 }, { a: 2, b: 3 }, { a: 2, b: 4 }] */
function pointsOf(grid: FileGrid): readonly SetValues[] {
  return Object.entries(grid).reduce<readonly SetValues[]>(
    (points, [key, values]) => points.flatMap((point) => values.map((value) => ({ ...point, [key]: value }))),
    [{}],
  )
}

/** Faults of the grids of a file, worded to follow the key. */
export function gridFaults({
  arms,
  tune,
  seeds,
}: ExperimentFile): readonly { readonly path: readonly PropertyKey[]; readonly words: string }[] {
  const all = armsWithPoints(arms)
  const [point] = all.filter(({ pointOf }) => pointOf !== undefined)
  if (tune === undefined)
    return point?.pointOf === undefined
      ? []
      : [
          {
            path: ['arms', point.pointOf, 'grid'],
            words: 'needs seeds to choose by: expected `tune: {seeds: […]}`',
          },
        ]
  if (point === undefined)
    return [{ path: ['tune'], words: 'has nothing to choose: expected an arm with a `grid`' }]
  const shared = tune.seeds.filter((seed) => seeds.includes(seed))
  const names = all.map(({ arm }) => arm)
  const twice = names.find((name, at) => names.indexOf(name) < at)
  return [
    ...(shared.length === 0
      ? []
      : [
          {
            path: ['tune', 'seeds'],
            words: `has ${shared.join(', ')}, which ${shared.length === 1 ? 'is' : 'are'} among \`seeds\`: expected others, because the choice favours its own`,
          },
        ]),
    ...(twice === undefined
      ? []
      : [{ path: ['arms', twice], words: 'is called as a point of a grid is: expected another name' }]),
  ]
}
