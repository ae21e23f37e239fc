import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  databaseServerMissing,
  startDatabaseServer,
  type TestDatabaseServer,
} from '../../../test/host/database-server.ts'
import { sharedData } from '../../../test/support/shared-data.ts'
import type { Cell, DatabaseBackend, StatementResult, TableData } from '../../../worlds/mysql/database.ts'
import { type Comparison, differences } from '../../../worlds/mysql/differential/differences.testing.ts'
import { grammarScripts, type Script } from '../../../worlds/mysql/differential/statements.testing.ts'
import { createEngine } from '../../../worlds/mysql/engine.ts'
import type { InstanceId } from '../../contract/environment.ts'
import { openDataset } from '../dataset.ts'
import { openServer } from './backend.ts'

const limits = { deadlineMs: 30_000, rows: 1000, bytes: 1_000_000 }
const officialSessions = 4
/** Each draws other statements. */
const seeds = Array.from({ length: 12 }, (_, at) => at + 1)

function textOf(cell: Cell): string {
  if (cell === null) return 'NULL'
  // Functions of doubles differ in the last digits from one C library to another; zeros at the end are shown on purpose.
  const isInexact = cell.kind === 'double' && !/\.\d*0$/.test(cell.text)
  const text = isInexact && cell.text !== '-0' ? String(Number(Number(cell.text).toPrecision(12))) : cell.text
  return `${cell.kind === 'bytes' ? 'text' : cell.kind} ${text}`
}

/** A result as one text; rows whose order no clause fixes are sorted. */
function summaryOf(sql: string, result: StatementResult): string {
  switch (result.kind) {
    case 'rows': {
      const rows = result.rows.map((row) => row.map(textOf).join(' | '))
      return (/\bORDER\s+BY\b/i.test(sql) ? rows : rows.sort()).join('\n')
    }
    case 'done':
      return `changed ${result.affected}`
    case 'failed':
      return `error ${result.failure.code}`
    case 'timed_out':
      return 'timed out'
  }
}

const engine = createEngine()

async function compared(
  server: DatabaseBackend,
  { tables, name, statements }: Script,
): Promise<Comparison[]> {
  const here = engine.open(tables, name)
  const there = await server.open(tables, name)
  const comparisons: Comparison[] = []
  for (const [ordinal, sql] of statements.entries())
    comparisons.push({
      sql,
      embedded: summaryOf(sql, here.execute(sql, ordinal, limits)),
      server: summaryOf(sql, await there.execute(sql)),
    })
  here.close()
  await there.close()
  return comparisons
}

const entry = z.object({
  type: z.array(z.string()),
  label: z.array(z.unknown()),
  sql: z.object({ query: z.string() }).optional(),
})

/** The official problems: the statement that solves each, and looks at its tables. */
async function officialScripts(dir: string): Promise<Script[]> {
  const library = await openDataset(dir)
  const scripts: Script[] = []
  for (const stem of ['dev', 'standard_200']) {
    const lines = readFileSync(path.join(dir, `${stem}.jsonl`), 'utf8')
      .trim()
      .split('\n')
    for (const [at, line] of lines.entries()) {
      const { tables } = library.open(`${stem}/${at}` as InstanceId)
      const { type, label, sql } = entry.parse(JSON.parse(line))
      const changes = ['INSERT', 'UPDATE', 'DELETE'].includes(type[0] ?? '')
      const gold = changes ? label.map(String) : [sql?.query ?? 'SELECT 1']
      const looks = tables.flatMap(looksAt)
      scripts.push({
        name: `${stem}/${at}`,
        tables,
        statements: [...looks, ...gold, ...tables.map(({ name }) => `SELECT * FROM \`${name}\``)],
      })
    }
  }
  return scripts
}

/** Queries that any table can be asked. */
function looksAt({ name, columns }: TableData, number: number): string[] {
  const table = `\`${name}\``
  const [first = '', second = first] = [columns[number % columns.length], columns.at(-1)]
  const [a, b] = [`\`${first}\``, `\`${second}\``]
  return [
    `SELECT DISTINCT ${a} FROM ${table} ORDER BY ${a}`,
    `SELECT ${b}, COUNT(*) FROM ${table} GROUP BY ${b} HAVING COUNT(*) > 1`,
    `SELECT SUM(${b}), AVG(${b}), MIN(${b}), MAX(${b} + 0) FROM ${table}`,
    `SELECT ${a} FROM ${table} WHERE ${b} > 10 ORDER BY ${b} + 0, ${a} LIMIT 3`,
    `SELECT COUNT(*) FROM ${table} WHERE ${a} LIKE '%a%' OR ${b} REGEXP '^[0-9]+$'`,
    `SELECT UPPER(${a}), LENGTH(${a}), REPLACE(${b}, ',', '') * 1.5 FROM ${table}`,
    `SELECT COUNT(*) FROM ${table} x JOIN ${table} y ON x.${a} = y.${a}`,
  ]
}

describe.skipIf(databaseServerMissing() !== undefined)(
  'the embedded databases and MariaDB',
  { timeout: 900_000 },
  () => {
    let server: TestDatabaseServer | undefined
    let backend: DatabaseBackend
    beforeAll(async () => {
      server = await startDatabaseServer()
      backend = await openServer(server.url, limits)
    }, 300_000)
    afterAll(async () => {
      await backend?.close()
      await server?.close()
    })

    function unexplained(comparisons: readonly Comparison[]): readonly Comparison[] {
      return comparisons
        .filter(({ embedded, server }) => embedded !== server)
        .filter((comparison) => !differences.some(({ isIt }) => isIt(comparison)))
    }

    test('give the same for thousands of statements of a grammar, except where the table of differences says otherwise', async () => {
      const all: Comparison[] = []
      for (const script of seeds.flatMap(grammarScripts)) all.push(...(await compared(backend, script)))
      expect(all.length).toBeGreaterThan(40_000)
      expect(unexplained(all)).toEqual([])
      const differing = all.filter(({ embedded, server }) => embedded !== server)
      // A row of the table that no statement shows any more would excuse a fault to come.
      expect(differences.filter(({ isIt }) => !differing.some(isIt)).map(({ example }) => example)).toEqual(
        [],
      )
      console.log(`${all.length} statements, ${differing.length} with a known difference`)
    })

    const dir = sharedData('db')
    test.skipIf(!existsSync(dir))('give the same for the official problems', async () => {
      const waiting = await officialScripts(dir)
      const all: Comparison[] = []
      const work = async () => {
        for (let script = waiting.pop(); script !== undefined; script = waiting.pop())
          all.push(...(await compared(backend, script)))
      }
      await Promise.all(Array.from({ length: officialSessions }, work))
      expect(all.length).toBeGreaterThan(2000)
      expect(unexplained(all)).toEqual([])
      console.log(`${all.length} statements on official tables`)
    })
  },
)
