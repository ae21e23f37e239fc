import { describe, expect, test } from 'vitest'
import { createEngine } from './engine.ts'
import { queries, tables, textsOf } from './queries.testing.ts'

const limits = { deadlineMs: 2000, rows: 1000, bytes: 100_000 }
/** Statements that change the table, and the cells in the end. */
const changes: readonly (readonly [string, readonly (readonly (string | null)[])[]])[] = [
  ['UPDATE `Team Results` SET Crowd = 12.50, Year = 007 WHERE No = 1', [['1', '7', '12.50']]],
  ["UPDATE `Team Results` SET Year = Year + 1 WHERE No = '9'", [['9', '2011', '62,129']]],
  ["DELETE FROM `Team Results` WHERE No <> 'x' LIMIT 4", [['x', '', '7.50']]],
  [
    "INSERT INTO `Team Results` (No, Year, Crowd) VALUES (3, NULL, -0.5), ('4', 'it\\'s', 1e3)",
    [
      ['3', null, '-0.5'],
      ['4', "it's", '1000'],
    ],
  ],
  ["INSERT INTO `Team Results` SET No = 'y', Year = 5", [['y', '5', null]]],
  [
    'UPDATE `Team Results` a JOIN (SELECT MAX(No + 0) AS top FROM `Team Results`) b ON a.No = b.top SET a.Crowd = 5 / 2',
    [['10', '2010', '2.500000000']],
  ],
  [
    "DELETE a FROM `Team Results` a JOIN `Team Results` b ON a.Year = b.Year AND a.No <> b.No WHERE a.No = '9'",
    [['10', '2010', '?']],
  ],
  ['TRUNCATE TABLE `Team Results`', []],
]

describe('the embedded engine', () => {
  const engine = createEngine()

  test.each(queries)('%s', (sql, rows) => {
    const database = engine.open(tables, 'queries')
    expect(textsOf(database.execute(sql, 0, limits))).toEqual(rows)
    database.close()
  })

  test.each(changes)('%s', (sql, rows) => {
    const database = engine.open(tables, 'changes')
    expect(database.execute(sql, 0, limits).kind).toBe('done')
    const left = textsOf(database.execute('SELECT No, Year, Crowd FROM `Team Results`', 1, limits))
    expect(left).toEqual(rows.length === 0 ? [] : expect.arrayContaining([...rows]))
    database.close()
  })

  test('a text with a sign is a number with that sign', () => {
    const database = engine.open([], 'signs')
    const result = database.execute("SELECT CAST('-1.50' AS DECIMAL(5, 2)), CAST('+2' AS SIGNED)", 0, limits)
    expect(textsOf(result)).toEqual([['-1.50', '2']])
    database.close()
  })

  test('an update counts the rows that it changes, not those that it finds', () => {
    const database = engine.open(tables, 'count')
    const sql = "UPDATE `Team Results` SET Year = '2010' WHERE Year >= 2007"
    expect(database.execute(sql, 0, limits)).toEqual({ kind: 'done', affected: 1 })
    expect(database.execute(sql, 1, limits)).toEqual({ kind: 'done', affected: 0 })
    database.close()
  })

  test('a number that a row was given is not given again, though the statement fails or is rolled back', () => {
    const database = engine.open([], 'numbers')
    const run = (sql: string, ordinal: number) => database.execute(sql, ordinal, limits)
    run('CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, v INT UNIQUE)', 0)
    expect(run('INSERT INTO n (v) VALUES (1), (1)', 1).kind).toBe('failed')
    run('INSERT INTO n (v) VALUES (1)', 2)
    run('BEGIN', 3)
    run('INSERT INTO n (v) VALUES (2)', 4)
    run('ROLLBACK', 5)
    run('INSERT INTO n (v) VALUES (3)', 6)
    expect(textsOf(run('SELECT id FROM n ORDER BY id', 7))).toEqual([['3'], ['5']])
    run('TRUNCATE n', 8)
    run('INSERT INTO n (v) VALUES (4)', 9)
    expect(textsOf(run('SELECT id FROM n', 10))).toEqual([['1']])
    run('CREATE TABLE m (id INT, v INT)', 11)
    run('INSERT INTO m VALUES (5, 1), (7, 2)', 12)
    run('ALTER TABLE m MODIFY id INT AUTO_INCREMENT PRIMARY KEY', 13)
    run('INSERT INTO m (v) VALUES (3)', 14)
    expect(textsOf(run('SELECT id FROM m ORDER BY id', 15))).toEqual([['5'], ['7'], ['8']])
    database.close()
  })

  test('a duplicate key updates the row that is there', () => {
    const database = engine.open([], 'keys')
    const run = (sql: string, ordinal: number) => database.execute(sql, ordinal, limits)
    run('CREATE TABLE k (id INT PRIMARY KEY, v INT)', 0)
    run('INSERT INTO k VALUES (1, 10), (2, 20)', 1)
    expect(run('INSERT INTO k VALUES (1, 5) ON DUPLICATE KEY UPDATE v = v + VALUES(v)', 2)).toEqual({
      kind: 'done',
      affected: 2,
    })
    expect(textsOf(run('SELECT v FROM k ORDER BY id', 3))).toEqual([['15'], ['20']])
    expect(run('INSERT INTO k VALUES (2, 0)', 4)).toMatchObject({ failure: { code: 1062 } })
    run('RENAME TABLE k TO l', 5)
    expect(textsOf(run('SELECT COUNT(*) FROM l', 6))).toEqual([['2']])
    database.close()
  })

  test('a rollback undoes a transaction, and a definition commits it', () => {
    const database = engine.open(tables, 'transaction')
    const all = [
      'BEGIN',
      'DELETE FROM `Team Results`',
      'ROLLBACK',
      'BEGIN',
      "DELETE FROM `Team Results` WHERE No = 'x'",
      'CREATE TABLE t (a INT)',
      'ROLLBACK',
    ]
    for (const [ordinal, sql] of all.entries())
      expect(database.execute(sql, ordinal, limits).kind).toBe('done')
    expect(textsOf(database.execute('SELECT COUNT(*) FROM `Team Results`', 9, limits))).toEqual([['4']])
    database.close()
  })

  // A plausible answer that MySQL does not give would teach an agent something wrong.
  test.each([
    ['EXPLAIN SELECT 1', 'EXPLAIN'],
    ["SELECT JSON_SET('{}', '$.a', 1)", 'JSON_SET'],
    ['SELECT UUID()', 'UUID'],
    ['SELECT RAND(1)', 'RAND with a seed'],
    ["CREATE TABLE e (a ENUM('x'))", 'ENUM'],
    ['CREATE TABLE e (a INT, FOREIGN KEY (a) REFERENCES t (b))', 'FOREIGN KEY'],
    ["SET sql_mode = 'ANSI_QUOTES'", 'sql_mode'],
    ['SHOW VARIABLES', 'SHOW VARIABLES'],
    ['SELECT No FROM `Team Results` USE INDEX (x)', 'index hints'],
    ["SELECT MATCH (Name) AGAINST ('x') FROM `Team Results`", 'MATCH'],
    ["SELECT 'a' COLLATE latin1_swedish_ci", 'collation'],
  ])('what the engine lacks is refused by name: %s', (sql, name) => {
    const database = engine.open(tables, 'lacking')
    const result = database.execute(sql, 0, limits)
    expect(result).toMatchObject({ kind: 'failed', failure: { code: 1235 } })
    expect(JSON.stringify(result)).toContain(name)
    database.close()
  })

  test('a statement is interrupted at its deadline, and what it changed is undone', () => {
    const database = engine.open(tables, 'deadline')
    const started = performance.now()
    const many = Array.from({ length: 12 }, (_, at) => `\`Team Results\` t${at}`).join(', ')
    const endless = `INSERT INTO \`Team Results\` (No) SELECT MAX(t0.No) FROM ${many}`
    expect(database.execute(endless, 0, { ...limits, deadlineMs: 50 })).toEqual({ kind: 'timed_out' })
    expect(performance.now() - started).toBeLessThan(5000)
    expect(textsOf(database.execute('SELECT COUNT(*) FROM `Team Results`', 1, limits))).toEqual([['5']])
    database.close()
  })

  test('rows and bytes of a result are capped', () => {
    const database = engine.open(tables, 'caps')
    const few = database.execute('SELECT No FROM `Team Results`', 0, { ...limits, rows: 2 })
    expect(few).toMatchObject({ kind: 'rows', truncated: true, rows: { length: 2 } })
    const short = database.execute("SELECT REPEAT('x', 100) FROM `Team Results`", 1, {
      ...limits,
      bytes: 150,
    })
    expect(short).toMatchObject({ kind: 'rows', truncated: true, rows: { length: 1 } })
    database.close()
  })

  test('the same statements give the same results, random ones and clocks too', () => {
    const sql = 'SELECT RAND(), RAND(), NOW(), CURRENT_DATE FROM `Team Results`'
    const [first, second] = ['same', 'same'].map((identity) => {
      const database = engine.open(tables, identity)
      const results = [database.execute(sql, 0, limits), database.execute(sql, 1, limits)]
      database.close()
      return results
    })
    expect(second).toEqual(first)
    expect(first?.[0]).not.toEqual(first?.[1])
  })
})
