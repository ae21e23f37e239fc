import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { refusalOf } from './permitted.ts'

const refused = [
  "XA START 'x'",
  "xa begin 'x'",
  " \n-- x\n# y\n/* z */ Xa /**/ start 'x'",
  "/*!50000 XA */ START 'x'",
  "/*M!100000 XA */ START 'x'",
  "/*!XA START 'x'*/",
  "SELECT 1 /*!, GET_LOCK('x', 1) */",
  "SET STATEMENT max_statement_time = 1 FOR XA START 'x'",
  "SET /* x */ STATEMENT max_statement_time = 1 FOR XA START 'x'",
  "EXECUTE IMMEDIATE 'XA START ''x'''",
  "PREPARE s FROM 'XA START ''x'''",
  'EXECUTE s',
  "BEGIN NOT ATOMIC EXECUTE IMMEDIATE 'XA START ''x'''; END",
  "BEGIN /* */ EXECUTE IMMEDIATE 'XA START ''x'''; END",
  "TRUNCATE: BEGIN NOT ATOMIC EXECUTE IMMEDIATE 'x'; END",
  "`l`: BEGIN NOT ATOMIC EXECUTE IMMEDIATE 'x'; END",
  "IF 1 THEN EXECUTE IMMEDIATE 'x'; END IF",
  'CREATE PROCEDURE p() SELECT 1',
  'CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO SELECT 1',
  'CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW DELETE FROM t',
  'CREATE DEFINER = root VIEW v AS SELECT 1',
  "CREATE USER 'evil'",
  'CALL p()',
  'LOCK TABLES t WRITE',
  'FLUSH TABLES WITH READ LOCK',
  'BACKUP LOCK t',
  'HANDLER t OPEN',
  'KILL 1',
  'SHUTDOWN',
  "LOAD DATA INFILE '/x' INTO TABLE t",
  'INSTALL PLUGIN x SONAME "x"',
  'SET GLOBAL max_connections = 1',
  'SET PERSIST max_connections = 1',
  "SET PASSWORD = ''",
  "SET @a = 1, PASSWORD = ''",
  'SET ROLE admin',
  'SET DEFAULT ROLE admin',
  "ALTER USER CURRENT_USER() IDENTIFIED BY 'x'",
  'SELECT GET_LOCK("x", 1)',
  'SELECT get_lock /* x */ ("x", 1)',
  'SELECT `get_lock`("x", 1)',
  'DO RELEASE_ALL_LOCKS()',
  'CREATE VIEW v AS SELECT IS_FREE_LOCK("x")',
  'UPDATE t SET a = RELEASE_LOCK("x"), b = IS_USED_LOCK("x")',
]

const sent = [
  'SELECT 1',
  '(SELECT 1) UNION (SELECT 2)',
  ' # why\n select * from `t`',
  '/* of the year */ WITH c AS (SELECT 1) SELECT * FROM c',
  "INSERT INTO t VALUES ('XA START', 'LOCK TABLES', 'PASSWORD')",
  "UPDATE `Team Results` SET a = 'x' WHERE b = 1",
  'DELETE FROM t',
  'REPLACE INTO t VALUES (1)',
  'TRUNCATE TABLE t',
  'CREATE TABLE IF NOT EXISTS t (a TEXT)',
  'CREATE TEMPORARY TABLE t (a TEXT)',
  'CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY INVOKER VIEW v AS SELECT 1',
  'CREATE UNIQUE INDEX i ON t (a)',
  'ALTER TABLE t ADD COLUMN b TEXT',
  'DROP TABLE t',
  'RENAME TABLE t TO u',
  'SHOW TABLES',
  'DESCRIBE t',
  'EXPLAIN SELECT 1',
  'SET @x = 1',
  "SET SESSION sql_mode = ''",
  'START TRANSACTION',
  'BEGIN',
  'begin work ;',
  'COMMIT',
  'ROLLBACK TO SAVEPOINT a',
  '',
  ' ;;',
]

describe('what reaches the server', () => {
  test.each(refused)('refused: %s', (sql) => {
    expect(refusalOf(sql)).toMatchObject({ code: 1235, state: '42000' })
  })

  test.each(sent)('sent: %s', (sql) => {
    expect(refusalOf(sql)).toBeUndefined()
  })

  test('whatever is before and within it, XA is refused, and no text takes long to read', () => {
    const blank = fc.constantFrom(
      ' ',
      '\n',
      '\t',
      '-- x\n',
      '--\n',
      '# x\n',
      '/* x */',
      '/**/',
      '/***/',
      '/* * / */',
    )
    const blanks = fc.array(blank, { maxLength: 20 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(blanks, blanks, fc.string(), (before, between, after) => {
        expect(refusalOf(`${before}XA${between} ${after}`)).toBeDefined()
      }),
    )
    for (const part of [' ', '/*', '/**/', '-', '#', '(', 'a ', '/*!', '--', '*/']) {
      const started = performance.now()
      refusalOf(part.repeat(50_000))
      expect(performance.now() - started).toBeLessThan(5_000)
    }
  })
})
