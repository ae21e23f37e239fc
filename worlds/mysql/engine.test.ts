import { describe, expect, test } from 'vitest'
import { openServer } from '../../envs/db/server/backend.ts'
import { databaseServerMissing, startDatabaseServer } from '../../test/host/database-server.ts'
import type { Cell, StatementResult, TableData } from './database.ts'
import { createEngine } from './engine.ts'

const limits = { deadlineMs: 2000, rows: 1000, bytes: 100_000 }
const tables: readonly TableData[] = [
  {
    name: 'Team Results',
    columns: ['No', 'Name', 'Year', 'Crowd', '1st half'],
    rows: [
      ['1', 'Élan', '2007', '1,200', 'a'],
      ['2', 'elan', '998', '21000', 'b\\n'],
      ['10', 'Bob\'s "Men"', '2010', '?', 'B'],
      ['9', 'Zürich', '2010', '62,129', null],
      ['x', '50%', '', '7.50', 'c '],
    ],
  },
]

/** Queries with what they give on MySQL, values as text; kinds are compared where a server is at hand. */
const queries: readonly (readonly [string, readonly (readonly (string | null)[])[]])[] = [
  ["SELECT No FROM `Team Results` WHERE Name = 'ELAN'", [['1'], ['2']]],
  ["SELECT No FROM `Team Results` WHERE Name LIKE 'é%'", [['1'], ['2']]],
  ["SELECT No FROM `Team Results` WHERE Name LIKE '50\\%'", [['x']]],
  ["SELECT No FROM `Team Results` WHERE Name LIKE '_lan' ORDER BY No DESC", [['2'], ['1']]],
  ['SELECT No FROM `Team Results` WHERE Year < 2010 ORDER BY Year + 0', [['x'], ['2'], ['1']]],
  ["SELECT No FROM `Team Results` WHERE Year < '2010' ORDER BY No", [['1'], ['x']]],
  ['SELECT No FROM `Team Results` ORDER BY No', [['1'], ['10'], ['2'], ['9'], ['x']]],
  [
    'SELECT No FROM `Team Results` ORDER BY CAST(No AS SIGNED), No DESC',
    [['x'], ['1'], ['2'], ['9'], ['10']],
  ],
  ['SELECT SUM(Year), COUNT(*), MIN(Name), MAX(No) FROM `Team Results`', [['7025', '5', '50%', 'x']]],
  ['SELECT Year, COUNT(*) AS n FROM `Team Results` GROUP BY Year HAVING n > 1', [['2010', '2']]],
  ["SELECT No FROM `Team Results` WHERE `1st half` = 'b'", [['10']]],
  ["SELECT No FROM `Team Results` WHERE `1st half` = 'b\\\\n'", [['2']]],
  ["SELECT No FROM `Team Results` WHERE `1st half` = 'c'", []],
  ['SELECT No FROM `Team Results` WHERE `1st half` IS NULL', [['9']]],
  [
    'SELECT 7 DIV 2, 7 % 4, -7 DIV 2, 1 = 1, NULL <=> NULL, NOT 1, 1 XOR 1',
    [['3', '3', '-3', '1', '1', '0', '0']],
  ],
  ["SELECT 'a' || 'b', '1' AND '0', 'abc' = 0, '12abc' = 12, 'a' = 'A'", [['0', '0', '1', '1', '1']]],
  [
    "SELECT CONCAT('a', 1, NULL), CONCAT_WS(',', 'a', NULL, 'b'), IFNULL(NULL, 'x'), IF(2 > 1, 'y', 'n')",
    [[null, 'a,b', 'x', 'y']],
  ],
  [
    "SELECT LEFT('hello', 2), RIGHT('hello', 2), MID('hello', 2, 3), SUBSTRING('hello' FROM -3), SUBSTRING_INDEX('a.b.c', '.', -2)",
    [['he', 'lo', 'ell', 'llo', 'b.c']],
  ],
  [
    "SELECT LENGTH('é'), CHAR_LENGTH('é'), LOCATE('L', 'hello'), INSTR('hello', 'z'), REPLACE('aaa', 'a', 'bc'), LPAD('5', 3, '0')",
    [['2', '1', '3', '0', 'bcbcbc', '005']],
  ],
  [
    "SELECT UPPER('é'), TRIM('  x '), TRIM(LEADING '0' FROM '007'), REVERSE('abc'), FIND_IN_SET('b', 'a,b'), FIELD('b', 'a', 'B')",
    [['É', 'x', '7', 'cba', '2', '2']],
  ],
  [
    "SELECT CAST('12.7abc' AS SIGNED), CAST('7' AS UNSIGNED), CAST('3.456' AS DECIMAL(10, 2)), CAST(5 AS CHAR)",
    [['12', '7', '3.46', '5']],
  ],
  [
    'SELECT ROUND(2.345, 2), TRUNCATE(2.349, 2), CEIL(1.2), FLOOR(-1.2), ABS(-3), MOD(7, 3), GREATEST(1, 3, 2)',
    [['2.35', '2.34', '2', '-2', '3', '1', '3']],
  ],
  [
    "SELECT YEAR('2020-02-05'), MONTHNAME('2020-02-05'), DATEDIFF('2020-03-01', '2020-02-28'), DATE_FORMAT('2020-02-05', '%d %M %Y')",
    [['2020', 'February', '2', '05 February 2020']],
  ],
  [
    "SELECT DATE_FORMAT(STR_TO_DATE('January 5, 2020', '%M %d, %Y'), '%Y-%m-%d'), TIMESTAMPDIFF(YEAR, '2000-05-01', '2020-04-30')",
    [['2020-01-05', '19']],
  ],
  [
    "SELECT CASE Name WHEN 'ELAN' THEN 'yes' ELSE 'no' END FROM `Team Results` ORDER BY No LIMIT 2",
    [['yes'], ['no']],
  ],
  [
    "SELECT GROUP_CONCAT(DISTINCT Year ORDER BY Year DESC SEPARATOR '; ') FROM `Team Results` WHERE Year <> ''",
    [['998; 2010; 2007']],
  ],
  ["SELECT No FROM `Team Results` WHERE No IN (1, 9) AND Name NOT IN ('q') ORDER BY No", [['1'], ['9']]],
  [
    'SELECT No FROM `Team Results` WHERE Year BETWEEN 2007 AND 2010 AND NOT No = 10 ORDER BY No',
    [['1'], ['9']],
  ],
  ["SELECT No FROM `Team Results` WHERE Name REGEXP '^[[:digit:]]+%$'", [['x']]],
  [
    'SELECT a.No FROM `Team Results` a JOIN `Team Results` AS b ON a.Year = b.Year AND a.No <> b.No ORDER BY a.No',
    [['10'], ['9']],
  ],
  ['SELECT COUNT(DISTINCT Name), COUNT(DISTINCT Year, No) FROM `Team Results`', [['4', '5']]],
  [
    'SELECT No FROM `Team Results` WHERE Year = (SELECT MAX(Year + 0) FROM `Team Results`) ORDER BY No',
    [['10'], ['9']],
  ],
  ['WITH c(n) AS (SELECT 1 UNION ALL SELECT 2) SELECT SUM(n) FROM c', [['3']]],
  ["SELECT 'it''s', \"say \\\"x\\\"\", 'a' 'b', 'tab\\there'", [["it's", 'say "x"', 'ab', 'tab\there']]],
  ['SELECT No FROM `Team Results` ORDER BY No LIMIT 1, 2', [['10'], ['2']]],
  ['SELECT ROW_NUMBER() OVER (ORDER BY No), No FROM `Team Results` LIMIT 1', [['1', '1']]],
  [
    "SELECT HOUR('14:05:06'), MINUTE('14:05:06'), SECOND('14:05:06'), TIME_TO_SEC('01:00:01')",
    [['14', '5', '6', '3601']],
  ],
  [
    "SELECT WEEK('2020-01-05'), TIMEDIFF('04:00:00', '03:00:00'), FROM_UNIXTIME(0)",
    [['1', '01:00:00', '1970-01-01 00:00:00']],
  ],
  [
    "SELECT SHA1('a'), CONV('ff', 16, 10), _utf8mb4'a', STDDEV(No) > 0 FROM `Team Results`",
    [['86f7e437faa5a7fce15d1ddcb9eaeaea377667b8', '255', 'a', '1']],
  ],
  ['SELECT 5 / 2, 0.1 + 0.2, 1 / 3, ROUND(2.5, 3), 10 DIV 3', [['2.5000', '0.3', '0.3333', '2.500', '3']]],
  [
    'SELECT Year, COUNT(*) FROM `Team Results` WHERE Year > 2008 GROUP BY Year WITH ROLLUP',
    [
      ['2010', '2'],
      [null, '2'],
    ],
  ],
  [
    'SELECT No FROM `Team Results` WHERE Year + 0 >= ALL (SELECT Year + 0 FROM `Team Results`) ORDER BY No',
    [['10'], ['9']],
  ],
  ['SELECT No FROM `Team Results` ORDER BY No LIMIT 18446744073709551615 OFFSET 3', [['9'], ['x']]],
  ['SELECT @seen := 2, @seen + 1', [['2', '3']]],
]

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

function textsOf(result: StatementResult): unknown {
  return result.kind === 'rows'
    ? result.rows.map((row) => row.map((cell: Cell) => cell?.text ?? null))
    : result
}

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

  test('an update counts the rows that it changes, not those that it finds', () => {
    const database = engine.open(tables, 'count')
    const sql = "UPDATE `Team Results` SET Year = '2010' WHERE Year >= 2007"
    expect(database.execute(sql, 0, limits)).toEqual({ kind: 'done', affected: 1 })
    expect(database.execute(sql, 1, limits)).toEqual({ kind: 'done', affected: 0 })
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

describe.skipIf(databaseServerMissing() !== undefined)('a server', { timeout: 120_000 }, () => {
  test('gives the same as the embedded databases', async () => {
    const server = await startDatabaseServer()
    const backend = await openServer(server.url, limits)
    const database = await backend.open(tables, 'server')
    try {
      const differences: unknown[] = []
      for (const [sql, rows] of queries) {
        const given = textsOf(await database.execute(sql))
        if (JSON.stringify(given) !== JSON.stringify(rows)) differences.push({ sql, given, rows })
      }
      expect(differences).toEqual([])
    } finally {
      await backend.close()
      await server.close()
    }
  })
})
