/**
 * The address at which Prometheus fetches metrics: Perdure's own and those of Temporal's SDK in one answer.
 *
 * Invariants
 * - It listens on loopback unless told otherwise, and elsewhere asks for a token.
 * - An SDK that does not answer leaves out its own figures, nothing else.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { reasonOf } from '../faults/reason.ts'
import { hostToListenOn, type ListeningPlace, mayEnter, notAvailable } from '../machine/listening.ts'
import type { Metrics } from './metrics.ts'

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
  const server = createServer((request, response) => {
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
