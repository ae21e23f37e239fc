/**
 * Telemetry: what a process tells of its work while it works.
 *
 * Invariants
 * - Traces and metrics are off unless asked for; off, none of their packages is loaded and there are no observers.
 * - Closing sends what is left and stops what listens.
 */
import { createServer } from 'node:net'
import { type ListeningPlace, loopback } from '../machine/listening.ts'
import { createMetrics, type ReadProgress } from './metrics.ts'
import { type MetricsEndpoint, serveMetrics } from './metrics-endpoint.ts'
import type { Observer } from './observation.ts'
import { startTracing, wantsTraces } from './tracing.ts'

/** Where Prometheus fetches metrics. */
export interface MetricsPlace extends ListeningPlace {
  /** 0 takes any free one. */
  readonly port: number
}

export interface TelemetryOptions {
  /** No metrics are served without one. */
  readonly metrics?: MetricsPlace | undefined
  readonly roles: readonly string[]
  readonly readProgress: ReadProgress
  /** When a run was created. */
  readonly createdOf: (run: string) => Promise<number | undefined>
  readonly log: (line: string) => void
}

export interface Telemetry {
  readonly observers: readonly Observer[]
  close(): Promise<void>
}

/** Where the SDK is to serve its own metrics, where any are asked for: a free port on loopback. */
export async function portForSdk(metrics: MetricsPlace | undefined): Promise<number | undefined> {
  if (metrics === undefined) return undefined
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port: 0, host: loopback }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined))
    })
  })
}

/**
 * Starts what is asked for.
 * @param sdkPort where the SDK serves its metrics
 * @throws ListeningFault
 */
export async function startTelemetry(
  options: TelemetryOptions,
  sdkPort: number | undefined,
): Promise<Telemetry> {
  const { metrics: place, roles, readProgress, createdOf, log } = options
  const tracing = wantsTraces() ? await startTracing({ createdOf, roles }) : undefined
  const metrics = place === undefined ? undefined : await createMetrics(readProgress)
  let endpoint: MetricsEndpoint | undefined
  if (place !== undefined && metrics !== undefined) {
    endpoint = await serveMetrics({ ...place, metrics, sdkPort })
    log(`Metrics are at ${endpoint.url}`)
  }
  return {
    observers: [tracing, metrics].flatMap((each) => (each === undefined ? [] : [each.observe])),
    async close() {
      await endpoint?.close()
      await tracing?.close()
    },
  }
}
