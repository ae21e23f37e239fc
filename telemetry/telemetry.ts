/**
 * Telemetry: traces, metrics and logs of a process while it works.
 *
 * Invariants
 * - Traces and metrics are off unless asked for; off, none of their packages is loaded and there are no observers.
 * - Closing sends what is left and stops what listens.
 * - The address at which Prometheus fetches metrics is on loopback by default, and asks for a token on any other host.
 * - An SDK that does not answer leaves out its own figures, nothing else.
 */

import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { reasonOf } from '../faults/reason.ts'
import {
  hostToListenOn,
  type ListeningPlace,
  loopback,
  mayEnter,
  notAvailable,
} from '../machine/network/listening.ts'
import { createMetrics, type Metrics, type ReadProgress } from './metrics.ts'
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

export interface MetricsEndpointOptions extends ListeningPlace {
  /** 0 takes any free one. */
  readonly port: number
  readonly metrics: Metrics
  /** Where the SDK serves its own figures on loopback. */
  readonly sdkPort: number | undefined
}

export interface MetricsEndpoint {
  readonly url: string
  close(): Promise<void>
}

const sdkDeadlineMs = 2000

/** Serves until it is closed. @throws ListeningFault where everybody could come in, or the port is taken */
export async function serveMetrics(options: MetricsEndpointOptions): Promise<MetricsEndpoint> {
  const host = hostToListenOn(options, '--metrics-host', 'PERDURE_METRICS_TOKEN')
  const server = createHttpServer((request, response) => {
    answer(request, response, { ...options, host }).catch((error: unknown) => {
      response.writeHead(500).end(reasonOf(error))
    })
  })
  server.listen({ host, port: options.port })
  // Work keeps the process alive, not those who look at it.
  server.unref()
  await once(server, 'listening').catch((error: unknown) => {
    throw notAvailable(error, '--metrics-port', options.port)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(
  { method, url, headers }: IncomingMessage,
  response: ServerResponse,
  { metrics, sdkPort, host, token }: MetricsEndpointOptions,
): Promise<void> {
  if (!mayEnter(headers, { host, token })) {
    response.writeHead(token === undefined ? 421 : 401, { 'www-authenticate': 'Bearer' }).end()
    return
  }
  if (method !== 'GET' || url?.split('?')[0] !== '/metrics') {
    response.writeHead(404).end('metrics are at /metrics\n')
    return
  }
  const [own, sdk] = await Promise.all([metrics.text(), sdkPort === undefined ? '' : sdkText(sdkPort)])
  response.writeHead(200, { 'content-type': metrics.contentType }).end(`${own}${sdk}`)
}

async function sdkText(port: number): Promise<string> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`, {
      signal: AbortSignal.timeout(sdkDeadlineMs),
    })
    return response.ok ? await response.text() : ''
  } catch {
    return ''
  }
}
