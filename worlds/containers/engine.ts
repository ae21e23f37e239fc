/**
 * The connection to a container engine: Docker, or what speaks its language.
 *
 * Invariants
 * - A missing engine is said at once, with its address and what to do.
 * - Every call of every caller has a deadline for its answer, and every answer in pieces has one for its end; connections to a shell or a program last as long as that does.
 * - Every error of the engine leaves as an ContainerFault: a container that is gone is `session_lost`,
 *   everything else `backend`.
 * - Nothing that is looked at stays: the container that is made to ask for a size is never started, and removed.
 */
import { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import { sizeRefusal } from './disk/sized-layers.ts'
import { ContainerFault } from './fault.ts'
import type { EngineSize } from './sandbox.ts'

export interface Engine {
  readonly docker: Docker
  /** As people write it, e.g. `unix:///var/run/docker.sock`. */
  readonly address: string
}

/** How long calls may take: the first pattern that fits the method and the path. */
const deadlines: readonly { readonly call: RegExp; readonly ms: number }[] = [
  // Milliseconds; an engine that is starting may take longer.
  { call: /^GET \/_ping/, ms: 5_000 },
  // An image is read from a disk and unpacked to another.
  { call: /^POST \/(?:images\/create|build)/, ms: 30 * 60_000 },
  // Beside a dozen of starting containers on a busy machine; a removal goes over all that was written.
  { call: /^POST \/containers\/(?:create|[^/]+\/(?:start|wait))|^DELETE/, ms: 120_000 },
  { call: /^/, ms: 30_000 },
]

const defaultAddress = 'unix:///var/run/docker.sock'

/** Abilities of an engine that isolate its containers from each other and from its machine, as `doctor` reports them. */
export interface EngineFacts {
  readonly version: string
  /** The driver, and the file system that it is on where the engine says so. */
  readonly storage: string
  /** Whether layers get a size; unknown where there is no image to try it with. */
  readonly sizes: 'given' | 'unknown' | { readonly refusal: string }
  /** Whose users the kernel counts a container's users as. */
  readonly users: 'those of the machine' | 'mapped' | 'those of a user'
  readonly hasSeccomp: boolean
}

/**
 * Connects to the engine at an address (`unix://…`, the path of a socket, `tcp://host:port`), by default that
 * of `DOCKER_HOST`, else Docker's socket.
 * @throws ContainerFault `backend` where none answers, `bad_settings` for an address that is none
 */
export async function connectEngine(given?: string): Promise<Engine> {
  const { default: Client } = await import('dockerode')
  const address = given ?? process.env.DOCKER_HOST ?? defaultAddress
  // The client itself reads the address, certificates and ssh settings of DOCKER_HOST.
  const docker = given === undefined ? new Client() : new Client(optionsOf(given))
  limitCalls(docker.modem)
  try {
    await docker.ping()
  } catch (cause) {
    throw new ContainerFault(
      'backend',
      `no container engine answers at ${address} (${reasonOf(cause)}): start Docker, or name its address in DOCKER_HOST`,
      { cause },
    )
  }
  return { docker, address }
}

/** The fields of the client's `dial` argument that are read. */
interface Call {
  readonly path: string
  readonly method?: string
  /** Whether the connection is kept as it is. */
  readonly hijack?: boolean
  readonly abortSignal?: AbortSignal
}

type Dial = (options: Call, callback: (error: Error | null, result: unknown) => void) => void

/** Gives every call a deadline: all of them go through the client's `dial`. */
function limitCalls(modem: { dial: Dial }): void {
  const dial = modem.dial.bind(modem)
  modem.dial = (options, callback) => {
    const call = `${options.method ?? 'GET'} ${options.path}`
    const ms = deadlines.find((each) => each.call.test(call))?.ms ?? 0
    const late = new AbortController()
    const overdue = () => new EngineLate(`no answer to ${call.replace(/\?.*/s, '')} in ${ms / 1000} s`)
    let settled = false
    const settle = (error: Error | null, result: unknown) => {
      clearTimeout(timer)
      if (settled) return
      settled = true
      // A hijacked connection is a shell's or a program's, which have deadlines of their own.
      if (options.hijack !== true && result instanceof Readable) limitStream(result, ms, overdue)
      callback(error, result)
    }
    const timer = setTimeout(() => {
      settle(overdue(), null)
      late.abort()
    }, ms)
    dial({ ...options, abortSignal: late.signal }, settle)
  }
}

function limitStream(stream: Readable, ms: number, overdue: () => Error): void {
  const timer = setTimeout(() => stream.destroy(overdue()), ms)
  stream.once('close', () => clearTimeout(timer))
}

function optionsOf(address: string): Docker.DockerOptions {
  const socketPath = address.startsWith('unix://') ? address.slice('unix://'.length) : address
  if (socketPath.startsWith('/')) return { socketPath }
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url !== undefined && ['tcp:', 'http:'].includes(url.protocol) && url.hostname !== '')
    return { protocol: 'http', host: url.hostname, port: url.port || 2375 }
  throw new ContainerFault(
    'bad_settings',
    `"${address}" is no address of a container engine: use unix:///path/of/socket or tcp://host:port`,
  )
}

/** A call that the engine did not answer in time. */
export class EngineLate extends Error {
  override readonly name = 'EngineLate'
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

/** @returns the fault of work on a container; an ContainerFault is returned as it is */
export function engineFault(cause: unknown, what: string): ContainerFault {
  if (cause instanceof ContainerFault) return cause
  const kind = isGone(cause) ? 'session_lost' : 'backend'
  return new ContainerFault(kind, `${what}: ${reasonOf(cause)}`, { cause })
}

const size = z.object({ NCPU: z.number(), MemTotal: z.number() })

/** @throws ContainerFault `backend` */
export async function engineSize({ docker }: Engine): Promise<EngineSize> {
  try {
    const { NCPU: cores, MemTotal: memoryBytes } = size.parse(await docker.info())
    return { cores, memoryBytes }
  } catch (cause) {
    throw engineFault(cause, 'asking the container engine for its size')
  }
}

const information = z.object({
  ServerVersion: z.string().default(''),
  Driver: z.string().default(''),
  DriverStatus: z.array(z.array(z.string())).nullish(),
  SecurityOptions: z.array(z.string()).nullish(),
})

/** @throws ContainerFault `backend` */
export async function engineFacts({ docker }: Engine): Promise<EngineFacts> {
  try {
    const info = information.parse(await docker.info())
    const fileSystem = info.DriverStatus?.find(([name]) => name === 'Backing Filesystem')?.[1]
    const options = new Set((info.SecurityOptions ?? []).map((option) => /name=(\w+)/.exec(option)?.[1]))
    const [image] = await docker.listImages()
    return {
      version: info.ServerVersion,
      storage: fileSystem === undefined ? info.Driver : `${info.Driver} on ${fileSystem}`,
      sizes: image === undefined ? 'unknown' : await sizesOf(docker, image.Id),
      users: options.has('userns')
        ? 'mapped'
        : options.has('rootless')
          ? 'those of a user'
          : 'those of the machine',
      hasSeccomp: options.has('seccomp'),
    }
  } catch (cause) {
    throw engineFault(cause, 'asking the container engine what it can do')
  }
}

async function sizesOf(docker: Engine['docker'], image: string): Promise<EngineFacts['sizes']> {
  const refusal = await sizeRefusal(docker, image)
  return refusal === undefined ? 'given' : { refusal }
}
