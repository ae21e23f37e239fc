/**
 * The Temporal runtime of this process: one per process, its log in a file.
 *
 * Invariants
 * - It is installed once; a later home changes only where its log goes.
 * - A log that cannot be written (a full disk, a deleted home) stops no work; it is told once, in words.
 */
import { appendFileSync } from 'node:fs'
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import { storageFaultOf } from '../storage/fault.ts'

let logFile: string | undefined
let tell: (line: string) => void = console.error
let isTold = false

/**
 * Installs the runtime, or sends the log of the one there is to this file.
 * @param onSilence told when the file cannot be written, until it can be again
 */
export function installRuntime(file: string, onSilence: (line: string) => void = console.error): void {
  const first = logFile === undefined
  logFile = file
  tell = onSilence
  if (!first) return
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, timestampNanos, message, meta }) => {
      const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString()
      write(JSON.stringify({ time, level, message, ...plainOf(meta) }))
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) },
    },
    shutdownSignals: [], // the command line decides what a signal means
  })
}

function write(line: string): void {
  if (logFile === undefined) return
  try {
    appendFileSync(logFile, `${line}\n`)
    isTold = false
  } catch (error) {
    if (isTold) return
    isTold = true
    tell(storageFaultOf(error, `log ${logFile}`).message)
  }
}

function plainOf(meta: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
  const entries = Object.entries(meta ?? {}).map(([key, value]) => [
    key,
    value instanceof Error ? value.stack : typeof value === 'bigint' ? String(value) : value,
  ])
  return Object.fromEntries(entries)
}
