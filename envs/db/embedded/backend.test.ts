import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DatabaseBackend } from '../../../worlds/mysql/database.ts'
import { openEmbedded } from './backend.ts'

const tables = [{ name: 't', columns: ['a'], rows: [['x'], ['y']] }]
const backtracking = `SELECT '${'a'.repeat(40)}!' REGEXP '^(a+)+$'`
/** One call that compares some 10^11 letters: nothing but the end of its thread ends it. */
const endless = "SELECT REPEAT('a', 1000000) LIKE CONCAT('%', REPEAT('a', 500000), 'b%')"

describe('embedded databases', { timeout: 180_000 }, () => {
  let patient: DatabaseBackend
  let strict: DatabaseBackend
  beforeAll(() => {
    patient = openEmbedded({ deadlineMs: 120_000, rows: 10, bytes: 1000 })
    strict = openEmbedded({ deadlineMs: 200, rows: 10, bytes: 1000 })
  })
  afterAll(async () => {
    await patient.close()
    await strict.close()
  })

  test('a statement that cannot be interrupted ends at its deadline, also as the first of its thread', async () => {
    const started = performance.now()
    const database = await strict.open(tables, 'first')
    expect(await database.execute(endless)).toEqual({ kind: 'timed_out' })
    expect(performance.now() - started).toBeLessThan(30_000)
  })

  test('a regular expression that backtracks ends by itself, long before a deadline, however many try', async () => {
    const neighbour = await patient.open(tables, 'neighbour')
    const hostile = await Promise.all(Array.from({ length: 8 }, (_, at) => patient.open(tables, `${at}`)))
    const started = performance.now()
    const tried = hostile.map((database) => database.execute(backtracking))
    expect((await neighbour.execute('SELECT COUNT(*) FROM t')).kind).toBe('rows')
    for (const each of await Promise.all(tried)) expect(each).toEqual({ kind: 'timed_out' })
    expect(performance.now() - started).toBeLessThan(100_000)
    for (const call of ['REGEXP_REPLACE(a, p, 1)', 'REGEXP_SUBSTR(a, p)', 'REGEXP_INSTR(a, p)'])
      expect(
        await neighbour.execute(
          `SELECT ${call} FROM (SELECT '${'a'.repeat(40)}!' AS a, '^(a+)+$' AS p) AS x`,
        ),
      ).toEqual({ kind: 'timed_out' })
    const long = "SELECT REPEAT('a', 1000000) REGEXP 'a*b'"
    expect(await neighbour.execute(long)).toEqual({ kind: 'timed_out' })
  })

  test('the neighbour of eight hostile sessions is answered while they hold their threads', async () => {
    const neighbour = await patient.open(tables, 'neighbour')
    const hostile = await Promise.all(Array.from({ length: 8 }, (_, at) => patient.open(tables, `${at}`)))
    await neighbour.execute("INSERT INTO t VALUES ('z')")
    let ended = 0
    const held = Promise.allSettled(
      hostile.map((database) => database.execute(endless).finally(() => ended++)),
    )
    const counted = await neighbour.execute('SELECT COUNT(*) FROM t')
    expect(counted).toMatchObject({ rows: [[{ text: '3' }]] })
    expect((await (await patient.open(tables, 'new')).execute('SELECT 1')).kind).toBe('rows')
    expect(ended).toBe(0)
    for (const database of hostile) await database.close()
    for (const each of await held) expect(each).toMatchObject({ reason: { kind: 'session_lost' } })
  })

  test('sessions that lose their threads again and again cost a neighbour neither state nor answer', async () => {
    const neighbour = await strict.open(tables, 'neighbour')
    const hostile = await Promise.all(Array.from({ length: 8 }, (_, at) => strict.open(tables, `${at}`)))
    await neighbour.execute("INSERT INTO t VALUES ('z')")
    for (let round = 0; round < 3; round++) {
      const held = hostile.map((database) => database.execute(endless))
      const counted = await neighbour.execute('SELECT COUNT(*) FROM t')
      expect(counted).toMatchObject({ rows: [[{ text: '3' }]] })
      expect(await Promise.all(held)).toEqual(hostile.map(() => ({ kind: 'timed_out' })))
    }
  })

  test('databases that fill the memory of a thread leave a neighbour its own', async () => {
    const backend = openEmbedded({ deadlineMs: 60_000, rows: 10, bytes: 1000 })
    const filled = await Promise.all(Array.from({ length: 24 }, (_, at) => backend.open(tables, `${at}`)))
    const fill = `CREATE TABLE big AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 150) SELECT REPEAT('x', 100000) AS a FROM c`
    const results = []
    for (const database of filled) results.push((await database.execute(fill)).kind)
    expect(new Set(results)).toEqual(new Set(['done']))
    await backend.close()
  })
})
