/**
 * The connection to a container engine: Docker, or what speaks its language.
 *
 * Invariants
 * - A missing engine is said at once, with its address and what to do.
 * - Every error of the engine leaves as an EnvironmentFault: a container that is gone is `session_lost`,
 *   everything else `backend`.
 */
import type Docker from 'dockerode'
import { reasonOf } from '../../reason.ts'
import { EnvironmentFault } from '../environment.ts'

export interface Engine {
  readonly docker: Docker
  /** As people write it, e.g. `unix:///var/run/docker.sock`. */
  readonly address: string
}

/** The answer to a ping takes milliseconds; an engine that is starting may take longer. */
const pingTimeoutMs = 5_000
const defaultAddress = 'unix:///var/run/docker.sock'

/**
 * Connects to the engine at an address (`unix://…`, the path of a socket, `tcp://host:port`), by default that
 * of `DOCKER_HOST`, else Docker's socket.
 * @throws EnvironmentFault `backend` where none answers, `bad_settings` for an address that is none
 */
export async function connectEngine(given?: string): Promise<Engine> {
  const { default: Client } = await import('dockerode')
  const address = given ?? process.env.DOCKER_HOST ?? defaultAddress
  // Of DOCKER_HOST the client itself reads the address, certificates and ssh.
  const docker = given === undefined ? new Client() : new Client(optionsOf(given))
  try {
    await inTime(docker.ping())
  } catch (cause) {
    throw new EnvironmentFault(
      'backend',
      `no container engine answers at ${address} (${reasonOf(cause)}): start Docker, or name its address in DOCKER_HOST`,
      { cause },
    )
  }
  return { docker, address }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer in ${pingTimeoutMs / 1000} s`)), pingTimeoutMs)
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

function optionsOf(address: string): Docker.DockerOptions {
  const socketPath = address.startsWith('unix://') ? address.slice('unix://'.length) : address
  if (socketPath.startsWith('/')) return { socketPath }
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url !== undefined && ['tcp:', 'http:'].includes(url.protocol) && url.hostname !== '')
    return { protocol: 'http', host: url.hostname, port: url.port || 2375 }
  throw new EnvironmentFault(
    'bad_settings',
    `"${address}" is no address of a container engine: use unix:///path/of/socket or tcp://host:port`,
  )
}

/** The status that the engine answered with; undefined where it did not answer. */
export function statusOf(error: unknown): number | undefined {
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : 0
  return typeof status === 'number' && status > 0 ? status : undefined
}

/** Whether what was to be ended is gone, or on its way: 404, and 409 for a removal that is under way. */
export function isGone(error: unknown): boolean {
  const status = statusOf(error)
  return status === 404 || (status === 409 && /is not running|removal of container/.test(reasonOf(error)))
}

/** @returns the fault of work on a container; an EnvironmentFault is returned as it is */
export function engineFault(cause: unknown, what: string): EnvironmentFault {
  if (cause instanceof EnvironmentFault) return cause
  const kind = isGone(cause) ? 'session_lost' : 'backend'
  return new EnvironmentFault(kind, `${what}: ${reasonOf(cause)}`, { cause })
}
