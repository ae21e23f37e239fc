/**
 * A server of environments, asked over HTTP: JSON there, JSON back. One file for what all protocols have in common.
 *
 * Invariants
 * - [REMOTE-1] A request ends: with its answer, or within its limit with a fault that names the server.
 * - [REMOTE-2] An answer beyond its bound is cut off and named; it is never held as a whole.
 * - [REMOTE-3] Only requests that change nothing are sent again; a server that is full is asked again until the limit, by chance
 *   a little earlier or later than others ask.
 */
import { reasonOf } from '../../../faults/reason.ts'
import { AddressFault, type RemoteAddress } from '../../../machine/network/remote-address.ts'
import { chance } from '../../../machine/services/chance.ts'
import { clock, deadlineSignal } from '../../../machine/services/clock.ts'
import { EnvironmentFault } from '../../contract/environment.ts'

/** Milliseconds until it is known whether a server is there and speaks what it should, all requests of the check together. */
export const healthMs = 8_000
/** Bytes of an answer at most: an observation of a megabyte is far beyond what a policy reads. */
export const answerBytes = 16 * 2 ** 20

/** A server, and how it is asked. */
export interface RemoteServer {
  readonly address: RemoteAddress
  readonly headers: Readonly<Record<string, string>>
}

/** A request; without a body it is a GET, which may be sent again. */
export interface ServerRequest {
  /** From the address's own path on. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly withinMs: number
  /** The kind of fault where it gets no answer. */
  readonly lost: 'backend' | 'session_lost'
}

export interface ServerAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const tries = 3
const betweenTriesMs = 300
/** Statuses of a server that is loading or behind another that does not reach it. */
const mayPass = new Set([429, 502, 503, 504])

/** @throws EnvironmentFault of the request's kind */
export async function askServer(server: RemoteServer, request: ServerRequest): Promise<ServerAnswer> {
  const end = clock.monotonic() + request.withinMs
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt === tries || request.body !== undefined
    const left = end - clock.monotonic()
    try {
      const answer = await send(server, request, left)
      if (isLast || !mayPass.has(answer.status)) return answer
    } catch (cause) {
      if (isLast || !(cause instanceof TypeError) || left < 2 * betweenTriesMs)
        throw faultOf(cause, server, request)
    }
    await clock.sleep(betweenTriesMs * attempt + chance.below(betweenTriesMs))
  }
}

/** The JSON of an answer with status 200. @throws EnvironmentFault of the request's kind */
export async function askForJson(server: RemoteServer, request: ServerRequest): Promise<unknown> {
  const answer = await askServer(server, request)
  if (answer.status !== 200)
    throw new EnvironmentFault(
      request.lost,
      `${server.address.shown}: ${request.path} answered with status ${answer.status}: ${excerpt(answer.text)}`,
    )
  return jsonOf(answer, server, request)
}

/** @throws EnvironmentFault of the request's kind, for what is no JSON */
export function jsonOf(
  { text }: ServerAnswer,
  { address }: RemoteServer,
  { path, lost }: Pick<ServerRequest, 'path' | 'lost'>,
): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EnvironmentFault(
      lost,
      `${address.shown}: ${path} answered with what is no JSON: ${excerpt(text)}`,
      { cause },
    )
  }
}

/**
 * The one check of a server before anything is played there: a failure also says what was expected.
 * @param what names the expected server
 * @param work gets what is left of the time for the whole check
 * @throws EnvironmentFault
 */
export async function expecting<Result>(
  what: string,
  work: (leftMs: () => number) => Promise<Result>,
): Promise<Result> {
  const end = clock.monotonic() + healthMs
  try {
    return await work(() => Math.max(1, Math.round(end - clock.monotonic())))
  } catch (cause) {
    // A session that is lost while the check asks for its tools is a server that cannot be played.
    if (!(cause instanceof EnvironmentFault) || !/^(backend|session_lost)$/.test(cause.kind)) throw cause
    throw new EnvironmentFault('backend', `${cause.message}; expected ${what}`, { cause })
  }
}

/** The server has no environment of the name that the address, or the task here, asks for. @param offered those that it has */
export function notOffered(
  { shown }: RemoteAddress,
  name: string,
  offered: readonly string[],
): EnvironmentFault {
  const names = offered.map((each) => `#${each}`).join(', ')
  const cause = new AddressFault(shown, `one of ${names}: the server offers no "${name.slice(0, 80)}"`)
  return new EnvironmentFault('bad_settings', cause.message, { cause })
}

/** A server's words in a message. */
export function excerpt(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim()
  return flat.length > 200 ? `${flat.slice(0, 200)}…` : flat
}

/** The address of a path of the server, which may have a path and a query of its own. */
export function addressOf(
  { address }: RemoteServer,
  path: string,
  query: Readonly<Record<string, string>> = {},
): URL {
  const url = new URL(address.url)
  url.pathname = url.pathname.replace(/\/+$/, '') + path
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

/** Headers of every request. @param given those that the user sets */
export function headersOf(
  { authorization }: RemoteAddress,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return { ...(authorization === undefined ? {} : { authorization }), ...given }
}

/** A server has no place for one more session. */
export class ServerFull extends Error {
  override readonly name = 'ServerFull'
}

const firstWaitMs = 50
const longestWaitMs = 2_000

/** Does work that needs a place on the server, and waits for one. @throws EnvironmentFault `backend` at the limit */
export async function whenThereIsRoom<Result>(
  shown: string,
  withinMs: number,
  work: (leftMs: number) => Promise<Result>,
): Promise<Result> {
  const end = clock.monotonic() + withinMs
  let full: ServerFull | undefined
  for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, longestWaitMs)) {
    try {
      return await work(Math.max(1, Math.round(end - clock.monotonic())))
    } catch (cause) {
      if (cause instanceof ServerFull) full = cause
      // The last try has hardly any time: that it was late says less than why there were tries.
      else if (full === undefined || clock.monotonic() < end) throw cause
      const pause = wait / 2 + chance.below(wait)
      if (clock.monotonic() + pause > end)
        throw new EnvironmentFault(
          'backend',
          `${shown}: it had no place for one more session within ${withinMs / 1000} s (${full.message}); let it hold more, or play fewer episodes at once`,
          { cause: full },
        )
      await clock.sleep(pause)
    }
  }
}

async function send(server: RemoteServer, request: ServerRequest, withinMs: number): Promise<ServerAnswer> {
  const { path, query, body } = request
  const response = await fetch(addressOf(server, path, query), {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...server.headers,
      ...request.headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: deadlineSignal(Math.max(1, withinMs)),
  })
  return { status: response.status, headers: response.headers, text: await textOf(response) }
}

/** The whole answer. @throws RangeError beyond its bound */
export async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    // Leaving the loop cancels the rest.
    if (size > answerBytes)
      throw new RangeError(
        `answered with more than ${answerBytes} bytes, which no answer to what it was asked can have`,
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function faultOf(cause: unknown, { address }: RemoteServer, request: ServerRequest): EnvironmentFault {
  const { path, withinMs, lost } = request
  const words =
    cause instanceof RangeError
      ? `${path} ${cause.message}`
      : (cause as Error).name === 'TimeoutError'
        ? `${path} did not answer within ${withinMs / 1000} s`
        : `cannot be reached (${reasonOf((cause as Error).cause ?? cause)})`
  return new EnvironmentFault(lost, `${address.shown}: ${words}`, { cause })
}
