/** Queries of tables, for comparing the embedded databases with a server. */
import type { Draw } from './calls.testing.ts'
import { castTypes } from './operator-statements.testing.ts'

const columns = ['id', 'name', 'dept', 'pay', 'hired', 'note']
const typedColumns = ['n', 'big', 'price', 'ratio', 'label', 'born', 'seen', 'lasts']
const aggregates = [
  ...[
    'COUNT',
    'SUM',
    'AVG',
    'MIN',
    'MAX',
    'COUNT(DISTINCT',
    'SUM(DISTINCT',
    'STDDEV',
    'VARIANCE',
    'STDDEV_SAMP',
  ],
  ...['VAR_SAMP', 'BIT_AND', 'BIT_OR', 'BIT_XOR', 'GROUP_CONCAT', 'STD', 'VAR_POP', 'STDDEV_POP'],
]

function aggregate(name: string, argument: string): string {
  return name.includes('(') ? `${name} ${argument})` : `${name}(${argument})`
}

export function condition(draw: Draw): string {
  const column = draw(columns)
  return draw([
    `${column} = ${draw(["'Ann'", "'ann'", '1', "'1'", "'HR'", "''", "'2019-03-01'", '1200', "'émile'"])}`,
    `${column} ${draw(['<', '>', '<=', '>=', '<>'])} ${draw(['5', "'5'", '1000', "'m'", "'2020'", '1200.0'])}`,
    `${column} LIKE ${draw(["'a%'", "'%e%'", "'_o_'", "'%\\\\%%'", "'%\\\\_%'", "'S%'", "''"])}`,
    `${column} IS ${draw(['NULL', 'NOT NULL'])}`,
    `${column} IN (${draw(["'Ann', 'Bob'", '1, 2, 3', "'HR', NULL", "1, 'IT'"])})`,
    `${column} BETWEEN ${draw(["'a' AND 'm'", '1 AND 10', "'1' AND '2'", '100 AND 1500'])}`,
    `${column} REGEXP ${draw(["'^[a-d]'", "'[0-9]+'", "'e$'", "'^.{3}$'"])}`,
    `LENGTH(${column}) > ${draw(['2', '3', '5'])}`,
    `NOT ${column} = 'Ann'`,
    `${column} <=> NULL`,
    `${column} REGEXP '^[[:alpha:]]+$'`,
  ])
}

export function conditions(draw: Draw): string {
  const one = condition(draw)
  return draw([one, one, `${one} AND ${condition(draw)}`, `${one} OR ${condition(draw)}`, `NOT (${one})`])
}

type Shape = () => string

export function queries(draw: Draw): string[] {
  const shapes = [...tableQueries(draw), ...nestedQueries(draw)]
  const list = shapes.flatMap((shape) => Array.from({ length: 16 }, () => shape()))
  return [...new Set(list)]
}

function tableQueries(draw: Draw): readonly Shape[] {
  const column = () => draw(columns)
  const typed = () => draw(typedColumns)
  const comparison = () => draw(['=', '<', '>', '<=', '>=', '<>'])
  const number = () => draw(['0', '1', '2', '3'])
  const order = () => draw(['', ' DESC'])
  return [
    () => `SELECT ${column()}, ${column()} FROM staff WHERE ${conditions(draw)}`,
    () => `SELECT * FROM staff WHERE ${conditions(draw)} ORDER BY id`,
    () => `SELECT id FROM staff ORDER BY ${column()}${order()}, id + 0`,
    () => `SELECT id FROM staff ORDER BY ${column()} + 0${order()}, id`,
    () => `SELECT id, ${column()} FROM staff ORDER BY id LIMIT ${number()} OFFSET ${number()}`,
    () => `SELECT id FROM staff ORDER BY 1${order()} LIMIT ${number()}, ${number()}`,
    () => `SELECT DISTINCT ${column()} FROM staff`,
    () => `SELECT ${aggregate(draw(aggregates), column())} FROM staff WHERE ${conditions(draw)}`,
    () => `SELECT ${aggregate(draw(aggregates), typed())} FROM typed`,
    () =>
      `SELECT ${aggregate(draw(aggregates), typed())}, ${aggregate(draw(aggregates), typed())} FROM typed WHERE n > ${number()}`,
    () => `SELECT ${aggregate(draw(aggregates), typed())} FROM typed WHERE FALSE`,
    () => `SELECT dept, COUNT(*), ${aggregate(draw(aggregates), column())} FROM staff GROUP BY dept`,
    () => `SELECT dept, COUNT(*) AS c FROM staff GROUP BY dept HAVING c ${comparison()} ${number()}`,
    () => `SELECT dept, SUM(pay) AS total FROM staff GROUP BY dept ORDER BY total${order()}, dept`,
    () => `SELECT dept, COUNT(*), SUM(pay) FROM staff GROUP BY dept WITH ROLLUP`,
    () => `SELECT n, price, COUNT(*) FROM typed GROUP BY n, price WITH ROLLUP`,
    () =>
      `SELECT ${typed()} ${draw(['+', '-', '*', '/', 'DIV', '%', '=', '<', '|'])} ${draw([typed(), '2', '1.5', "'3'"])} FROM typed`,
    () =>
      `SELECT ${typed()}, ${typed()} FROM typed WHERE ${typed()} ${comparison()} ${draw(['7', '12.5', "'two'", "'2000-06-15'", "'12:30:00'", "DATE '2010-10-10'"])}`,
    () => `SELECT id, ${typed()} FROM typed ORDER BY ${typed()}${order()}, id`,
    () =>
      `SELECT ${draw(['IFNULL', 'COALESCE', 'NULLIF', 'GREATEST', 'LEAST', 'CONCAT'])}(${typed()}, ${draw([typed(), '0', "'x'", '1.5'])}) FROM typed`,
    () =>
      `SELECT ${draw(['YEAR', 'MONTH', 'DAY', 'HOUR', 'MINUTE', 'DATE', 'TIME', 'WEEK', 'DAYNAME', 'TIME_TO_SEC', 'TO_DAYS', 'LENGTH', 'UPPER', 'ROUND', 'ABS', 'CEIL', 'HEX', 'MD5', 'SIGN'])}(${typed()}) FROM typed`,
    () =>
      `SELECT CASE WHEN n > ${number()} THEN ${typed()} ELSE ${draw([typed(), '0', 'NULL'])} END FROM typed`,
    () =>
      `SELECT s.name, d.city FROM staff s ${draw(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'INNER JOIN'])} depts d ON s.dept = d.dept${draw(['', ` WHERE d.floor > ${number()}`, ' AND d.floor = 2'])}`,
    () =>
      `SELECT ${draw(['*', 'name, city', 'dept', 'COUNT(*)'])} FROM staff ${draw(['NATURAL JOIN', 'NATURAL LEFT JOIN'])} depts`,
    () =>
      `SELECT ${draw(['*', 'dept, floor', 'COUNT(*)'])} FROM staff ${draw(['JOIN', 'LEFT JOIN', 'RIGHT JOIN'])} depts USING (dept)`,
    () => `SELECT a.id, b.id FROM staff a, staff b WHERE a.${column()} = b.${column()} AND a.id < b.id`,
    () =>
      `SELECT COUNT(*) FROM staff CROSS JOIN depts WHERE ${condition(draw).replaceAll('dept', 'staff.dept')}`,
    () =>
      `SELECT name FROM staff WHERE dept ${draw(['IN', 'NOT IN'])} (SELECT dept FROM depts WHERE floor ${comparison()} ${number()})`,
    () =>
      `SELECT name FROM staff s WHERE ${draw(['', 'NOT '])}EXISTS (SELECT 1 FROM depts d WHERE d.dept = s.dept AND d.floor > ${number()})`,
    () =>
      `SELECT name FROM staff WHERE pay + 0 ${comparison()} ${draw(['ALL', 'ANY', 'SOME'])} (SELECT floor * ${draw(['100', '500'])} FROM depts)`,
  ]
}

function nestedQueries(draw: Draw): readonly Shape[] {
  const column = () => draw(columns)
  const typed = () => draw(typedColumns)
  const comparison = () => draw(['=', '<', '>', '<=', '>=', '<>'])
  const number = () => draw(['0', '1', '2', '3'])
  const order = () => draw(['', ' DESC'])
  return [
    () =>
      `SELECT id, (SELECT ${draw(['MAX', 'MIN', 'COUNT'])}(d.city) FROM depts d WHERE d.dept = s.dept) FROM staff s`,
    () =>
      `SELECT t.${draw(['c', 'd'])}, t.d FROM (SELECT dept AS d, COUNT(*) AS c FROM staff GROUP BY dept) t WHERE t.c ${comparison()} ${number()}`,
    () =>
      `SELECT ${column()} FROM staff ${draw(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'])} SELECT ${draw(['dept', 'city', 'floor'])} FROM depts`,
    () =>
      `SELECT ${typed()} FROM typed ${draw(['UNION', 'UNION ALL'])} SELECT ${draw(['1', "'x'", '1.50', 'NULL', typed()])}${draw(['', ' FROM typed'])}`,
    () =>
      `(SELECT id FROM staff ORDER BY id LIMIT ${number()}) UNION ALL (SELECT dept FROM depts) ORDER BY 1${order()}`,
    () =>
      `WITH c AS (SELECT dept, ${draw(['COUNT(*)', 'MAX(pay)', 'SUM(pay)'])} AS v FROM staff GROUP BY dept) SELECT * FROM c WHERE v ${comparison()} ${number()}`,
    () =>
      `WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + ${draw(['1', '2'])} FROM c WHERE n < ${draw(['5', '9'])}) SELECT ${draw(['*', 'SUM(n)', 'COUNT(*)'])} FROM c`,
    () => windowQuery(draw),
    () =>
      `SELECT id, ${draw(['SUM(n)', 'COUNT(n)', 'MIN(n)'])} OVER (ORDER BY id ${draw(['ROWS BETWEEN 1 PRECEDING AND CURRENT ROW', 'ROWS UNBOUNDED PRECEDING', 'ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING'])}) FROM typed`,
    () => `SELECT ${column()}, @r := 1 FROM staff LIMIT 1`,
    () => concatQuery(draw),
    () => `SELECT ${draw(['nothing', 'staff.nothing', 'x.id', 'id, missing'])} FROM staff`,
    () => `SELECT ${draw(['id', 'COUNT(*)'])} FROM ${draw(['missing', 'staff, missing'])}`,
    () =>
      `SELECT name FROM staff WHERE ${draw(['COUNT(*) > 1', 'id = (SELECT id FROM staff)', '(id, name) = 1', 'FROM'])}`,
    () => `SELECT COUNT(DISTINCT ${column()}, ${column()}) FROM staff`,
    () => `SELECT name AS x, COUNT(*) FROM staff GROUP BY x ORDER BY x LIMIT ${number()}`,
    () =>
      `SELECT SUBSTRING(hired, 1, 4) AS y, COUNT(*) FROM staff GROUP BY y HAVING y ${comparison()} '2020' ORDER BY y`,
    () =>
      `SELECT dept FROM staff GROUP BY dept HAVING ${draw(['MAX', 'MIN', 'SUM', 'AVG'])}(pay) ${comparison()} ${draw(['1000', "'1200'", '0'])}`,
    () => `SELECT id FROM staff ORDER BY FIELD(dept, 'HR', 'IT'), id + 0`,
    () => `SELECT REPLACE(pay, ',', '') + 0, CAST(REPLACE(pay, ',', '') AS ${draw(castTypes)}) FROM staff`,
    () =>
      `SELECT ${draw(['SUM', 'AVG', 'MAX', 'MIN'])}(CAST(REPLACE(pay, ',', '') AS ${draw(['DECIMAL(10,2)', 'SIGNED', 'UNSIGNED', 'DECIMAL', 'DOUBLE'])})) FROM staff`,
    () =>
      `SELECT STR_TO_DATE(hired, ${draw(["'%Y-%m-%d'", "'%M %e, %Y'", "'%M %d, %Y'", "'%d/%m/%Y'"])}) FROM staff`,
    () =>
      `SELECT DATE_FORMAT(hired, ${draw(["'%Y'", "'%M %e, %Y'", "'%W %D'", "'%y%m%d %H:%i:%s'", "'%j %U %u %V %v %X %x'", "'%a %b %c %p %r %T'"])}) FROM staff`,
    () => `SELECT id FROM staff ORDER BY id LIMIT 18446744073709551615 OFFSET ${draw(['2', '5'])}`,
    () =>
      `SELECT COUNT(*) FROM staff WHERE (dept, floor) IN (SELECT dept, floor FROM depts)`
        .replaceAll('floor)', "'3')")
        .replace(', floor F', ', floor F'),
  ]
}

/** Rows that the order does not tell apart would make a window's values a matter of chance. */
function windowQuery(draw: Draw): string {
  const call = draw([
    ...[
      'ROW_NUMBER()',
      'RANK()',
      'DENSE_RANK()',
      'NTILE(3)',
      'CUME_DIST()',
      'PERCENT_RANK()',
      'COUNT(*)',
      'SUM(n)',
    ],
    ...['LAG(n)', 'LEAD(n)', 'LAG(n, 2)', 'FIRST_VALUE(n)', 'LAST_VALUE(n)', 'MAX(price)', 'AVG(n)'],
  ])
  const partition = draw(['', 'PARTITION BY n '])
  const order = `${draw(['id', 'n', 'price'])}${draw(['', ' DESC'])}`
  const last = /^(?:ROW_NUMBER|NTILE|LAG|LEAD|FIRST|LAST)/.test(call) ? ', id' : ''
  return `SELECT id, ${call} OVER (${partition}ORDER BY ${order}${last}) FROM typed ORDER BY id`
}

function concatQuery(draw: Draw): string {
  const distinct = draw(['', 'DISTINCT '])
  const [value, other] = [draw(columns), draw(columns)]
  const order = `${distinct === '' ? other : value}${draw(['', ' DESC'])}${distinct === '' ? ', id' : ''}`
  return `SELECT GROUP_CONCAT(${distinct}${value} ORDER BY ${order} SEPARATOR '${draw(['; ', '', '|'])}') FROM staff`
}
