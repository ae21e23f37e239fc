/**
 * The log of a process: JSON lines in a file of the home directory, put aside by size.
 *
 * Invariants
 * - Each line names the run, group, episode, turn and update that it is about, where it is about one.
 * - Secrets that this process knows of are in no line.
 * - [LOG-FILE-1] No line holds a control code that a terminal would obey: it is escaped.
 * - A log takes a bounded place on the disk: a full file is put aside, and the oldest of those is deleted.
 * - A log that cannot be written (a full disk, a deleted home) stops no work; it is reported once, in words.
 * - Several processes may write one file: each line is one write, and the file is opened again for each.
 */
import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../faults/system-error.ts'
import { jsonLine } from '../machine/files/shown-text.ts'
import { redact } from '../machine/secrets/secret.ts'
import { storageFaultOf } from '../storage/disk/fault.ts'
import { workOfWorkflow } from './work.ts'

/** A file is put aside at this size. */
const fullBytes = 16 * 1024 * 1024
/** Files that are kept beside the one being written. */
const keptFiles = 4
/** How far a file may grow between two looks at its size. */
const lookEveryBytes = 256 * 1024

export interface LogEntry {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly level: string
  readonly message: string
  readonly meta?: Readonly<Record<string, unknown>> | undefined
}

export interface LogFile {
  write(entry: LogEntry): void
}

export interface LogFileOptions {
  /** Called when the file cannot be written, until it can be again. */
  readonly onSilence: (line: string) => void
  readonly fullBytes?: number
}

/** A log in that file. */
export function createLogFile(file: string, options: LogFileOptions): LogFile {
  const { onSilence, fullBytes: full = fullBytes } = options
  let sinceLook = Number.POSITIVE_INFINITY
  let isTold = false
  return {
    write(entry) {
      const line = `${lineOf(entry)}\n`
      try {
        sinceLook += line.length
        if (sinceLook >= Math.min(lookEveryBytes, full)) {
          if (sizeOf(file) + line.length > full) putAside(file)
          sinceLook = 0
        }
        append(file, line)
        isTold = false
      } catch (error) {
        if (!isTold) onSilence(storageFaultOf(error, `log ${file}`).message)
        isTold = true
      }
    },
  }
}

/** One entry as one line of JSON. */
export function lineOf({ time, level, message, meta = {} }: LogEntry): string {
  const { workflowId } = meta
  const work = typeof workflowId === 'string' ? workOfWorkflow(workflowId) : {}
  const plain = Object.entries(meta).map(([key, value]) => [key, plainOf(value)])
  const entry = { time: new Date(time).toISOString(), level, message, ...work, ...Object.fromEntries(plain) }
  return redact(jsonLine(entry))
}

function plainOf(value: unknown): unknown {
  if (value instanceof Error) return value.stack
  return typeof value === 'bigint' || typeof value === 'symbol' ? String(value) : value
}

/** Adds a line, also where the folder of logs was removed while its home was not. */
function append(file: string, line: string): void {
  try {
    appendFileSync(file, line)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    mkdirSync(dirname(file))
    appendFileSync(file, line)
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** `workers.log` becomes `workers.log.1`, that one `.2`, and so on. */
function putAside(file: string): void {
  for (let number = keptFiles - 1; number >= 0; number--) {
    const from = number === 0 ? file : `${file}.${number}`
    if (sizeOf(from) > 0) renameSync(from, `${file}.${number + 1}`)
  }
}
