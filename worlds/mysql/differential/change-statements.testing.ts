/** Changes and definitions of tables, for comparing the embedded databases with a server. */
import type { Draw } from './calls.testing.ts'
import { literals } from './operator-statements.testing.ts'
import { condition, conditions } from './query-statements.testing.ts'

export function changes(draw: Draw): string[] {
  const column = () => draw(['name', 'dept', 'pay', 'hired', 'note'])
  const value = () => draw([...literals.slice(0, 36), "'x'", 'NULL', 'NULL'])
  const look = 'SELECT * FROM staff'
  const shapes: readonly (() => string)[] = [
    () => `UPDATE staff SET ${column()} = ${value()} WHERE ${conditions(draw)}`,
    () =>
      `UPDATE staff SET ${draw(['pay', 'id'])} = ${draw(['pay', 'id'])} ${draw(['+', '*', '/', '-'])} ${draw(['1', '1.5', '2', "'3'"])} WHERE ${condition(draw)}`,
    () =>
      `UPDATE staff SET name = UPPER(name), note = CONCAT(name, '-', id) ORDER BY id LIMIT ${draw(['1', '2', '3'])}`,
    () =>
      `UPDATE staff s JOIN depts d ON s.dept = d.dept SET s.note = d.city WHERE d.floor > ${draw(['1', '2'])}`,
    () =>
      `UPDATE staff s LEFT JOIN depts d USING (dept) SET s.note = ${draw(["'none'", 'd.floor + 1'])} WHERE d.city IS NULL`,
    () =>
      `UPDATE staff, depts SET staff.pay = depts.floor, depts.city = 'moved' WHERE staff.dept = depts.dept AND depts.floor = ${draw(['2', '3'])}`,
    () => `UPDATE staff SET pay = (SELECT MAX(floor + 0) FROM depts) WHERE id = ${draw(['1', '2', '99'])}`,
    () =>
      `UPDATE staff SET note = ${draw(['5/2', '0.1+0.2', '1.50', '1e20', '-0.0', '7 DIV 2', "DATE '2020-01-05'", 'TRUE', '10/3', 'NULL', "x'4142'"])} WHERE id = ${draw(['1', '3'])}`,
    () => `DELETE FROM staff WHERE ${condition(draw)} LIMIT 1`,
    () => `DELETE FROM staff WHERE id = ${draw(['1', '2', '11', "'12'", '99'])}`,
    () => `DELETE s FROM staff s JOIN depts d ON s.dept = d.dept WHERE d.floor = ${draw(['2', '3', '10'])}`,
    () =>
      `DELETE FROM s USING staff s LEFT JOIN depts d ON s.dept = d.dept WHERE d.dept IS NULL AND s.id > 10`,
    () => `DELETE FROM staff ORDER BY ${column()}, id LIMIT 1`,
    () => `INSERT INTO staff (id, name) VALUES (${draw(['20', "'21'", '2.50', 'NULL'])}, ${value()})`,
    () => `INSERT INTO staff VALUES (${value()}, ${value()}, 'IT', ${value()}, NULL, ${value()})`,
    () => `INSERT INTO staff (id, name) SELECT floor, city FROM depts WHERE floor > ${draw(['1', '2', '5'])}`,
    () => `INSERT INTO staff SET id = ${draw(['30', '31'])}, name = 'set', pay = ${value()}`,
    () =>
      `INSERT INTO staff (id, name) VALUES (40, 'a'), (41, 'b') ON DUPLICATE KEY UPDATE name = VALUES(name)`,
    () => `INSERT INTO staff (id, nothing) VALUES (1, 2)`,
    () => `INSERT INTO staff (id, name) VALUES (1)`,
    () => `REPLACE INTO depts VALUES ('New', 'Bern', ${draw(['4', '5'])})`,
    () => `UPDATE staff SET name = name`,
    () => `UPDATE staff SET missing = 1`,
    () => `DELETE FROM missing`,
    () => `SET @v := ${draw(['1', "'x'", '2.5', '(SELECT COUNT(*) FROM staff)'])}`,
    () => 'SELECT @v, @v + 1, @unset',
  ]
  const list: string[] = []
  for (let count = 0; count < 12; count++) list.push(draw(shapes)(), look)
  list.push('SELECT * FROM depts', 'SELECT COUNT(*), COUNT(note), SUM(pay) FROM staff')
  return list
}

export const definitions: readonly (readonly string[])[] = [
  [
    "CREATE TABLE k (id INT PRIMARY KEY, v VARCHAR(5) NOT NULL DEFAULT 'd', u INT UNIQUE)",
    ...["INSERT INTO k VALUES (1, 'a', 1), (2, 'b', 2)", "INSERT INTO k VALUES (1, 'c', 3)"],
    ...[
      "INSERT INTO k VALUES (3, 'c', 2)",
      "INSERT IGNORE INTO k VALUES (1, 'c', 3), (4, 'd', 4)",
      'SELECT * FROM k',
    ],
    "INSERT INTO k VALUES (1, 'x', 9) ON DUPLICATE KEY UPDATE v = CONCAT(v, VALUES(v)), u = u + 10",
    ...["INSERT INTO k VALUES (1, 'ax', 11) ON DUPLICATE KEY UPDATE v = 'ax'", 'SELECT * FROM k'],
    ...["REPLACE INTO k VALUES (2, 'r', 4)", 'SELECT * FROM k', 'INSERT INTO k (id) VALUES (7)'],
    ...[
      "INSERT INTO k VALUES (8, 'toolong', -5)",
      "INSERT INTO k VALUES ('9x', 12, '7.6')",
      'SELECT * FROM k',
    ],
    ...[
      'UPDATE k SET id = 1 WHERE id = 7',
      'UPDATE k SET u = NULL',
      'INSERT INTO k (id, v) VALUES (50, NULL)',
    ],
    ...[
      'SELECT * FROM k ORDER BY id DESC',
      'DELETE FROM k WHERE id > 2',
      'TRUNCATE TABLE k',
      'SELECT * FROM k',
    ],
    ...['DROP TABLE k', 'DROP TABLE k', 'DROP TABLE IF EXISTS k', 'SELECT * FROM k'],
  ],
  [
    'CREATE TABLE a (id INT NOT NULL AUTO_INCREMENT, t TEXT, PRIMARY KEY (id))',
    ...["INSERT INTO a (t) VALUES ('x'), ('y')", 'SELECT LAST_INSERT_ID()', 'SELECT * FROM a'],
    ...[
      "INSERT INTO a VALUES (10, 'z'), (NULL, 'w'), (0, 'v')",
      'SELECT * FROM a',
      'DELETE FROM a WHERE id = 12',
    ],
    ...[
      "INSERT INTO a (t) VALUES ('after')",
      'SELECT * FROM a',
      'SELECT ROW_COUNT()',
      'SHOW COLUMNS FROM a',
      'DESCRIBE a',
    ],
    ...[
      'ALTER TABLE a ADD COLUMN n INT DEFAULT 5',
      'SELECT * FROM a',
      'ALTER TABLE a ADD first_c VARCHAR(3) FIRST',
    ],
    ...[
      'ALTER TABLE a ADD mid_c INT AFTER id',
      'SELECT * FROM a',
      'ALTER TABLE a DROP COLUMN mid_c, ADD z DATE',
    ],
    ...[
      'SELECT * FROM a',
      'ALTER TABLE a CHANGE t txt VARCHAR(3)',
      'SELECT * FROM a',
      'ALTER TABLE a MODIFY n VARCHAR(10)',
    ],
    ...[
      'ALTER TABLE a RENAME COLUMN n TO m',
      'SELECT m FROM a',
      'ALTER TABLE a RENAME TO b',
      'SELECT * FROM a',
      'SELECT * FROM b',
    ],
    ...[
      'RENAME TABLE b TO c',
      'SELECT COUNT(*) FROM c',
      'ALTER TABLE c DROP COLUMN nothing',
      'ALTER TABLE c ADD COLUMN m INT',
    ],
    ...['CREATE INDEX ix ON c (m)', 'DROP INDEX ix ON c', 'DESC c', 'SHOW TABLES', "SHOW TABLES LIKE 's%'"],
  ],
  [
    'CREATE TABLE copy AS SELECT id, pay + 1 AS p, name FROM staff',
    ...[
      'SELECT * FROM copy',
      'CREATE TABLE shape LIKE staff',
      'SELECT * FROM shape',
      'INSERT INTO shape SELECT * FROM staff',
    ],
    ...[
      'SELECT COUNT(*) FROM shape',
      'CREATE TABLE IF NOT EXISTS shape (x INT)',
      'CREATE TABLE shape (x INT)',
    ],
    ...[
      "CREATE VIEW v AS SELECT name, pay FROM staff WHERE dept = 'IT'",
      'SELECT * FROM v',
      'CREATE OR REPLACE VIEW v (n) AS SELECT name FROM staff',
    ],
    ...[
      'SELECT n FROM v ORDER BY n',
      'DROP VIEW v',
      'SELECT * FROM v',
      'CREATE TEMPORARY TABLE tmp (x INT, y DOUBLE)',
    ],
    ...[
      'INSERT INTO tmp VALUES (1.5, 1.5), (2.5, 1e300), (-1.5, 0.1)',
      'SELECT * FROM tmp',
      'SELECT SUM(y), AVG(x) FROM tmp',
    ],
    ...[
      'SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME',
    ],
    ...[
      "SELECT COLUMN_NAME, DATA_TYPE, ORDINAL_POSITION, IS_NULLABLE FROM information_schema.COLUMNS WHERE TABLE_NAME = 'staff' AND TABLE_SCHEMA = DATABASE()",
    ],
    ...['DESCRIBE staff', 'SHOW COLUMNS FROM staff', 'DESCRIBE missing', 'SHOW FULL COLUMNS FROM missing'],
  ],
  [
    'CREATE TABLE x (i TINYINT, s SMALLINT UNSIGNED, d DECIMAL(5,2), f FLOAT, c CHAR(3), v VARCHAR(4), da DATE, dt DATETIME, ti TIME, y YEAR, b BOOLEAN)',
    "INSERT INTO x VALUES (300, -1, 1234.567, 1.1, 'abcdef', 'ab  ', '2020-02-30', 'abc', '25:61:00', 2020, TRUE)",
    "INSERT INTO x VALUES (-300, 70000, 'abc', 16777217, 'a  ', 'ab  ', '2020-01-05', '2020-01-05', '10:11', 99, FALSE)",
    "INSERT INTO x VALUES ('12', '3.5', 1.005, '2.5', 5, 1.5, 20200105, 20200105101112, 101112, '2001', 2)",
    ...[
      'SELECT * FROM x',
      'SELECT i + 1, s - 1, d * 2, f + 0, f, y + 1, da + 0, dt + 0, ti + 0 FROM x',
      'SELECT SUM(i), AVG(s), SUM(d), AVG(d), SUM(f) FROM x',
    ],
    ...[
      "SELECT c = 'a', v = 'ab', LENGTH(c), LENGTH(v) FROM x",
      'SELECT MIN(da), MAX(dt), MIN(ti) FROM x',
      'SELECT s - 2 FROM x',
      'DESCRIBE x',
    ],
    ...[
      'SELECT DISTINCT da FROM x ORDER BY da',
      'SELECT COUNT(*) FROM x WHERE da = 20200105',
      "SELECT COUNT(*) FROM x WHERE da = '2020-1-5'",
    ],
    ...[
      "SELECT COUNT(*) FROM x WHERE dt >= '2020-01-05'",
      "SELECT * FROM x WHERE ti > '10:00'",
      'UPDATE x SET i = i + 200',
      'SELECT i FROM x',
    ],
  ],
  [
    ...[
      'START TRANSACTION',
      "UPDATE staff SET name = 'T'",
      'ROLLBACK',
      'SELECT name FROM staff',
      'BEGIN',
      'DELETE FROM staff',
      'COMMIT',
    ],
    ...[
      'SELECT COUNT(*) FROM staff',
      'BEGIN',
      "INSERT INTO staff (id) VALUES ('1')",
      'SAVEPOINT s',
      "INSERT INTO staff (id) VALUES ('2')",
    ],
    ...[
      'ROLLBACK TO SAVEPOINT s',
      'SELECT id FROM staff',
      'ROLLBACK TO missing',
      'RELEASE SAVEPOINT s',
      'COMMIT',
      'SELECT id FROM staff',
    ],
    ...[
      'SET autocommit = 0',
      "INSERT INTO staff (id) VALUES ('3')",
      'ROLLBACK',
      'SELECT id FROM staff',
      'SET autocommit = 1',
    ],
    ...[
      'SELECT @@autocommit',
      'DO 1',
      'SET @a = 1, @b = 2',
      'SELECT @a + @b',
      'SELECT @a := @a + 1, @a',
      'SELECT ROW_COUNT()',
    ],
  ],
  [
    ...[
      'SELECT',
      'SELECT 1 +',
      'SELECT FROM staff',
      'SELECT * staff',
      "SELECT 'open",
      'SELECT (1',
      'SELECT 1)',
    ],
    ...['UPDATE staff', 'INSERT staff', 'DELETE staff', 'CREATE TABLE', 'SELECT LEFT(1)'],
    ...[
      'UPDATE staff SET pay = (SELECT MAX(pay) FROM staff) WHERE FALSE',
      'UPDATE staff SET pay = (SELECT m FROM (SELECT MAX(pay) AS m FROM staff) AS s) WHERE FALSE',
      'SELECT dept FROM staff GROUP BY dept DESC',
      'SELECT 1, * FROM staff',
      "SELECT -'abc'",
      "SELECT STR_TO_DATE('2020-02-30', '%Y-%m-%d')",
      'SELECT HEX(0.5e0)',
      'SELECT name FROM staff WHERE dept IN (SELECT dept FROM depts LIMIT 1)',
      'SELECT * FROM staff WHERE',
      'SELECT * FROM staff GROUP',
      'SELECT * FROM staff ORDER id',
      'SELECT COUNT(*) FROM staff LIMIT a',
    ],
    ...[
      'SELECT 1 UNION SELECT 1, 2',
      'SELECT (SELECT 1, 2)',
      'SELECT * FROM staff a, staff a',
      'SELECT id FROM staff a, staff b',
    ],
    ...[
      'SELECT name FROM staff HAVING missing > 1',
      'SELECT SUM(SUM(pay)) FROM staff',
      'SELECT x FROM (SELECT 1 AS y) t',
    ],
    ...['SELECT * FROM (SELECT 1)', 'SELECT ABS()', 'SELECT IF(1, 2)', 'SELECT -9223372036854775808 - 1'],
    ...[
      'SELECT 9223372036854775807 + 1',
      'SELECT 18446744073709551615 + 1',
      'SELECT CAST(1 AS UNSIGNED) - 2',
      'SELECT EXP(1000)',
      'SELECT POW(10, 400)',
    ],
    ...[
      "SELECT 1 FROM DUAL WHERE 'a' = 'A'",
      'SELECT DATABASE()',
      'SELECT VERSION() IS NOT NULL',
      'SELECT USER() IS NOT NULL',
      'SELECT NOW(), CURDATE(), CURTIME()',
    ],
    ...[
      'SELECT UTC_DATE(), UTC_TIMESTAMP()',
      'SHOW DATABASES',
      'USE dbbench_missing',
      'VALUES (1, 2), (3, 4)',
      'TABLE depts',
      'SELECT @@missing',
    ],
  ],
]
