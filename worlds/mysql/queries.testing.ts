/** Queries with what MySQL gives for them, for the engine and for a server. */
import type { Cell, StatementResult, TableData } from './database.ts'

export const tables: readonly TableData[] = [
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
export const queries: readonly (readonly [string, readonly (readonly (string | null)[])[]])[] = [
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
  [
    "SELECT MICROSECOND('10:05:03.000012'), TIME('10:05:03.000012'), ADDTIME('10:05:03.000012', '0:0:1')",
    [['12', '10:05:03.000012', '10:05:04.000012']],
  ],
  ['SELECT @seen := 2, @seen + 1', [['2', '3']]],
  [
    "SELECT SUM(DISTINCT v), AVG(DISTINCT v), COUNT(DISTINCT v) FROM (SELECT '1' AS v UNION SELECT '1.0' UNION SELECT 'x' UNION SELECT 'y') t",
    [['1', '0.5', '4']],
  ],
  [
    "SELECT 'a ' = 'a' COLLATE utf8mb4_bin, 'A ' = 'a' COLLATE utf8mb4_general_ci, 'a ' LIKE 'a' COLLATE utf8mb4_bin",
    [['1', '1', '0']],
  ],
]

export function textsOf(result: StatementResult): unknown {
  return result.kind === 'rows'
    ? result.rows.map((row) => row.map((cell: Cell) => cell?.text ?? null))
    : result
}
