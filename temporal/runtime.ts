/**
 * The Temporal runtime of this process: one per process, its log in a file.
 *
 * Invariants
 * - It is installed once; a later home changes only where its log goes.
 * - Workers, workflows, activities and our own lines go into one log.
 * - Lines of workflows and activities that warn are shown to people too, each kind of them once in a while.
 */
import { Context } from '@temporalio/activity'
import { DefaultLogger, type LogLevel, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import { parseWorkflowId } from '../identity/identity.ts'
import { clock } from '../machine/services/clock.ts'
import { createLogFile, type LogFile } from '../telemetry/log-file.ts'

let log: LogFile | undefined
let show: (line: string) => void = console.error
let metricsPort: number | undefined
const lastShown = new Map<string, number>()

/** How often the workers of this process report to the server, which takes one call. */
export const heartbeatSeconds = 10

/** A thousand episodes may meet the same fault at once. */
const showEveryMs = 30_000

export interface RuntimeOptions {
  /** Receives the lines that people should see. */
  readonly onLine?: (line: string) => void
  /** Where the SDK serves its own metrics on loopback; nowhere by default. */
  readonly metricsPort?: number | undefined
}

/** Installs the runtime, or sends the log of the one there is to this file. */
export function installRuntime(file: string, options: RuntimeOptions = {}): void {
  const first = log === undefined
  show = options.onLine ?? console.error
  log = createLogFile(file, { onSilence: (line) => show(line) })
  if (!first) return
  metricsPort = options.metricsPort
  Runtime.install({
    logger: new DefaultLogger(logLevel(), ({ level, timestampNanos, message, meta }) => {
      const time = Number(timestampNanos / 1_000_000n)
      log?.write({ time, level, message, meta })
      if (level === 'WARN' || level === 'ERROR') showLine(message, meta)
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) },
      ...(metricsPort === undefined
        ? {}
        : {
            metrics: { prometheus: { bindAddress: `127.0.0.1:${metricsPort}`, countersTotalSuffix: true } },
          }),
    },
    workerHeartbeatInterval: `${heartbeatSeconds} seconds`,
    shutdownSignals: [], // the command line decides what a signal means
  })
}

/** Where the SDK of this process serves its own metrics. */
export function sdkMetricsPort(): number | undefined {
  return metricsPort
}

/** The same, with its lines in the log too, and what the present activity is about. */
export function logged(onLine: (line: string) => void): (line: string) => void {
  return (line) => {
    onLine(line)
    log?.write({ time: clock.now(), level: 'INFO', message: line, meta: activityAttributes() })
  }
}

function activityAttributes(): Readonly<Record<string, unknown>> {
  try {
    const { workflowExecution, activityType } = Context.current().info
    return { workflowId: workflowExecution?.workflowId, activityType }
  } catch {
    // No activity is in progress: the line is about the process.
    return {}
  }
}

function logLevel(): LogLevel {
  const wanted = (process.env.PERDURE_LOG_LEVEL ?? '').toUpperCase()
  return (['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR'] as const).find((level) => level === wanted) ?? 'INFO'
}

/** Shows lines of workflows and activities, which are about runs; the SDK's own lines go to the log alone. */
function showLine(message: string, meta: Readonly<Record<string, unknown>> | undefined): void {
  if (meta?.sdkComponent !== 'workflow' && meta?.sdkComponent !== 'activity') return
  const now = clock.now()
  if (now - (lastShown.get(message) ?? 0) < showEveryMs) return
  lastShown.set(message, now)
  const { workflowId, turn, reason } = meta
  const work = typeof workflowId === 'string' ? parseWorkflowId(workflowId).id : undefined
  const about = [work, turn === undefined ? undefined : `turn ${turn}`].filter(Boolean).join(', ')
  show(`${about}: ${message}${reason === undefined ? '' : ` (${reason})`}`)
}
