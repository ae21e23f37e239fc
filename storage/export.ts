/**
 * Export: the sealed trajectories of a run in one file for pandas, DuckDB, Hugging Face datasets, and readers of ATIF.
 *
 * Invariants
 * - Memory is bounded by one row group, whatever the size of the run.
 * - The file appears under its name when it is whole; a killed export leaves no half file there.
 * - An episode that fails its checksum is left out and named, the others are exported.
 */
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileWriter, ParquetWriter } from 'hyparquet-writer'
import type { EpisodeId, RunId } from '../identity/identity.ts'
import { makeFolder } from '../machine/files/folder.ts'
import { jsonLine } from '../machine/files/shown-text.ts'
import { packageVersion } from '../machine/processes/build-name.ts'
import { chance } from '../machine/services/chance.ts'
import { StorageFault, storageFaultOf } from './disk/fault.ts'
import type { Store } from './store.ts'
import { shortestFloat32 } from './tables/codec.ts'
import { atifTrajectory } from './trajectories/atif-trajectory.ts'
import type { Trajectory } from './trajectories/trajectory.ts'
import {
  type Learnt,
  type TrajectoryRow,
  trajectoryColumns,
  trajectoryRow,
  trajectorySchema,
} from './trajectories/trajectory-row.ts'

export type ExportFormat = 'jsonl' | 'parquet' | 'atif'

export interface ExportOptions {
  readonly format: ExportFormat
  readonly out: string
  /** The effect of an update on an episode; by default unknown. */
  readonly learnt?: (trajectory: Trajectory, update: number) => Promise<Learnt | undefined>
}

export interface ExportResult {
  readonly file: string
  readonly episodes: number
  readonly tokens: number
  /** Episodes that are not what was sealed. */
  readonly refused: readonly { readonly episode: EpisodeId; readonly reason: string }[]
}

/** Episodes read at once. */
const pageSize = 64
/** A row group ends at either: few enough to hold in memory, large enough to read fast. */
const rowGroupTokens = 1 << 18
const rowGroupRows = 1024

/** Where rows go; `finish` makes the file whole. */
interface RowSink {
  write(row: TrajectoryRow, trajectory: Trajectory): void
  finish(): void
  /** Lets go of the file without making it whole. */
  abandon(): void
}

/**
 * Writes the sealed trajectories of a run, one row per episode, in the order of their ids.
 * @param onProgress called after each page with the number of rows so far
 * @throws StorageFault `missing` unknown run; what keeps the file from being written
 */
export async function exportRun(
  store: Store,
  run: RunId,
  { format, out, learnt = async () => undefined }: ExportOptions,
  onProgress?: (episodes: number) => void,
): Promise<ExportResult> {
  if ((await store.runs.get(run)) === undefined)
    throw new StorageFault('missing', `run ${run} is not in store ${store.file}`)
  const groups = await store.groups.list(run, { consumed: true })
  const updates = new Map<string, number | undefined>(groups.map((group) => [group.id, group.consumedBy]))
  const refused: { episode: EpisodeId; reason: string }[] = []
  let episodes = 0
  let tokens = 0
  const beside = `${out}.${chance.uuid()}.part`
  let sink: RowSink | undefined
  try {
    makeFolder(dirname(out))
    sink = openSink[format](beside)
    for (let after: EpisodeId | '' = ''; ; ) {
      const page = await store.episodes.page(run, after, pageSize)
      for (const { id, parent } of page) {
        try {
          const trajectory = await store.episodes.trajectory(id)
          const update = updates.get(parent)
          const lesson = update === undefined ? undefined : await learnt(trajectory, update)
          const row = trajectoryRow(
            trajectory,
            update ?? null,
            lesson,
            await store.answers.list(trajectory.episode.id),
          )
          sink.write(row, trajectory)
          episodes += 1
          tokens += row.tokens.length
        } catch (error) {
          if (!(error instanceof StorageFault && error.kind === 'corrupt')) throw error
          refused.push({ episode: id, reason: error.message })
        }
      }
      onProgress?.(episodes)
      const last = page.at(-1)
      if (last === undefined) break
      after = last.id
    }
    sink.finish()
    renameSync(beside, out)
    return { file: out, episodes, tokens, refused }
  } catch (error) {
    sink?.abandon()
    rmSync(beside, { force: true })
    throw storageFaultOf(error, `export ${out}`)
  }
}

const openSink: Record<ExportFormat, (file: string) => RowSink> = {
  jsonl: (file) =>
    openJsonLines(file, (row) => ({
      ...row,
      logprobs: row.logprobs.map(shortestFloat32),
      advantages: row.advantages.map(shortestFloat32),
    })),
  parquet: openParquet,
  atif: (file) =>
    openJsonLines(file, ({ update }, trajectory) => atifTrajectory(trajectory, update, packageVersion())),
}

function openJsonLines(
  file: string,
  lineOf: (row: TrajectoryRow, trajectory: Trajectory) => object,
): RowSink {
  const descriptor = openSync(file, 'wx')
  return {
    write(row, trajectory) {
      const bytes = Buffer.from(`${jsonLine(lineOf(row, trajectory))}\n`)
      for (let done = 0; done < bytes.byteLength; ) done += writeSync(descriptor, bytes, done)
    },
    finish: () => closeSync(descriptor),
    abandon: () => closeSync(descriptor),
  }
}

function openParquet(file: string): RowSink {
  const writer = new ParquetWriter({
    writer: fileWriter(file),
    schema: [...trajectorySchema],
    createdBy: 'perdure',
  })
  let rows: TrajectoryRow[] = []
  let tokens = 0

  function flush(): void {
    if (rows.length === 0) return
    writer.write({
      columnData: trajectoryColumns.map((name) => ({ name, data: rows.map((row) => cell(row, name)) })),
      rowGroupSize: rows.length,
    })
    rows = []
    tokens = 0
  }

  return {
    write(row) {
      rows.push(row)
      tokens += row.tokens.length
      if (tokens >= rowGroupTokens || rows.length >= rowGroupRows) flush()
    },
    finish() {
      flush()
      writer.finish()
    },
    abandon() {
      rows = []
    },
  }
}

function cell(row: TrajectoryRow, name: keyof TrajectoryRow): unknown {
  return name === 'created' || name === 'ended' ? new Date(row[name]) : row[name]
}
