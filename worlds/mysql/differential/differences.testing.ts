/**
 * Where the embedded databases and MariaDB differ, and why: `worlds/mysql/differences.md` lists them, the differential suite
 * allows nothing else.
 *
 * Invariants
 * - Each difference is MySQL 8's semantics against MariaDB's, or a rounding in the last digit.
 * - A difference that no statement of the suite shows is taken out.
 */

/** The two results of one statement, each as one text. */
export interface Comparison {
  readonly sql: string
  readonly embedded: string
  readonly server: string
}

export interface Difference {
  /** A row of the table in the documents: the expression, then what each gives. */
  readonly example: string
  readonly embedded: string
  readonly server: string
  readonly why: string
  readonly isIt: (comparison: Comparison) => boolean
}

function sql(pattern: RegExp): (comparison: Comparison) => boolean {
  return (comparison) => pattern.test(comparison.sql)
}

function embeddedFails(code: number): (comparison: Comparison) => boolean {
  return ({ embedded }) => embedded === `error ${code}`
}

export const differences: readonly Difference[] = [
  {
    example: "GREATEST(-2.5, '12abc')",
    embedded: "'12abc'",
    server: '12',
    why: 'numbers and texts are compared as texts, dates and other values too',
    isIt: sql(/\b(?:GREATEST|LEAST)\(/),
  },
  {
    example: "DATE '2020-01-05' = 'abc'",
    embedded: 'error 1525',
    server: '0',
    why: 'a constant that is no date is refused where it is compared with one',
    isIt: embeddedFails(1525),
  },
  {
    example: 'STDDEV(n)',
    embedded: '16.20763708873073',
    server: '16.2076',
    why: 'variances and deviations of exact numbers have all digits',
    isIt: sql(/\b(?:STD|STDDEV|VAR|VARIANCE)\w*\(/),
  },
  {
    example: 'PERCENT_RANK() OVER (ORDER BY n)',
    embedded: '0.2',
    server: '0.2000000000',
    why: 'a rank is a double with the digits that it has',
    isIt: sql(/\b(?:PERCENT_RANK|CUME_DIST)\(/),
  },
  {
    example: "'a ' = 'a'",
    embedded: '0',
    server: '1',
    why: 'spaces at the end count, but in a collation other than those of MySQL 8',
    isIt: sql(/'a '/),
  },
  {
    example: "'a%b' < 'a,b'",
    embedded: '0',
    server: '1',
    why: 'signs have the order of Unicode',
    isIt: sql(/'a%b'.*'a,b,c'|'a,b,c'.*'a%b'/),
  },
  {
    example: 'MOD(-0.5, 0.1)',
    embedded: '0.0',
    server: '-0.0',
    why: 'a decimal has no sign of zero',
    isIt: ({ embedded, server }) => embedded === server.replaceAll(/decimal -(?=0(?:\.0+)?$)/gm, 'decimal '),
  },
  {
    example: 'ROUND(9223372036854775807, -2)',
    embedded: 'an integer',
    server: 'a decimal',
    why: 'a rounded integer is one',
    isIt: sql(/ROUND\(9223372036854775807/),
  },
  {
    example: "LOCATE('', 'éÀß', 1.5)",
    embedded: '2',
    server: '3',
    why: 'the empty text is where the search begins',
    isIt: sql(/LOCATE\('',/),
  },
  {
    example: "REPLACE('abc', '', NULL)",
    embedded: 'NULL',
    server: "'abc'",
    why: 'an argument that is NULL makes the result NULL',
    isIt: sql(/REPLACE\(.*NULL\)/),
  },
  {
    example: 'EXTRACT(DAY FROM 20200105)',
    embedded: '5',
    server: '84',
    why: 'the day is that of a date',
    isIt: sql(/EXTRACT\(DAY FROM \d/),
  },
  {
    example: "MAKE_SET(-1, 1.50, '日本')",
    embedded: "'1.50,日本'",
    server: 'other letters',
    why: 'a number beside a text leaves its letters as they are',
    isIt: sql(/MAKE_SET\(/),
  },
  {
    example: 'GROUP_CONCAT(a ORDER BY b DESC)',
    embedded: "b = '' before NULL",
    server: "NULL as ''",
    why: 'NULL is before all texts',
    isIt: sql(/GROUP_CONCAT\(.*ORDER BY note/),
  },
  {
    example: "DATE_FORMAT('0000-00-00', '%U')",
    embedded: '00',
    server: '613566757',
    why: 'the zero date is in week 0',
    isIt: sql(/DATE_FORMAT\('0000-00-00', '%U/),
  },
  {
    example: "REGEXP_SUBSTR('abc', 'x')",
    embedded: 'NULL',
    server: "''",
    why: 'no match is NULL',
    isIt: sql(/REGEXP_SUBSTR/),
  },
  {
    example: "x'41' + 0",
    embedded: '65',
    server: '0',
    why: 'hexadecimal bytes are a number where one is asked for',
    isIt: sql(/x'41'/),
  },
  {
    example: "'3.7' | 0, BIT_COUNT('3.7')",
    embedded: '3, 2',
    server: '4, 1',
    why: 'as an integer, a text is the digits that it begins with, not its rounded number',
    isIt: sql(/'[^']*'\s*(?:[|&^]|<<|>>)|(?:[|&^]|<<|>>)\s*'|~'|BIT_COUNT\('/),
  },
  {
    example: "-'abc'",
    embedded: '-0',
    server: '0',
    why: 'a double keeps the sign of zero',
    isIt: ({ embedded, server }) => embedded.replaceAll('double -0', 'double 0') === server,
  },
  {
    example: "-DATE '2020-01-05'",
    embedded: 'an integer',
    server: 'a decimal',
    why: 'a negated or rounded date is an integer',
    isIt: sql(/-\s*(?:DATE|TIME)|\b(?:ABS|CEIL|CEILING|FLOOR|ROUND|TRUNCATE)\((?:born|seen|lasts)/),
  },
  {
    example: "UNIX_TIMESTAMP('abc')",
    embedded: '0',
    server: 'NULL',
    why: 'what is no date counts as 0',
    isIt: sql(/UNIX_TIMESTAMP/),
  },
  {
    example: "TIME_TO_SEC('10:11:12.5')",
    embedded: '36672',
    server: '36672.5',
    why: 'the result is an integer',
    isIt: sql(/TIME_TO_SEC/),
  },
  {
    example: "MINUTE('2020-01-05')",
    embedded: '20',
    server: '0',
    why: 'a text without a time of day is read as a time: 00:20:20; so are numbers by ADDTIME and EXTRACT',
    isIt: sql(/EXTRACT\((?:HOUR|MINUTE|SECOND|DAY_|MICRO)|(?:ADD|SUB)TIME\(\d|\bAS TIME\)|, TIME\)/),
  },
  {
    example: 'MAKETIME(900, 0, 30.5)',
    embedded: '838:59:59.0',
    server: '838:59:59.9',
    why: 'a time beyond the range has no fraction',
    isIt: sql(/MAKETIME\(900/),
  },
  {
    example: "STR_TO_DATE('2020-02-30', '%Y-%m-%d')",
    embedded: 'NULL',
    server: '2020-02-30',
    why: 'a day that the month lacks is no date',
    isIt: sql(/STR_TO_DATE\('2020-02-30'/),
  },
  {
    example: "'2020-02-29' + INTERVAL 1.5 SECOND",
    embedded: '2020-02-29 00:00:01.500000',
    server: '2020-02-29 00:00:01.5',
    why: 'a text with a fraction of a second has six places, without one none',
    isIt: ({ embedded, server }) => withoutFractions(embedded) === withoutFractions(server),
  },
  {
    example: "LPAD(7, 10, '')",
    embedded: "''",
    server: 'NULL',
    why: 'nothing to fill with gives nothing',
    isIt: sql(/\b[LR]PAD\(/),
  },
  {
    example: 'HEX(0.5e0)',
    embedded: '0',
    server: '1',
    why: 'a double is rounded to the even neighbour',
    isIt: sql(/HEX\(|\bratio\s*(?:[|&^]|<<|>>)|(?:[|&^]|<<|>>)\s*ratio\b/),
  },
  {
    example: 'CASE WHEN n > 0 THEN big ELSE NULL END',
    embedded: 'an integer',
    server: 'a decimal',
    why: 'an unsigned integer stays one beside NULL',
    isIt: sql(/\bbig\b.*NULL/),
  },
  {
    example: "18446744073709551615 < DATE '2020-01-05'",
    embedded: '0',
    server: '1',
    why: 'a number and a date are compared as numbers',
    isIt: sql(
      /\b(?:n|big|price|ratio) [<>=]+ (?:born|seen|lasts|DATE)|(?:born|seen|lasts) [<>=]+ (?:n|big|price|ratio)|BETWEEN.*(?:DATE|TIME|TIMESTAMP) '|(?:DATE|TIME|TIMESTAMP) '.*BETWEEN|IN \(.*(?:DATE|TIMESTAMP) '|\d{19} [<>=]+ (?:DATE|TIMESTAMP)|^SELECT (?:DATE|TIMESTAMP) '[^']*' [<>=]+ \d{19}/,
    ),
  },
  {
    example: "'a' LIKE 'a' LIKE 1",
    embedded: 'error 1064',
    server: '1',
    why: 'LIKE, IN, BETWEEN and REGEXP are not chained without parentheses',
    isIt: embeddedFails(1064),
  },
  {
    example: 'UPDATE t SET a = (SELECT MAX(a) FROM t)',
    embedded: 'error 1093',
    server: 'the change',
    why: 'a query outside of FROM may not read the table that the statement changes',
    isIt: embeddedFails(1093),
  },
  {
    example: 'SELECT a FROM t GROUP BY a DESC',
    embedded: 'error 1064',
    server: 'its rows',
    why: 'GROUP BY has no order',
    isIt: sql(/GROUP BY \w+ DESC/),
  },
  {
    example: '(id, name) = 1',
    embedded: 'error 1241',
    server: 'error 4078',
    why: 'the number of the error is MySQL’s',
    isIt: embeddedFails(1241),
  },
  {
    example: 'SELECT * FROM (SELECT 1)',
    embedded: 'error 1248',
    server: 'error 1064',
    why: 'a query in FROM without a name has an error of its own',
    isIt: embeddedFails(1248),
  },
  {
    example: 'DESCRIBE t',
    embedded: 'int',
    server: 'int(11)',
    why: 'types of integers have no width',
    isIt: ({ embedded, server }) => server.replaceAll(/(int|year)\((?!1\))\d+\)/g, '$1') === embedded,
  },
  {
    example: '@v + 1 with @v = 2.5',
    embedded: '30 decimal places',
    server: '38 decimal places',
    why: 'a decimal has 30 places at most',
    isIt: sql(/@v \+ 1/),
  },
  {
    example: 'TABLE t',
    embedded: 'its rows',
    server: 'error 1064',
    why: 'TABLE is a statement',
    isIt: sql(/^TABLE/),
  },
]

function withoutFractions(text: string): string {
  return text.replaceAll(/(\d\d:\d\d:\d\d)\.\d+/g, '$1')
}

const opening = '<!-- differences: npm run docs -->'
const closing = '<!-- /differences -->'

/** The page with the table of differences written again. @throws Error where the page has no place for it */
export function pageWithDifferences(page: string): string {
  const [start, end] = [page.indexOf(opening), page.indexOf(closing)]
  if (start < 0 || end < start) throw new Error('the page has no place for the differences')
  const rows = differences.map(
    ({ example, embedded, server, why }) =>
      `| \`${cell(example)}\` | ${cell(embedded)} | ${cell(server)} | ${cell(why)} |`,
  )
  const table = [
    '| statement | embedded, MySQL 8 | MariaDB | rule of MySQL |',
    '| --- | --- | --- | --- |',
    ...rows,
  ]
  return `${page.slice(0, start)}${opening}\n${table.join('\n')}\n${page.slice(end)}`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
