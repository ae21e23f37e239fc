/**
 * Proxies: which connections of this machine go through the HTTP proxy that its variables name.
 *
 * Invariants
 * - [PROXY-1] A connection to this machine never goes through a proxy, whatever the variables say.
 * - A password in a proxy's address is part of no message.
 */
import { BlockList, isIPv4 } from 'node:net'
import { unescape as decoded } from 'node:querystring'
import { isLoopback, loopback } from './listening.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** In the order in which gRPC looks for its proxy. */
const proxyNames = ['grpc_proxy', 'https_proxy', 'http_proxy'] as const
/** In the order in which gRPC looks for its exceptions. */
const exceptionNames = ['no_grpc_proxy', 'no_proxy'] as const
/** With the forms in which libraries expect an address of IPv6. */
const loopbackNames = ['localhost', loopback, '127.0.0.0/8', '::1', '[::1]']

/** The proxy of a connection. */
export interface Proxy {
  /** The variable that names it. */
  readonly variable: string
  /** `host:port` */
  readonly address: string
  readonly credentials?: { readonly username: string; readonly password: string }
}

/**
 * The proxy of a gRPC connection, by the variables and the order that grpc-js uses.
 * @param host without a port
 * @returns undefined where the connection is direct
 */
export function proxyTo(host: string, env: Environment = process.env): Proxy | undefined {
  const variable = proxyNames.find((name) => isSet(env[name]))
  const url = URL.parse(env[variable ?? ''] ?? '')
  if (variable === undefined || url?.protocol !== 'http:' || isLoopback(host) || isException(host, env))
    return undefined
  const username = decoded(url.username)
  const password = decoded(url.password)
  return {
    variable,
    address: `${url.hostname}:${url.port || 80}`,
    ...(username === '' ? {} : { credentials: { username, password } }),
  }
}

function isException(host: string, env: Environment): boolean {
  const listed = exceptionNames.map((name) => env[name]).find(isSet) ?? ''
  return entriesOf(listed).some((entry) => entry === '*' || host.endsWith(entry) || isInNetwork(host, entry))
}

function isInNetwork(host: string, entry: string): boolean {
  const [address = '', bits = ''] = entry.split('/')
  if (!isIPv4(host) || !isIPv4(address) || !/^\d+$/.test(bits) || Number(bits) > 32) return false
  const network = new BlockList()
  network.addSubnet(address, Number(bits))
  return network.check(host)
}

/**
 * Completes the variables of a process that owns its environment, for everything that reads them: libraries, `fetch`
 * under `NODE_USE_ENV_PROXY`, and child processes. Exempts this machine, and gives lower-case names the values of
 * upper-case ones, because gRPC reads only the former.
 */
export function settleProxyVariables(env: Record<string, string | undefined>): void {
  for (const name of [...proxyNames, ...exceptionNames]) {
    const upper = env[name.toUpperCase()]
    if (!isSet(env[name]) && isSet(upper)) env[name] = upper
  }
  const isProxied = [...proxyNames, 'all_proxy', 'ALL_PROXY'].some((name) => isSet(env[name]))
  if (!isProxied) return
  for (const name of exceptionNames) {
    if (name !== 'no_proxy' && !isSet(env[name])) continue
    const exceptions = [...new Set([...entriesOf(env[name] ?? ''), ...loopbackNames])].join(',')
    env[name] = exceptions
    env[name.toUpperCase()] = exceptions
  }
}

/** The variables in force, each with its value; a password in one is left out. */
export function proxyVariables(env: Environment = process.env): readonly string[] {
  const names = [...proxyNames, 'all_proxy', ...exceptionNames].flatMap((name) => [name, name.toUpperCase()])
  return [...names, 'NODE_USE_ENV_PROXY'].flatMap((name) => {
    const value = env[name]
    return isSet(value) ? [`${name}=${value.replace(/\/\/[^@/]*@/, '//…@')}`] : []
  })
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}

function entriesOf(list: string): readonly string[] {
  return list.split(/[\s,]+/).filter(isSet)
}
