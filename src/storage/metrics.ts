/**
 * Metrics: `metrics.jsonl` of a run, one line per update, one per evaluation and one per roll-back.
 *
 * Invariants
 * - An update's step, an evaluation's id and a roll-back's version stand in one line, however often they are
 *   appended.
 * - A last line that a killed process left torn is mended by the next append and ignored by readers.
 * - A line that readers could not understand is never written.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { z } from 'zod'
import type { Precedence } from './codec.ts'
import { StorageFault, storageFaultOf } from './fault.ts'

const count = z.int().min(0)
const perTask = z.record(z.string(), z.number())
const share = z.number().min(0).max(1)

const updateSchema = z.looseObject({
  /** From 1. */
  step: count,
  /** The version that the update published. */
  version: count,
  /** ISO 8601, UTC. */
  time: z.iso.datetime(),
  episodes: count,
  tokens: count,
  /** Mean per task. */
  reward: perTask,
  /** Rate per task. */
  success: perTask,
  /** Episodes per task; absent in files of older versions. */
  samples: z.record(z.string(), count).optional(),
  staleness: z.object({ mean: z.number().min(0), max: z.number().min(0) }),
  /** Share of turns that an older version sampled. */
  stale_share: share,
  kl: z.number(),
  entropy: z.number(),
  clip_fraction: share,
  grad_norm: z.number().min(0),
  seconds: z.object({ wait: z.number().min(0), train: z.number().min(0), publish: z.number().min(0) }),
})

const evaluationSchema = z.looseObject({
  /** The evaluation's id within the run; files of older versions have the run's name before it. */
  evaluation: z.string().min(1),
  version: count,
  suite: z.string().min(1),
  success: share,
  n: count,
})

const rollbackSchema = z.looseObject({
  /** The version whose weights the run went on from. */
  rollback: count,
  /** The version that they got. */
  version: count,
  /** The version that was left behind. */
  from: count,
  /** ISO 8601, UTC. */
  time: z.iso.datetime(),
})

/** One update, with the keys that readers of the file rely on; further keys are kept. */
export type UpdateMetrics = z.output<typeof updateSchema>
/** One evaluation. */
export type EvaluationMetrics = z.output<typeof evaluationSchema>
/** One roll-back. */
export type RollbackMetrics = z.output<typeof rollbackSchema>
export type MetricsLine = UpdateMetrics | EvaluationMetrics | RollbackMetrics

/** True for the line of an update. */
export function isUpdateMetrics(line: MetricsLine): line is UpdateMetrics {
  return 'step' in line
}

/** True for the line of an evaluation. */
export function isEvaluationMetrics(line: MetricsLine): line is EvaluationMetrics {
  return 'evaluation' in line
}

/**
 * Appends a line, unless the file has one for the same update or evaluation.
 * @throws RangeError a figure that is missing, not finite or out of bounds, by name; StorageFault
 */
export function appendMetrics(file: string, line: MetricsLine): Precedence {
  const parsed = schemaOf(line).safeParse(line)
  if (!parsed.success)
    throw new RangeError(`metrics line ${keyOf(line)} cannot be written: ${z.prettifyError(parsed.error)}`)
  try {
    const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o644)
    try {
      const content = readFileSync(descriptor)
      const { complete, tail } = splitTail(content)
      if (complete.some((text) => keyOf(tolerantly(text)) === keyOf(line))) return 'already'
      const end = fstatSync(descriptor).size - tail.byteLength
      // A tail that a newline would complete is kept by completing it, any other is cut off.
      const tailLine = tolerantly(tail.toString('utf8'))
      if (tailLine !== undefined) {
        writeWhole(descriptor, '\n', end + tail.byteLength)
        if (keyOf(tailLine) === keyOf(line)) return 'already'
        writeWhole(descriptor, `${JSON.stringify(line)}\n`, end + tail.byteLength + 1)
      } else {
        ftruncateSync(descriptor, end)
        writeWhole(descriptor, `${JSON.stringify(line)}\n`, end)
      }
      fsyncSync(descriptor)
      return 'first'
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw storageFaultOf(error, `metrics ${file}`)
  }
}

/**
 * All lines in their order; empty where there is no file.
 * @throws StorageFault `corrupt` naming file and line
 */
export function readMetrics(file: string): MetricsLine[] {
  if (!existsSync(file)) return []
  let content: Buffer
  try {
    content = readFileSync(file)
  } catch (error) {
    throw storageFaultOf(error, `metrics ${file}`)
  }
  const { complete, tail } = splitTail(content)
  const lines = complete.map((text, index) => {
    const line = tolerantly(text)
    if (line === undefined)
      throw new StorageFault(
        'corrupt',
        `metrics ${file}, line ${index + 1} is no metrics line; mend or remove it`,
      )
    return line
  })
  const last = tolerantly(tail.toString('utf8'))
  return last === undefined ? lines : [...lines, last]
}

const newline = 0x0a

function splitTail(content: Buffer): { complete: string[]; tail: Buffer } {
  const end = content.lastIndexOf(newline) + 1
  const text = content.subarray(0, Math.max(0, end - 1)).toString('utf8')
  return { complete: end === 0 ? [] : text.split('\n'), tail: content.subarray(end) }
}

function tolerantly(text: string): MetricsLine | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const parsed = z.union([updateSchema, evaluationSchema, rollbackSchema]).safeParse(value)
  return parsed.success ? parsed.data : undefined
}

function keyOf(line: MetricsLine | undefined): string | undefined {
  if (line === undefined) return undefined
  if (isUpdateMetrics(line)) return `step ${line.step}`
  return isEvaluationMetrics(line)
    ? `evaluation ${line.evaluation.split('/').at(-1)}`
    : `rollback ${line.version}`
}

function schemaOf(line: MetricsLine) {
  if (isUpdateMetrics(line)) return updateSchema
  return isEvaluationMetrics(line) ? evaluationSchema : rollbackSchema
}

function writeWhole(descriptor: number, text: string, position: number): void {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.byteLength; )
    done += writeSync(descriptor, bytes, done, bytes.byteLength - done, position + done)
}
