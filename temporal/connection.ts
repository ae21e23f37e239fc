/**
 * The way to Temporal: a server that the environment names, or the embedded one of a home directory.
 *
 * Invariants
 * - `TEMPORAL_ADDRESS` and the profiles of Temporal's configuration file win; nothing is started then.
 * - The options serve clients and workers alike.
 * - When `connect` returns, the server answers and has the search attributes.
 * - Calls of workers to a server on this machine are not compressed.
 */
import { Client, Connection } from '@temporalio/client'
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig'
import type { NativeConnectionOptions } from '@temporalio/worker'
import { reasonOf } from '../faults/reason.ts'
import { isLoopback } from '../machine/network/listening.ts'
import { proxyTo } from '../machine/network/proxy.ts'
import { clock, grpcDeadline } from '../machine/services/clock.ts'
import { isNotFound, isUnreached } from './calls/call-status.ts'
import { type ConnectionWay, hostOf, withProxy } from './calls/proxied.ts'
import { unread } from './payload-encryption.ts'
import { reaching, TemporalFault } from './server/fault.ts'
import { embeddedRemedy, silenceWords, silentAfterMs, watchHealth } from './server/health.ts'
import {
  type RunningTemporal,
  servesHome,
  startTemporal,
  type TemporalServerOptions,
} from './server/server.ts'
import { ensureSearchAttributes } from './server/startup/namespace.ts'

/** How long a server may take to answer a command that begins, and when the command says that it waits for it. */
const reachTimeoutMs = 8_000
const silentStartMs = 2_000

/** A server that can be worked with. */
export interface TemporalConnection {
  readonly address: string
  readonly namespace: string
  readonly options: ConnectionWay
  readonly uiUrl: string | undefined
  /** Whether the server is ours to start and stop. */
  readonly embedded: boolean
  /** Whether it serves this home alone, named or not. */
  readonly isOwn: boolean
  /** The report about a server that does not answer now; undefined while it answers. */
  silence(): string | undefined
  /** Settles when what an embedded server has written is on the disk; a server of the user's own sees to that itself. */
  flushed(): Promise<void>
  /** Whether no other process uses the server; false for a server of the user's own, where that is unknown. */
  isAlone(): Promise<boolean>
  /** Leaves an embedded server; the last one stops it. May be called twice. */
  close(): Promise<void>
}

/**
 * Finds the way to Temporal, starting the embedded server where none is named.
 * @throws TemporalFault
 */
export async function connect(
  home: string,
  options: TemporalServerOptions = {},
): Promise<TemporalConnection> {
  const external = externalServer()
  if (external !== undefined) return await reachExternal(external, home, options)
  return embeddedConnection(await startTemporal(home, options))
}

/** Looks at the workflows of a server, for which no key is needed. @throws TemporalFault */
export async function withServer<T>(
  home: string,
  options: TemporalServerOptions,
  use: (client: Client, server: TemporalConnection) => Promise<T>,
): Promise<T> {
  await using opened = new AsyncDisposableStack()
  const server = opened.adopt(await connect(home, options), (each) => each.close())
  return await reaching(server, async () => {
    const connection = opened.adopt(await Connection.connect(server.options), (each) => each.close())
    return await use(new Client({ connection, namespace: server.namespace, dataConverter: unread }), server)
  })
}

/** The way to an embedded server. */
export function embeddedConnection(server: RunningTemporal): TemporalConnection {
  return {
    address: server.address,
    namespace: server.namespace,
    options: withProxy({ address: server.address }),
    uiUrl: server.uiUrl,
    embedded: true,
    isOwn: true,
    silence: () => spoken(server.silentMs(), embeddedRemedy),
    flushed: () => server.flushed(),
    isAlone: () => server.isAlone(),
    close: () => server.close(),
  }
}

/** A server that the environment or a profile names. */
export interface ExternalServer {
  readonly address: string
  readonly namespace: string
  readonly options: ConnectionWay
}

/**
 * Reads `TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_TLS…`, `TEMPORAL_API_KEY` and the profile
 * that `TEMPORAL_PROFILE` names in Temporal's configuration file.
 * @returns undefined when no address is named
 * @throws TemporalFault `bad_settings`
 */
export function externalServer(): ExternalServer | undefined {
  let config: ClientConnectConfig
  try {
    config = loadClientConnectConfig()
  } catch (error) {
    throw new TemporalFault(
      'bad_settings',
      `Temporal's settings (TEMPORAL_… variables or the file that TEMPORAL_CONFIG_FILE names) are wrong: ${reasonOf(error)}`,
      { cause: error },
    )
  }
  const { address } = config.connectionOptions
  if (address === undefined || address === '') return undefined
  return { address, namespace: config.namespace ?? 'default', options: withProxy(config.connectionOptions) }
}

async function reachExternal(
  server: ExternalServer,
  home: string,
  { log }: TemporalServerOptions,
): Promise<TemporalConnection> {
  const notice = clock.after(silentStartMs, () =>
    log?.(
      `The Temporal server at ${server.address} has not answered yet; it has ${reachTimeoutMs / 1000} seconds.`,
    ),
  )
  try {
    await requireAnswer(server)
  } finally {
    notice.cancel()
  }
  const health = watchHealth(server.options, log === undefined ? {} : { log })
  return {
    ...server,
    uiUrl: cloudUiUrl(server),
    embedded: false,
    isOwn: servesHome(server.address, home),
    silence: () => spoken(health.silentMs()),
    flushed: () => Promise.resolve(),
    isAlone: () => Promise.resolve(false),
    close: () => health.close(),
  }
}

/** Sees that the server answers and has the namespace, with the search attributes. @throws TemporalFault */
async function requireAnswer(server: ExternalServer): Promise<void> {
  let connection: Connection
  try {
    connection = await Connection.connect({ ...server.options, connectTimeout: reachTimeoutMs })
  } catch (error) {
    throw unreachable(server, error)
  }
  try {
    await connection.withDeadline(grpcDeadline(reachTimeoutMs), async () => {
      await refuseUnknownNamespace(connection, server)
      await ensureSearchAttributes(connection, server.namespace)
    })
  } catch (error) {
    throw isUnreached(error) ? unreachable(server, error) : error
  } finally {
    await connection.close()
  }
}

function unreachable({ address }: ExternalServer, cause: unknown): TemporalFault {
  const proxy = proxyTo(hostOf(address))
  const way = proxy === undefined ? '' : ` through the proxy ${proxy.address} that ${proxy.variable} names`
  const more = proxy === undefined ? '' : `, that proxy (no_proxy exempts servers from it)`
  return new TemporalFault(
    'unreachable',
    `The Temporal server at ${address} does not answer${way}: check TEMPORAL_ADDRESS${more}, TLS and API key, or unset TEMPORAL_ADDRESS to use the embedded server.`,
    { cause },
  )
}

/** @throws TemporalFault `unknown_namespace` */
async function refuseUnknownNamespace(
  { workflowService }: Connection,
  { address, namespace }: ExternalServer,
): Promise<void> {
  try {
    await workflowService.describeNamespace({ namespace })
  } catch (error) {
    // A namespace that may not be described may be used all the same.
    if (!isNotFound(error)) return
    throw new TemporalFault(
      'unknown_namespace',
      `The Temporal server at ${address} has no namespace "${namespace}": correct TEMPORAL_NAMESPACE, or have it made with \`temporal operator namespace create --namespace ${namespace}\`.`,
      { cause: error },
    )
  }
}

function spoken(silentMs: number, remedy?: string): string | undefined {
  return silentMs < silentAfterMs ? undefined : silenceWords(silentMs, remedy)
}

/**
 * How a worker packs what it says to a server. The runtime's default, gzip, saves a network's bytes; on one
 * machine it costs a seventh of all turns per second.
 */
export function compressionTo(address: string): NonNullable<NativeConnectionOptions['grpcCompression']> {
  return { codec: isLoopback(hostOf(address)) ? 'none' : 'gzip' }
}

/** Only Temporal Cloud's address tells where its user interface is. */
function cloudUiUrl(server: ExternalServer): string | undefined {
  const host = hostOf(server.address)
  return /\.(tmprl\.cloud|api\.temporal\.io)$/.test(host)
    ? `https://cloud.temporal.io/namespaces/${server.namespace}`
    : undefined
}
