/**
 * Listening: the one rule for everything that accepts connections.
 *
 * Invariants
 * - A server listens on loopback unless it is given another host.
 * - Another host without a token is refused, and the refusal names the flag.
 * - On loopback a request that names another host is refused: a page of another site cannot reach it by a name of
 *   its own that leads here.
 * - [LISTENING-1] A page of another site gets no answer: its requests are refused by their origin, and those that it could send
 *   without asking first by their content type.
 * - Tokens are compared in constant time and are part of no message.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { Fault } from '../../faults/fault.ts'
import { codeOf } from '../../faults/system-error.ts'
import { chance } from '../services/chance.ts'

export const loopback = '127.0.0.1'

/** Where something listens, and what it asks of those who come. */
export interface ListeningPlace {
  /** Loopback by default. */
  readonly host?: string | undefined
  /** The token that a caller must show; needed on other hosts than loopback. */
  readonly token?: string | undefined
}

/** A server cannot listen on the requested host or port; `message` names the flag. */
export class ListeningFault extends Fault<'open_to_all' | 'not_available'> {
  override readonly name = 'ListeningFault'
}

/** True for this machine alone. @example isLoopback('127.0.0.1') */
export function isLoopback(host: string): boolean {
  return /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|\[::1\]|localhost)$/i.test(host)
}

/** A guess at it would take longer than the universe lasts; a word of a dictionary would not. */
const shortestToken = 16

/**
 * The host to listen on.
 * @param flag names the place in a refusal, e.g. `--metrics-host`
 * @param tokenName how a token is given, e.g. `PERDURE_METRICS_TOKEN`
 * @throws ListeningFault where everybody could come in
 */
export function hostToListenOn({ host = loopback, token }: ListeningPlace, flag: string, tokenName: string) {
  if (isLoopback(host)) return host
  if (token === undefined || token.length < shortestToken)
    throw new ListeningFault(
      'open_to_all',
      `${flag} ${host} lets other machines in: set ${tokenName} to a token of at least ${shortestToken} characters, or leave ${flag} out.`,
    )
  return host
}

/** Why a server does not listen there. @param flag names the port in the message */
export function notAvailable(cause: unknown, flag: string, port: number): ListeningFault {
  const reason = codeOf(cause) === 'EADDRINUSE' ? 'another program has it' : String(cause)
  return new ListeningFault(
    'not_available',
    `${flag} ${port} cannot be listened on (${reason}): choose another, or 0 for any free one.`,
    { cause },
  )
}

/** A token that no one can guess, valid in a path. */
export function newToken(): string {
  return chance.bytes(24).toString('base64url')
}

/** The headers that decide whether a request is answered. */
export interface Knock {
  /** The `Host` header. */
  readonly host?: string | undefined
  /** The `Authorization` header. */
  readonly authorization?: string | undefined
}

/** A request with the headers by which browsers name the page that sent it. */
export interface PageKnock extends Knock {
  readonly method: string
  readonly origin?: string | undefined
  /** `Sec-Fetch-Site` */
  readonly site?: string | undefined
  /** `Sec-Fetch-Mode` */
  readonly mode?: string | undefined
  readonly contentType?: string | undefined
}

/** @param header reads a header of the request by its lower-case name */
export function knockOf(method: string, header: (name: string) => string | undefined): PageKnock {
  return {
    method,
    host: header('host'),
    authorization: header('authorization'),
    origin: header('origin'),
    site: header('sec-fetch-site'),
    mode: header('sec-fetch-mode'),
    contentType: header('content-type'),
  }
}

/**
 * Why a request gets no answer. `other_name`: it calls this server by a name that is not its own; `no_token`; `other_site`: a page
 * of another site sent it; `not_json`: its body is of a type that any page may send without asking.
 */
export type Objection = 'other_name' | 'no_token' | 'other_site' | 'not_json'

/** Whether a request may come in: it names the place by its own name, and shows the token where there is one. */
export function mayEnter(knock: Knock, place: ListeningPlace): boolean {
  return entryObjection(knock, place) === undefined
}

/** The objection to a request that a browser may have sent; undefined where it is answered. */
export function objectionTo(knock: PageKnock, place: ListeningPlace): Objection | undefined {
  const { host, method, origin, site, mode, contentType = '' } = knock
  const refused = entryObjection(knock, place)
  if (refused !== undefined) return refused
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return 'other_site'
  const isRead = method === 'GET' || method === 'HEAD'
  // A link of another site may lead here, and that site sees nothing of the answer.
  const isVisit = method === 'GET' && mode === 'navigate'
  if ((site === 'cross-site' || site === 'same-site') && !isVisit) return 'other_site'
  return isRead || /^application\/json\s*(;|$)/i.test(contentType) ? undefined : 'not_json'
}

function entryObjection(
  knock: Knock,
  { host = loopback, token }: ListeningPlace,
): 'other_name' | 'no_token' | undefined {
  if (isLoopback(host) && !isLoopback(nameOf(knock.host))) return 'other_name'
  const isKnown = token === undefined || isToken(knock.authorization?.replace(/^Bearer /i, ''), token)
  return isKnown ? undefined : 'no_token'
}

/** Compares without telling by its time how much was right. */
export function isToken(shown: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return shown !== undefined && timingSafeEqual(digest(shown), digest(token))
}

function nameOf(hostHeader: string | undefined): string {
  return (hostHeader ?? '').replace(/:\d+$/, '')
}
