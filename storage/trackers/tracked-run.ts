/**
 * A run as experiment trackers receive it: its name, its configuration, and named numbers at steps.
 *
 * Invariants
 * - [TRACKED-1] Everything follows from the store alone: the same lines give the same rows, in the order in which they came.
 * - [TRACKED-2] An update is at its own step; an evaluation is at the step that made the version it measured.
 * - [TRACKED-3] The id of a run is the same in every process, and that of another run of the same name is another.
 */
import { createHash } from 'node:crypto'
import { stepOfVersion } from '../../learning/run/version-step.ts'
import {
  isEvaluationMetrics,
  isUpdateMetrics,
  type MetricsLine,
  type UpdateMetrics,
} from '../metrics/metrics.ts'
import type { StoredRun } from '../records/runs.ts'

/** A named number, e.g. `success/alfworld`. */
export type Scalar = readonly [name: string, value: number]

export interface ScalarRow {
  /** Updates made so far. */
  readonly step: number
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly scalars: readonly Scalar[]
}

/** A run in the form for a tracker. */
export interface TrackedRun extends Pick<StoredRun, 'id' | 'created' | 'status' | 'ended'> {
  /** As it is stored: secrets are references. */
  readonly config: Readonly<Record<string, unknown>>
  readonly rows: readonly ScalarRow[]
}

/** A file of a tracker, with all that it should hold. */
export interface TrackerFile {
  /** Under the tracker's folder. */
  readonly path: string
  readonly content: Buffer
  /** Shared with other runs: written where there is none, and left alone afterwards. */
  readonly shared?: true
}

/** How a tracker keeps a run. Pure. @param folder absolute, where it asks for its own place */
export type Tracker = (run: TrackedRun, folder: string) => readonly TrackerFile[]

/** Hexadecimal, 32 digits. */
export function trackedId({ id, created }: Pick<TrackedRun, 'id' | 'created'>): string {
  return createHash('sha256').update(`${id} ${created}`).digest('hex').slice(0, 32)
}

/** A row for each update and each evaluation. @param lines in the order in which they came */
export function scalarRows(lines: readonly MetricsLine[], created: number): readonly ScalarRow[] {
  const rows: ScalarRow[] = []
  const updates: UpdateMetrics[] = []
  for (const line of lines) {
    const time = typeof line.time === 'string' ? Date.parse(line.time) : (rows.at(-1)?.time ?? created)
    if (isUpdateMetrics(line)) {
      const { step, ...rest } = line
      updates.push(line)
      rows.push({ step, time, scalars: scalarsOf(rest, '') })
    } else if (isEvaluationMetrics(line)) {
      const step = stepOfVersion(updates, line.version)
      rows.push({ step, time, scalars: scalarsOf(line, `evaluation/${line.suite}/`) })
    }
  }
  return rows
}

/** Lists, such as histograms, are no scalars. */
function scalarsOf(part: object, prefix: string): readonly Scalar[] {
  return Object.entries(part).flatMap(([name, value]: [string, unknown]): readonly Scalar[] => {
    if (typeof value === 'number') return [[prefix + name, value]]
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isNested ? scalarsOf(value, `${prefix}${name}/`) : []
  })
}
