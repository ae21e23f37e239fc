/**
 * The way of a gRPC connection: direct, or through the proxy that the machine's variables name.
 *
 * Invariants
 * - Clients and workers go the same way.
 */
import type { ConnectionOptions } from '@temporalio/client'
import type { NativeConnectionOptions } from '@temporalio/worker'
import { proxyTo } from '../../machine/network/proxy.ts'

/** For `Connection.connect` of the client and `NativeConnection.connect` of the worker. */
export type ConnectionWay = NativeConnectionOptions & Pick<ConnectionOptions, 'channelArgs'>

/** Adds the way to a server to what is known of it. The client finds the proxy in the variables, the worker is given it. */
export function withProxy(options: NativeConnectionOptions): ConnectionWay {
  const proxy = proxyTo(hostOf(options.address ?? ''))
  if (proxy === undefined) return { ...options, channelArgs: { 'grpc.enable_http_proxy': 0 } }
  const { address, credentials } = proxy
  return {
    ...options,
    proxy: {
      type: 'http-connect',
      targetHost: address,
      ...(credentials === undefined ? {} : { basicAuth: credentials }),
    },
  }
}

/** An address without its port. */
export function hostOf(address: string): string {
  return address.replace(/:\d+$/, '')
}
