/**
 * Turns per second that a store takes, with 256 episodes at once: in a file, in PostgreSQL, and in PostgreSQL with a commit for each write.
 *
 * Invariants
 * - A turn is its observation and its action, through the functions that activities use; every backend gets the same turns.
 * - Rounds of the backends alternate, and the figures are medians: a busy machine slows all of them.
 * - PostgreSQL is the server of `PERDURE_TEST_STORE`, or a database `perdure_test` on this machine; schemas are dropped afterwards.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EpisodeId } from '../identity/identity.ts'
import { postgresBackend } from '../storage/postgres/backend.ts'
import { openLine } from '../storage/postgres/client.ts'
import { dropPlace, newPlace } from '../storage/postgres/database.testing.ts'
import { sqliteBackend } from '../storage/sqlite/backend.ts'
import type { Connection, Statements } from '../storage/tables/backend.ts'
import { createActions } from '../storage/trajectories/actions.ts'
import { createObservations } from '../storage/trajectories/observations.ts'
import { type Figure, quantile } from './figure.ts'

const episodes = 256
const turns = 12
const rounds = 5
/** Connections of the backend that commits each write by itself. */
const pool = 8

const backends = ['sqlite', 'postgres', 'autocommit'] as const
type Name = (typeof backends)[number]

/** Figures of one round. */
interface Round {
  readonly turnsPerSecond: number
  /** Milliseconds of processors that this process takes for each turn. */
  readonly cpuMs: number
}

export async function bench(): Promise<Figure[]> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'perdure-bench-store-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const place = newPlace()
  opened.defer(() => dropPlace(place))
  const file = await sqliteBackend.connect(join(folder, 'store.db'))
  opened.defer(() => file.close())
  const schema = await postgresBackend.connect(place)
  opened.defer(() => schema.close())
  const alone = await committingEach(place)
  opened.defer(alone.close)
  const of: Readonly<Record<Name, Connection>> = {
    sqlite: file,
    postgres: schema,
    autocommit: { ...schema, statements: alone.statements },
  }
  const measured: Record<Name, Round[]> = { sqlite: [], postgres: [], autocommit: [] }
  // The first round of each prepares its statements, and is not counted.
  for (let round = -1; round < rounds; round++)
    for (const name of backends) {
      const found = await playRound(of[name], `${name}${round + 1}`)
      if (round >= 0) measured[name].push(found)
      console.error(`${name}: ${Math.round(found.turnsPerSecond)} turns/s, ${found.cpuMs.toFixed(3)} ms`)
    }
  const median = (name: Name, of: keyof Round) =>
    quantile(
      measured[name].map((each) => each[of]),
      0.5,
    )
  const beside = (name: Name, reference: Name): Figure => {
    const [value, other] = [median(name, 'turnsPerSecond'), median(reference, 'turnsPerSecond')]
    return { name: `${name}_by_${reference}`, value, unit: 'turns/s', reference: other, ratio: value / other }
  }
  return [
    beside('postgres', 'sqlite'),
    beside('postgres', 'autocommit'),
    ...backends.map((name) => ({ name: `${name}_cpu`, value: median(name, 'cpuMs'), unit: 'ms/turn' })),
  ]
}

async function playRound({ db, statements, flush }: Connection, run: string): Promise<Round> {
  const actions = createActions(db, statements)
  const observations = createObservations(db, statements)
  const cpu = process.cpuUsage()
  const since = performance.now()
  await Promise.all(
    Array.from({ length: episodes }, async (_, number) => {
      const episode = `${run}/g${number}/s0/a0` as EpisodeId
      for (let turn = 0; turn < turns; turn++) {
        await observations.put({
          ...{ episode, turn, reward: 0, done: false, info: {} },
          messages: [
            { role: 'tool', name: 'look', content: 'You see a desk, a lamp and two books. '.repeat(4) },
          ],
        })
        await actions.put({
          ...{ episode, turn, version: 3, finish: 'stop', problems: [] },
          prompt: new Int32Array(120).fill(turn),
          tokens: new Int32Array(24).fill(7),
          logprobs: new Float32Array(24).fill(-0.1),
          message: {
            role: 'assistant',
            content: '',
            tool_calls: [{ name: 'take', arguments: { thing: 'lamp' } }],
          },
        })
      }
    }),
  )
  await flush()
  const seconds = (performance.now() - since) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const all = episodes * turns
  return { turnsPerSecond: all / seconds, cpuMs: (user + system) / 1000 / all }
}

/** Statements that are sent over one of some connections each, and committed by themselves. */
async function committingEach(place: string) {
  const lines = await Promise.all(Array.from({ length: pool }, () => openLine(place)))
  let next = 0
  const send = (text: string, parameters: readonly unknown[]) =>
    (lines[next++ % pool] as (typeof lines)[number]).query(text, parameters)
  const statements: Statements = {
    all: async <Row>(query: { readonly sql: string }, parameters: readonly unknown[]) =>
      (await send(query.sql, parameters)).rows as Row[],
    first: async <Row>(query: { readonly sql: string }, parameters: readonly unknown[]) =>
      (await send(query.sql, parameters)).rows[0] as Row | undefined,
    write: async ({ sql }, parameters) => (await send(sql, parameters)).rowCount ?? 0,
    settled: () => Promise.resolve(),
  }
  return {
    statements,
    async close() {
      for (const line of lines) await line.close()
    },
  }
}
