import { expect, test } from 'vitest'
import { ExpressionWriter } from './expression.ts'
import { StatementRefused } from './failure.ts'
import { TokenReader } from './token-reader.ts'

function written(sql: string): string {
  return new ExpressionWriter(new TokenReader(sql)).sequence()
}

test.each([
  "SELECT 1 INTO OUTFILE '/tmp/x'",
  'SELECT 1 INTO @x',
  'SELECT a FOR x',
  'SELECT a FROM t LOCK TABLES',
  "SELECT a FROM 'file'",
  "SELECT a FROM t JOIN 'file'",
])('what would reach a file, a variable or another statement is refused: %s', (sql) => {
  expect(() => written(sql)).toThrow(StatementRefused)
})

test.each([
  ['SELECT SQL_CALC_FOUND_ROWS HIGH_PRIORITY a FROM t', 'SELECT "a" FROM "t"'],
  ['SELECT a FROM t FOR UPDATE', 'SELECT "a" FROM "t"'],
  ['SELECT a FROM t LOCK IN SHARE MODE', 'SELECT "a" FROM "t"'],
  ['SELECT 1 FROM DUAL', 'SELECT 1'],
])('what asks for a lock or a way of reading only is left out: %s', (sql, kept) => {
  expect(written(sql)).toBe(kept)
})

test.each([
  ["SELECT a AS 'b c' FROM t", 'SELECT "a" AS "b c" FROM "t"'],
  ['SELECT DISTINCTROW a FROM t LIMIT 2 OFFSET 1', 'SELECT DISTINCT "a" FROM "t" LIMIT 2 OFFSET 1'],
  [
    'SELECT LEFT(a, 1) FROM t LEFT JOIN u USING (a)',
    'SELECT my_left("a", 1) FROM "t" LEFT JOIN "u" USING ("a")',
  ],
  ['WITH c (a) AS (SELECT 1) SELECT a FROM c', 'WITH "c"("a") AS (SELECT 1) SELECT "a" FROM "c"'],
])('other clauses are passed on as SQLite reads them: %s', (sql, kept) => {
  expect(written(sql)).toBe(kept)
})
