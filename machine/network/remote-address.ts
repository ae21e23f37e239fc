/**
 * Addresses of environments elsewhere: `PROTOCOL+URL` of a server, `harbor+FOLDER` of task folders, with `#NAME` where there are several.
 *
 * Invariants
 * - [ADDRESS-1] Whatever begins like an address is one, or is refused with its value and what is allowed; it is never looked for as a
 *   path or a package.
 * - [ADDRESS-2] References to secrets, `${NAME}`, stay as they are in every text that is stored or shown.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault } from '../../faults/fault.ts'
import { withoutTilde } from '../files/folder.ts'

/** The protocols of servers of environments. */
const serverProtocols = ['openenv', 'agentrl'] as const
export type RemoteProtocol = (typeof serverProtocols)[number] | 'harbor'

/** The place of a server, or of a folder. */
interface ServerUrl {
  /** With secrets filled in; without a password and without `#NAME`. That of a folder is a `file:` URL. */
  readonly url: URL
  /** The header that logs in, where the address has a user or a password. */
  readonly authorization?: string
}

/** A server's address. */
export interface RemoteAddress extends ServerUrl {
  readonly protocol: RemoteProtocol
  /** The task that is meant, where the address names it. */
  readonly name?: string
  /** As it was written. */
  readonly shown: string
}

/** An address that cannot be one. */
export class AddressFault extends Fault<'bad_address'> {
  override readonly name = 'AddressFault'
  protected static override readonly permanentKinds = 'all'
  /** The values that are allowed in its place. */
  readonly allowed: string

  constructor(text: string, allowed: string) {
    super('bad_address', `"${text.slice(0, 200)}": expected ${allowed}`)
    this.allowed = allowed
  }
}

const beginning = /^(?:([A-Za-z][\w-]*)\+|(?!file:)[A-Za-z][\w.-]*:\/\/)/
const allowed = [
  ...serverProtocols.map((protocol) => `${protocol}+http(s)://HOST:PORT[#NAME]`),
  'harbor+FOLDER[#NAME]',
].join(' or ')

/** @example isRemoteAddress('openenv+http://127.0.0.1:8000') // true, and of './guess-number' false */
export function isRemoteAddress(text: string): boolean {
  return beginning.test(text)
}

/**
 * Reads an address.
 * @param fill puts secrets in the place of their references; without it they stay
 * @throws AddressFault
 * @example readRemoteAddress('openenv+http://127.0.0.1:8000#maze').name // 'maze'
 */
export function readRemoteAddress(text: string, fill = (part: string) => part): RemoteAddress {
  const [, scheme = ''] = beginning.exec(text) ?? []
  if (scheme.toLowerCase() === 'harbor') return readFolderAddress(text)
  const protocol = serverProtocols.find((known) => known === scheme.toLowerCase())
  if (protocol === undefined) throw new AddressFault(text, allowed)
  const [written = '', ...names] = text.slice(scheme.length + 1).split('#')
  const server = serverUrl(written, fill)
  if (server === undefined) throw new AddressFault(text, allowed)
  const name = names.join('#')
  return {
    protocol,
    ...server,
    shown: text,
    ...(name === '' ? {} : { name }),
  }
}

/**
 * Reads the address of a server whose protocol is known.
 * @param fill as of `readRemoteAddress`
 * @throws AddressFault
 */
export function readServerUrl(text: string, fill = (part: string) => part): ServerUrl {
  const server = serverUrl(text, fill)
  if (server === undefined) throw new AddressFault(text, 'http(s)://HOST:PORT/PATH')
  return server
}

/** @returns undefined for any other text */
function serverUrl(written: string, fill: (part: string) => string): ServerUrl | undefined {
  // A secret is one part of the address, whatever letters it has.
  const filled = written.replaceAll(/\$\{[^}]*\}/g, (reference) => {
    const value = fill(reference)
    return value === reference ? reference : encodeURIComponent(value)
  })
  const url = URL.parse(filled)
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined
  const { username, password } = url
  url.username = ''
  url.password = ''
  return {
    url,
    ...(username === '' && password === '' ? {} : { authorization: basic(username, password) }),
  }
}

/** @throws AddressFault */
function readFolderAddress(text: string): RemoteAddress {
  const { scheme, folder, name } = folderParts(text)
  const meant = withoutTilde(folder)
  if (meant !== undefined) throw new AddressFault(text, `${scheme}${meant}: only a shell replaces "~"`)
  if (folder === '' || /^[a-z]+:\/\//i.test(folder)) throw new AddressFault(text, allowed)
  return {
    protocol: 'harbor',
    url: pathToFileURL(resolve(folder)),
    shown: text,
    ...(name === '' ? {} : { name }),
  }
}

function folderParts(text: string) {
  const at = text.indexOf('+') + 1
  const [folder = '', ...names] = text.slice(at).split('#')
  return { scheme: text.slice(0, at), folder, name: names.join('#') }
}

/** The address with a folder that starts at another one than the working directory; that of a server stays. */
export function addressFrom(base: string, text: string): string {
  const { scheme, folder, name } = folderParts(text)
  if (scheme.toLowerCase() !== 'harbor+' || folder === '') return text
  return `${scheme}${resolve(base, folder)}${name === '' ? '' : `#${name}`}`
}

/** The allowed values where an address cannot be used, worded to follow "expected"; undefined where it can. References stay unfilled. */
export function addressProblem(text: string): string | undefined {
  try {
    readRemoteAddress(text)
    return undefined
  } catch (fault) {
    if (fault instanceof AddressFault) return fault.allowed
    throw fault
  }
}

function basic(username: string, password: string): string {
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}
