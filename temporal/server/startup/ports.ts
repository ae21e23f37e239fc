/** Ports on the loopback interface. */
import { connect, createServer } from 'node:net'
import { loopback } from '../../../machine/network/listening.ts'
import { TemporalFault } from '../fault.ts'

/** True when a server could listen there now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: loopback, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/** True when something accepts connections there. */
export function isPortOpen(port: number, timeoutMs = 2000): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: loopback, timeout: timeoutMs })
    const settle = (open: boolean) => {
      socket.destroy()
      resolve(open)
    }
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
    socket.once('timeout', () => settle(false))
  })
}

/** Ports of a server: the frontend's and the user interface's. */
export interface ServerPorts {
  readonly port: number
  readonly uiPort: number
}

/** How far the search for free ports goes. */
const searchedPorts = 200
/** The user interface is this far above the frontend, as Temporal's own command does it. */
const uiOffset = 1000
const defaultPort = 7233
const highestPort = 65_535

/**
 * Where the search begins: at Temporal's own port, or at that of `PERDURE_TEMPORAL_PORT`.
 * @throws TemporalFault `bad_settings` where that is no port, or leaves none for the search
 */
function firstPorts(): ServerPorts {
  const named = process.env.PERDURE_TEMPORAL_PORT
  const port = named === undefined || named === '' ? defaultPort : Number(named)
  const highest = highestPort - uiOffset - searchedPorts
  if (!Number.isInteger(port) || port < 1 || port > highest)
    throw new TemporalFault(
      'bad_settings',
      `PERDURE_TEMPORAL_PORT is "${named}", expected the first port to look at, from 1 to ${highest}. Correct it or unset it.`,
    )
  return { port, uiPort: port + uiOffset }
}

/** The ports that are looked at, in words. @throws TemporalFault `bad_settings` */
export function searchedRange(): string {
  const { port, uiPort } = firstPorts()
  return `from ${port} and ${uiPort} upwards`
}

/** Every port at which the user interface of an embedded server may be found. @throws TemporalFault `bad_settings` */
export function possibleUiPorts(): readonly number[] {
  const { uiPort } = firstPorts()
  return Array.from({ length: searchedPorts }, (_, offset) => uiPort + offset)
}

/**
 * The first pair of free ports: the preferred ones, else the first to look at, else the next.
 * @returns undefined when none of the searched pairs is free
 * @throws TemporalFault `bad_settings`
 */
export async function chooseFreePorts(
  preferred: ServerPorts | undefined,
  skip: ReadonlySet<number> = new Set(),
): Promise<ServerPorts | undefined> {
  const candidates: ServerPorts[] = preferred === undefined ? [] : [preferred]
  const first = firstPorts()
  for (let offset = 0; offset < searchedPorts; offset += 1)
    candidates.push({ port: first.port + offset, uiPort: first.uiPort + offset })
  for (const candidate of candidates) {
    if (skip.has(candidate.port)) continue
    if ((await isPortFree(candidate.port)) && (await isPortFree(candidate.uiPort))) return candidate
  }
  return undefined
}
