/**
 * Sessions per second of the database task on one core, beside bare SQLite with the same tables and queries.
 *
 * Invariants
 * - A session is created, reset (its database made and filled), runs a query, commits an answer that is
 *   judged, and is closed; its statements go through translation, limits and the databases' thread.
 * - CPU time of all threads is counted: a session costs its core whether or not others wait.
 * - Every query must be answered, else the benchmark fails.
 * - The reference is SQLite as Node brings it, in the process: tables, rows, query, close, no rule of MySQL's.
 */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { openBuiltin } from '../../envs/db/builtin/library.ts'
import { openDataset } from '../../envs/db/dataset.ts'
import { openEmbedded } from '../../envs/db/embedded/backend.ts'
import type { DbItem } from '../../envs/db/item.ts'
import { tellOfficially } from '../../envs/db/narration.ts'
import { createSession } from '../../envs/db/problem-session.ts'
import type { AssistantMessage, JsonObject } from '../../messages/message.ts'
import { sharedData } from '../../test/support/shared-data.ts'
import type { Figure } from '../figure.ts'

/** Long enough that the clock and the compiler no longer matter. */
const measuredMs = 3000
const warmMs = 1500
const itemCount = 200
// Sessions under way at once, as episodes of a few groups are.
const together = 16

/** Measures on AgentBench's problems where they are given, else on built-in ones. */
export async function bench(): Promise<Figure[]> {
  const items = await pickItems()
  const value = await sessions(items)
  const reference = bare(items)
  const unit = 'sessions/s per core'
  return [{ name: 'db embedded sessions/s', value, unit, reference, ratio: value / reference }]
}

async function pickItems(): Promise<DbItem[]> {
  const dir = sharedData('db')
  const official = existsSync(dir)
  if (!official) console.error(`no AgentBench problems in ${dir}: built-in ones are played`)
  const library = official ? await openDataset(dir) : openBuiltin('hard')
  const split = library.splits.at(-1)?.name ?? ''
  return Array.from({ length: itemCount }, (_, at) => library.open(library.instanceAt(split, at)))
}

function queryOf({ tables }: DbItem): string {
  const [table] = tables
  return `SELECT * FROM \`${table?.name}\` WHERE \`${table?.columns[0]}\` = 'nothing' LIMIT 3`
}

function called(name: string, args: JsonObject): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name, arguments: args }] }
}

async function sessions(items: readonly DbItem[]): Promise<number> {
  const byId = new Map(items.map((item) => [item.id, item]))
  const backend = openEmbedded({ deadlineMs: 5000, rows: 1000, bytes: 262_144 })

  async function session(item: DbItem): Promise<void> {
    const environment = createSession({
      item: (id) => byId.get(id) ?? item,
      backend,
      systemPrompt: '',
      tell: tellOfficially,
    })
    await environment.reset(item.id)
    const { info } = await environment.step(called('execute_sql', { query: queryOf(item) }))
    if ('error' in info) throw new Error(`${item.id}: ${JSON.stringify(info)}`)
    await environment.step(called('commit_final_answer', { answers: ['nothing'] }))
    await environment.close()
  }

  async function played(forMs: number): Promise<number> {
    const until = performance.now() + forMs
    let count = 0
    async function player(): Promise<void> {
      while (performance.now() < until) await session(items[count++ % items.length] ?? missing())
    }
    await Promise.all(Array.from({ length: together }, player))
    return count
  }

  try {
    await played(warmMs)
    const before = process.cpuUsage()
    const count = await played(measuredMs)
    return perSecond(count, before)
  } finally {
    await backend.close()
  }
}

function bare(items: readonly DbItem[]): number {
  const until = performance.now() + measuredMs
  const before = process.cpuUsage()
  let count = 0
  while (performance.now() < until) {
    const item = items[count++ % items.length] ?? missing()
    const database = new DatabaseSync(':memory:')
    for (const { name, columns, rows } of item.tables) {
      const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
      database.exec(
        `CREATE TABLE ${quoted(name)} (${columns.map((column) => `${quoted(column)} TEXT`).join(', ')})`,
      )
      database.exec('BEGIN')
      const insert = database.prepare(
        `INSERT INTO ${quoted(name)} VALUES (${columns.map(() => '?').join(', ')})`,
      )
      for (const row of rows) insert.run(...row)
      database.exec('COMMIT')
    }
    database.prepare(queryOf(item)).all()
    database.close()
  }
  return perSecond(count, before)
}

function perSecond(count: number, before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (count * 1e6) / (user + system)
}

function missing(): never {
  throw new RangeError('there is no such problem')
}
