/**
 * Connections to PostgreSQL: the only file that imports `pg`, which is loaded with the first store at an address.
 *
 * Invariants
 * - A line is one connection over which statements are sent without waiting for each other's results. The next statement opens a
 *   lost connection again.
 * - Each statement text is prepared once per connection.
 * - The password comes from the environment when a connection opens, and is kept nowhere else.
 * - 64-bit integers and sums arrive as numbers, as they do from SQLite.
 * - Every error leaves as a StorageFault that names the address.
 */
import { createHash } from 'node:crypto'
import type { Client, ClientConfig, Pool, PoolClient, QueryResult } from 'pg'
import { packageRoot } from '../../machine/files/folder.ts'
import { readTextSync } from '../../machine/files/text-file.ts'
import { remembered } from '../../machine/secrets/secret.ts'
import { type Address, addressOf, passwordFor } from '../disk/address.ts'
import { StorageFault } from '../disk/fault.ts'
import { postgresFaultOf } from './fault.ts'

/** Long enough for a server that is starting, short enough for a person who waits. */
const connectMs = 10_000

const int8 = 20
const numeric = 1700

type Row = Record<string, unknown>

export interface Line {
  /** @throws StorageFault */
  query(text: string, values?: readonly unknown[]): Promise<QueryResult<Row>>
  close(): Promise<void>
}

async function loadPg(): Promise<typeof import('pg')> {
  try {
    return (await import('pg')).default as unknown as typeof import('pg')
  } catch (cause) {
    const wanted = JSON.parse(readTextSync(`${packageRoot}/package.json`)) as {
      readonly peerDependencies?: Readonly<Record<string, string>>
    }
    throw new StorageFault(
      'not_installed',
      `PERDURE_STORE needs a package that is not installed: npm install --ignore-scripts pg@${wanted.peerDependencies?.pg ?? '8'}`,
      { cause },
    )
  }
}

function configOf(pg: typeof import('pg'), address: Address): ClientConfig {
  const { user, host, port, database, sslmode } = address
  const password = passwordFor(address)
  return {
    user,
    host,
    port,
    database,
    ...(password === undefined ? {} : { password: remembered(password) }),
    ssl: sslmode === 'disable' ? false : { rejectUnauthorized: sslmode === 'verify-full' },
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    application_name: 'perdure',
    types: {
      getTypeParser: (type: number, format?: Parameters<typeof pg.types.getTypeParser>[1]) =>
        type === int8 || type === numeric
          ? Number
          : (pg.types.getTypeParser(type, format as 'text') as unknown),
    },
  }
}

/** Sent as a statement: pgbouncer accepts no such parameter of a connection. */
function searchPath({ schema }: Address): string {
  return `set search_path to "${schema}"`
}

/** @param place printable address */
export async function openLine(place: string): Promise<Line> {
  const pg = await loadPg()
  const address = addressOf(place)
  let opening: Promise<Client> | undefined
  let isClosed = false

  async function open(): Promise<Client> {
    const client = new pg.Client({ ...configOf(pg, address), pipeline: true })
    const forget = () => (opening = undefined)
    client.on('error', forget)
    client.on('end', forget)
    await client.connect()
    await client.query(searchPath(address))
    return client
  }

  return {
    async query(text, values = []) {
      let used: Promise<Client> | undefined
      try {
        if (isClosed) throw new StorageFault('closed', `store ${place} was closed`)
        opening ??= open().catch((error: unknown) => {
          opening = undefined
          throw error
        })
        used = opening
        const client = await used
        return await client.query<Row>({ name: nameOf(text), text, values: [...values] })
      } catch (error) {
        const fault = postgresFaultOf(error, place)
        // The server tells that it ends a connection before the connection ends.
        if (fault.kind === 'io' && used !== undefined && opening === used) {
          opening = undefined
          void used.then((client) => client.end()).catch(() => undefined)
        }
        throw fault
      }
    },
    async close() {
      isClosed = true
      const client = await opening?.catch(() => undefined)
      await client?.end()
    },
  }
}

const names = new Map<string, string>()

/** The name under which a statement is prepared; a name of a text means that text in every process. */
function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = createHash('sha256').update(text).digest('hex').slice(0, 32)
  names.set(text, name)
  return name
}

type KyselyPool = {
  connect(): Promise<{
    query(text: string, values: readonly unknown[]): Promise<QueryResult<Row>>
    release(destroy?: boolean): void
  }>
  end(): Promise<void>
}

/** A pool as Kysely's driver asks for it. @param max connections */
export async function openPool(place: string, max: number): Promise<KyselyPool> {
  const pg = await loadPg()
  const address = addressOf(place)
  const pool: Pool = new pg.Pool({
    ...configOf(pg, address),
    max,
    onConnect: async (client) => {
      await client.query(searchPath(address))
    },
  })
  // A connection that is lost while no one uses it is replaced by the pool.
  pool.on('error', () => undefined)
  const shown = new WeakMap<PoolClient, Awaited<ReturnType<KyselyPool['connect']>>>()

  async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      throw postgresFaultOf(error, place)
    }
  }

  return {
    connect: () =>
      guarded(async () => {
        const client = await pool.connect()
        const known = shown.get(client)
        if (known !== undefined) return known
        let broken = false
        client.on('error', () => (broken = true))
        const wrapped = {
          query: (text: string, values: readonly unknown[]) =>
            guarded(() => client.query<Row>(text, [...values])),
          release: (destroy?: boolean) => client.release(destroy === true || broken),
        }
        shown.set(client, wrapped)
        return wrapped
      }),
    end: () => pool.end(),
  }
}
