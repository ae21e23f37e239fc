/** Statements of operators and literals, for comparing the embedded databases with a server. */
import type { Draw } from './calls.testing.ts'

export const literals = [
  ...['0', '1', '-1', '2', '7', '10', '255', '1000000', '9223372036854775807', '18446744073709551615'],
  ...['0.5', '1.50', '-2.5', '0.1', '3.14159', '1e3', '1.5e-3', '.5'],
  ...["'1'", "'12abc'", "'abc'", "''", "' 7 '", "'-3.5'", "'1e2'", "'A'", "'a'", "'é'", "'a '", "'0'"],
  ...["'2020-01-05'", "'2020-01-05 10:00:00'", "'10:00:00'", 'NULL', 'TRUE', 'FALSE', "x'41'"],
  ...[
    "DATE '2020-01-05'",
    "TIMESTAMP '2020-01-05 10:20:30'",
    "TIME '10:20:30'",
    "CAST('3.7' AS DECIMAL(5,2))",
  ],
]
const binary = [
  ...[
    '+',
    '-',
    '*',
    '/',
    'DIV',
    '%',
    'MOD',
    '=',
    '<>',
    '!=',
    '<',
    '<=',
    '>',
    '>=',
    '<=>',
    'AND',
    'OR',
    'XOR',
  ],
  ...['&&', '||', '|', '&', '^', '<<', '>>', 'LIKE', 'NOT LIKE', 'REGEXP'],
]

export function operators(draw: Draw): string[] {
  const list: string[] = []
  for (const operator of binary)
    for (let count = 0; count < 22; count++)
      list.push(`SELECT ${draw(literals)} ${operator} ${draw(literals)}`)
  const literal = () => draw(literals)
  const shapes: readonly (() => string)[] = [
    () => `-${literal()}`,
    () => `NOT ${literal()}`,
    () => `~${literal()}`,
    () => `!${literal()}`,
    () => `${literal()} IS NULL`,
    () => `${literal()} IS NOT TRUE`,
    () => `${literal()} IS FALSE`,
    () => `${literal()} BETWEEN ${literal()} AND ${literal()}`,
    () => `${literal()} NOT BETWEEN ${literal()} AND ${literal()}`,
    () => `${literal()} IN (${literal()}, ${literal()}, ${literal()})`,
    () => `${literal()} NOT IN (${literal()}, ${literal()})`,
    () => `CASE ${literal()} WHEN ${literal()} THEN ${literal()} ELSE ${literal()} END`,
    () => `CASE WHEN ${literal()} THEN ${literal()} WHEN ${literal()} THEN ${literal()} END`,
    () => `${literal()} ${draw(binary)} ${literal()} ${draw(binary)} ${literal()}`,
    () => `(${literal()} ${draw(binary)} ${literal()}) ${draw(binary)} ${literal()}`,
    () => `CAST(${literal()} AS ${draw(castTypes)})`,
    () => `CONVERT(${literal()}, ${draw(castTypes)})`,
    () => `BINARY 'a' = ${literal()}`,
    () => `${literal()} COLLATE utf8mb4_bin = 'a'`,
    () => `(1, ${literal()}) = (1, ${literal()})`,
    () => `(${literal()}, 2) IN ((1, 2), (3, 4))`,
    () => `${literal()} + INTERVAL ${draw(counts)} ${draw(units)}`,
    () => `${literal()} - INTERVAL ${draw(counts)} ${draw(units)}`,
    () => `DATE_ADD(${draw(moments)}, INTERVAL ${draw(counts)} ${draw(units)})`,
    () => `DATE_SUB(${draw(moments)}, INTERVAL ${draw(counts)} ${draw(units)})`,
    () => `EXTRACT(${draw(units)} FROM ${draw(moments)})`,
    () => `TIMESTAMPDIFF(${draw(plainUnits)}, ${draw(moments)}, ${draw(moments)})`,
    () => `TIMESTAMPADD(${draw(plainUnits)}, ${draw(counts)}, ${draw(moments)})`,
  ]
  for (const shape of shapes) for (let count = 0; count < 18; count++) list.push(`SELECT ${shape()}`)
  return list
}

export const castTypes = [
  ...['SIGNED', 'UNSIGNED', 'CHAR', 'CHAR(2)', 'DECIMAL', 'DECIMAL(10,2)', 'DECIMAL(3,1)', 'DOUBLE', 'DATE'],
  ...['DATETIME', 'TIME', 'BINARY', 'SIGNED INTEGER'],
]
const counts = ['1', '-1', '13', "'2'", '0', 'NULL', '100', '1.5']
const units = [
  ...['DAY', 'MONTH', 'YEAR', 'HOUR', 'MINUTE', 'SECOND', 'WEEK', 'QUARTER', 'YEAR_MONTH', 'DAY_HOUR'],
  ...['HOUR_MINUTE', 'MINUTE_SECOND', 'DAY_SECOND'],
]
const plainUnits = ['DAY', 'MONTH', 'YEAR', 'HOUR', 'MINUTE', 'SECOND', 'WEEK', 'QUARTER']
const moments = [
  ...["'2020-01-31'", "'2020-02-29 23:59:59'", "'1999-12-31'", "DATE '2021-03-31'", "'2021-02-30'", 'NULL'],
  ...["TIMESTAMP '2020-06-15 12:30:45'", "'20200105'", "'abc'", "'2020-1-5'", '20200105', "'03/04/2020'"],
]
