/**
 * The address of a store in PostgreSQL, from `PERDURE_STORE`.
 *
 * Invariants
 * - [STORE-ADDRESS-1] The address that a program prints, stores and compares has no password; what opens a connection reads it from the
 *   environment.
 * - [STORE-ADDRESS-2] A wrong address is refused before anything is opened, by a fault that names the variable and never shows its value.
 */
import { z } from 'zod'
import { StorageFault } from '../disk/fault.ts'

const variable = 'PERDURE_STORE'

const form = 'postgresql://USER[:PASSWORD]@HOST[:PORT]/DATABASE[?schema=NAME&sslmode=MODE]'
const defaultPort = 5432
const defaultSchema = 'perdure'

const sslModes = ['disable', 'require', 'verify-full'] as const

/** Where a store is, and how it is reached. */
export interface Address {
  readonly user: string
  readonly host: string
  readonly port: number
  readonly database: string
  readonly schema: string
  readonly sslmode: (typeof sslModes)[number]
}

const partsSchema = z.strictObject({
  schema: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'schema is up to 63 of a-z, 0-9 and "_", and begins with no digit')
    .refine(
      (name) => !name.startsWith('pg_') && name !== 'information_schema',
      'schema is not one of PostgreSQL',
    )
    .default(defaultSchema),
  sslmode: z.enum(sslModes, `sslmode is one of ${sslModes.join(', ')}`).optional(),
  host: z.string().min(1).optional(),
  user: z.string().min(1).optional(),
  port: z.coerce.number().int().min(1).max(65_535).optional(),
})

/** True for the printable address of a store in PostgreSQL. */
export function isAddress(place: string): boolean {
  return place.startsWith('postgresql:')
}

/** The address that the environment names, as it can be printed; undefined where it names none. @throws StorageFault `bad_address` */
export function storeAddress(): string | undefined {
  const named = process.env[variable]
  return named === undefined || named === '' ? undefined : printable(parse(named))
}

/** @param place a printable address @throws StorageFault `bad_address` */
export function addressOf(place: string): Address {
  return parse(place)
}

/** The password for an address: the environment's, where it names the same server and user. */
export function passwordFor({ user, host, port }: Address): string | undefined {
  const named = process.env[variable]
  if (named === undefined || named === '') return undefined
  const own = parse(named)
  if (own.user !== user || own.host !== host || own.port !== port) return undefined
  const { password } = new URL(named)
  return password === '' ? undefined : decodeURIComponent(password)
}

/** The address without its password. */
function printable({ user, host, port, database, schema, sslmode }: Address): string {
  const isSocket = host.startsWith('/')
  const authority = isSocket ? '' : `${encodeURIComponent(user)}@${bracketed(host)}:${port}`
  const query = new URLSearchParams()
  if (isSocket) {
    query.set('host', host)
    query.set('user', user)
    if (port !== defaultPort) query.set('port', String(port))
  }
  query.set('schema', schema)
  if (sslmode !== (isLocal(host) ? 'disable' : 'verify-full')) query.set('sslmode', sslmode)
  return `postgresql://${authority}/${encodeURIComponent(database)}?${query.toString().replaceAll('%2F', '/')}`
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function parse(text: string): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['postgresql:', 'postgres:'].includes(url.protocol))
    throw refusal(`is no address of PostgreSQL`)
  const parsed = partsSchema.safeParse(Object.fromEntries(url.searchParams))
  if (!parsed.success) {
    // A message of zod could repeat the value; those above do not.
    const [issue] = parsed.error.issues
    const at = issue?.path.join('.')
    throw refusal(`has a wrong parameter (${at === undefined || at === '' ? 'unknown name' : at})`)
  }
  const given = parsed.data
  const database = decoded(url.pathname.slice(1))
  if (database === '' || database.includes('/')) throw refusal('names no database')
  const host = url.hostname === '' ? (given.host ?? '') : url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (host === '') throw refusal('names no host')
  const user = url.username === '' ? (given.user ?? '') : decoded(url.username)
  if (user === '') throw refusal('names no user')
  const sslmode = given.sslmode ?? (isLocal(host) ? 'disable' : 'verify-full')
  if (url.password !== '' && sslmode === 'disable' && !isLocal(host))
    throw refusal('would send its password unencrypted: remove sslmode=disable')
  const port = url.port === '' ? (given.port ?? defaultPort) : Number(url.port)
  return { user, host, port, database, schema: given.schema, sslmode }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw refusal('has a broken %-escape')
  }
}

/** Whether what is sent stays on this machine. */
function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

function refusal(what: string): StorageFault {
  return new StorageFault('bad_address', `${variable} ${what}; expected ${form}. Correct it or unset it.`)
}
