/**
 * The Temporal runtime of this process: one per process, its log in a file.
 *
 * Invariants
 * - It is installed once; a later home changes only where its log goes.
 */
import { appendFileSync } from 'node:fs'
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker'

let logFile: string | undefined

/** Installs the runtime, or sends the log of the one there is to this file. */
export function installRuntime(file: string): void {
  const first = logFile === undefined
  logFile = file
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

/** A log that cannot be written (a full disk, a deleted home) must not stop the work it tells of. */
function write(line: string): void {
  if (logFile === undefined) return
  try {
    appendFileSync(logFile, `${line}\n`)
  } catch {
    process.stderr.write(`${line}\n`)
  }
}

function plainOf(meta: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
  const entries = Object.entries(meta ?? {}).map(([key, value]) => [
    key,
    value instanceof Error ? value.stack : typeof value === 'bigint' ? String(value) : value,
  ])
  return Object.fromEntries(entries)
}
