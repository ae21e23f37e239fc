import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CompiledQuery } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EpisodeId, RunId } from '../../identity/identity.ts'
import { addressOf } from '../disk/address.ts'
import { createAudit } from '../records/audit.ts'
import { sqliteBackend } from '../sqlite/backend.ts'
import type { Backend, Connection } from '../tables/backend.ts'
import { createActions } from '../trajectories/actions.ts'
import { createEpisodeFeed } from '../trajectories/episode-feed.ts'
import { createEpisodes } from '../trajectories/episodes.ts'
import { createObservations } from '../trajectories/observations.ts'
import { postgresBackend } from './backend.ts'
import { openLine } from './client.ts'
import { dropPlace, missingServer, newPlace } from './database.testing.ts'

const missing = await missingServer()
if (missing !== undefined) console.warn(`tests of PostgreSQL are skipped: ${missing}`)
const run = 'r' as RunId
let place: string

beforeEach(() => {
  place = newPlace()
  return () => dropPlace(place)
})

async function opened(count: number, backend: Backend = postgresBackend, at = place) {
  const connections = await Promise.all(Array.from({ length: count }, () => backend.connect(at)))
  return {
    connections,
    async [Symbol.asyncDispose]() {
      for (const each of connections) await each.close()
    },
  }
}

function trajectoriesOf({ db, statements, terms }: Connection) {
  const observations = createObservations(db, statements)
  const actions = createActions(db, statements)
  return {
    actions,
    observations,
    episodes: createEpisodes({ db, statements, observations, actions }),
    feed: createEpisodeFeed(db, statements, terms),
  }
}

const episodeAt = (number: number) => `r/g${number}/s0/a0` as EpisodeId
const beginning = (number: number) => ({ id: episodeAt(number), task: 't', instance: 'i', created: 1 })
const action = (turn: number) => ({
  episode: episodeAt(0),
  turn,
  prompt: new Int32Array([turn, -1]),
  tokens: new Int32Array([7]),
  logprobs: new Float32Array([-0.1]),
  version: 0,
  finish: 'stop' as const,
  message: { role: 'assistant' as const, content: 'a "quoted" \\ {text}, \u{1f600}' },
  problems: [],
})

describe.skipIf(missing !== undefined)('a store in PostgreSQL', () => {
  it('sixteen that open a new schema at once make it once, and find one store [POSTGRES-MIGRATION-1]', async () => {
    await using all = await opened(16)
    const names = new Set(await Promise.all(all.connections.map((each) => each.identity())))
    expect(names.size).toBe(1)
    const query = CompiledQuery.raw('select count(*) as n from lease_scope') as CompiledQuery<{ n: number }>
    expect(await all.connections[0]?.statements.first(query, [])).toEqual({ n: 1 })
  })

  it('has the tables and columns of SQLite, and numbers where SQLite has its rowid [POSTGRES-MIGRATION-2]', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'perdure-columns-'))
    await using file = await opened(1, sqliteBackend, join(dir, 'store.db'))
    await using schema = await opened(1)
    const columns = async (connection: Connection | undefined) =>
      (await connection?.db.introspection.getTables())
        // Kysely lists the tables of all schemas.
        ?.filter((table) => table.schema === undefined || table.schema === addressOf(place).schema)
        .flatMap((table) => table.columns.map((column) => `${table.name}.${column.name}`))
        .filter((column) => !column.endsWith('.rowid'))
        .sort()
    const [ofFile, ofSchema] = [await columns(file.connections[0]), await columns(schema.connections[0])]
    expect(ofSchema).toEqual(ofFile)
    rmSync(dir, { recursive: true })
  })

  it('of writers of the same turns one is first, and no one waits in a circle [POSTGRES-STATEMENT-1] [STATEMENT-1]', async () => {
    await using both = await opened(2)
    const turns = Array.from({ length: 60 }, (_, turn) => turn)
    const results = await Promise.all(
      both.connections.map((connection, index) => {
        const { actions } = trajectoriesOf(connection)
        const order = index === 0 ? turns : turns.toReversed()
        return Promise.all(
          [...order, ...order].map(async (turn) => [turn, await actions.put(action(turn))] as const),
        )
      }),
    )
    const first = results.flat().filter(([, precedence]) => precedence === 'first')
    expect(first.map(([turn]) => turn).sort((a, b) => a - b)).toEqual(turns)
    const [one] = both.connections
    const stored = one === undefined ? [] : await trajectoriesOf(one).actions.list(episodeAt(0))
    expect(stored).toEqual(turns.map(action))
  })

  it('a write that cannot be done takes no other along, nor one of another transaction [STATEMENT-2] [STATEMENT-3]', async () => {
    await using one = await opened(1)
    const [connection] = one.connections
    if (connection === undefined) throw new Error('nothing is open')
    const { statements, db } = connection
    const strict = CompiledQuery.raw(`insert into experts values ($1, 's', 1, 1)`)
    await expect(
      db.transaction().execute(async () => {
        const settled = await Promise.allSettled(
          ['a', 'a', 'b'].map((name) => statements.write(strict, [name])),
        )
        expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'rejected'])
        throw new Error('rolled back')
      }),
    ).rejects.toThrow('rolled back')
    const count = CompiledQuery.raw('select count(*) as n from experts') as CompiledQuery<{ n: number }>
    expect(await statements.first(count, [])).toEqual({ n: 2 })
  })

  it('orders that are appended at once get numbers of their own [POSTGRES-LOCK-1]', async () => {
    await using both = await opened(2)
    const entry = {
      time: 1,
      by: 'p',
      what: 'w',
      from: 1,
      to: 2,
      version: 0,
      effectVersion: null,
      reason: null,
    }
    const audits = both.connections.map(({ db }) => createAudit(db))
    await Promise.all(audits.flatMap((audit) => [1, 2, 3].map(() => audit.append(run, entry as never))))
    const numbers = (await audits[0]?.list(run))?.map(({ number }) => number) ?? []
    expect(new Set(numbers).size).toBe(6)
  })

  it('a connection that the server ends is a fault that can be tried again, and the next try succeeds', async () => {
    await using one = await opened(1)
    const [connection] = one.connections
    const pid = CompiledQuery.raw('select pg_terminate_backend(pg_backend_pid())')
    await expect(connection?.statements.all(pid, [])).rejects.toMatchObject({ kind: 'io', permanent: false })
    const number = CompiledQuery.raw('select 1 as n') as CompiledQuery<{ n: number }>
    expect(await connection?.statements.first(number, [])).toEqual({ n: 1 })
  })

  it('a later schema, a database that is missing and a server that is away are named', async () => {
    await (await opened(1))[Symbol.asyncDispose]()
    const line = await openLine(place)
    await line.query(`insert into kysely_migration values ('9999_later', '')`)
    await line.close()
    await expect(postgresBackend.connect(place)).rejects.toMatchObject({ kind: 'newer_schema' })
    const other = new URL(place)
    other.pathname = '/perdure_no_such_database'
    await expect(postgresBackend.connect(other.href)).rejects.toMatchObject({ kind: 'missing' })
    other.port = '1'
    await expect(postgresBackend.connect(other.href)).rejects.toMatchObject({ kind: 'io', permanent: false })
  })
})

describe('a reader of episodes that are written meanwhile', () => {
  let dir: string
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'perdure-feed-'))
  })
  afterAll(() => rmSync(dir, { recursive: true }))

  async function readAll(backend: Backend, at: string): Promise<void> {
    await using made = await opened(1, backend, at)
    await using others = await opened(3, backend, at)
    const [reader, ...writers] = [...made.connections, ...others.connections].map(trajectoriesOf)
    const total = 150
    const numbers = Array.from({ length: total }, (_, number) => number)
    const writing = Promise.all(
      writers.map(async ({ episodes }, index) => {
        // Writers overlap: each episode is written by two of them.
        const own = numbers.filter((number) => number % 3 === index || (number + 1) % 3 === index)
        for (let from = 0; from < own.length; from += 7)
          await Promise.all(own.slice(from, from + 7).map((number) => episodes.insert(beginning(number))))
      }),
    )
    const seen: string[] = []
    let [mark, isWritten] = [0, false]
    void writing.finally(() => (isWritten = true)).catch(() => undefined)
    for (let last = false; ; last = isWritten) {
      const rows = (await reader?.feed.after(mark, 20)) ?? []
      seen.push(...rows.map(({ id }) => id))
      mark = rows.at(-1)?.number ?? mark
      if (last && rows.length === 0) break
      await new Promise(setImmediate)
    }
    await writing
    expect(seen.toSorted()).toEqual(numbers.map(episodeAt).toSorted())
  }

  it('misses none and reads none twice in SQLite [FEED-1]', () =>
    readAll(sqliteBackend, join(dir, 'store.db')))

  it.skipIf(missing !== undefined)(
    'misses none and reads none twice in PostgreSQL [FEED-1] [POSTGRES-STATEMENT-2]',
    () => readAll(postgresBackend, place),
  )
})
