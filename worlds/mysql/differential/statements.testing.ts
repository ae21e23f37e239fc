/**
 * Statements of MySQL's dialect, drawn from a grammar, for comparing the embedded databases with a server.
 *
 * Invariants
 * - The same seed gives the same statements.
 * - A script is run from its tables on; its statements see what the earlier ones changed.
 */
import { seedOf, uniforms } from '../../../identity/identity.ts'
import type { TableData } from '../database.ts'
import { calls, type Draw } from './calls.testing.ts'
import { changes, definitions } from './change-statements.testing.ts'
import { operators } from './operator-statements.testing.ts'
import { queries } from './query-statements.testing.ts'

/** Statements that one database executes in order. */
export interface Script {
  readonly name: string
  readonly tables: readonly TableData[]
  readonly statements: readonly string[]
}

const staff: TableData = {
  name: 'staff',
  columns: ['id', 'name', 'dept', 'pay', 'hired', 'note'],
  rows: [
    ['1', 'Ann', 'Sales', '1200', '2019-03-01', 'a b'],
    ['2', 'bob', 'IT', '1,500', '2020-02-29', null],
    ['3', 'Émile', 'sales', '990.50', '2018-12-31', ''],
    ['4', 'Zoë', 'HR', '', '2021-07-15', '50%'],
    ['5', 'Ann', 'IT', 'n/a', 'March 5, 2020', 'x_y'],
    ['10', 'carl', 'Ops', '2300', '2019-11-05', ' lead'],
    ['11', 'Dora', null, '75', '2020-01-05', 'tail '],
    ['12', 'eve', 'HR', '1200', null, "it's"],
  ],
}
const depts: TableData = {
  name: 'depts',
  columns: ['dept', 'city', 'floor'],
  rows: [
    ['Sales', 'Paris', '3'],
    ['IT', 'Rome', '2'],
    ['HR', null, '10'],
    ['Legal', 'Oslo', '2'],
  ],
}
const typedTable = [
  `CREATE TABLE typed (id INT PRIMARY KEY AUTO_INCREMENT, n INT, big BIGINT UNSIGNED, price DECIMAL(8,2),
   ratio DOUBLE, label VARCHAR(20), born DATE, seen DATETIME, lasts TIME)`,
  `INSERT INTO typed (n, big, price, ratio, label, born, seen, lasts) VALUES
   (1, 10, 9.99, 0.5, 'one', '2020-01-31', '2020-01-31 10:20:30', '01:02:03'),
   (-5, 18446744073709551615, 100, 1e10, 'Two', '1999-12-31', '1999-12-31 23:59:59', '-00:30:00'),
   (NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL),
   (7, 0, 0.05, -2.25, 'two', '2024-02-29', '2024-02-29 00:00:00', '100:00:00'),
   (42, 7, 12.50, 3, '12abc', '2000-06-15', '2000-06-15 12:00:00', '12:30:00'),
   (7, 9, 12.50, 3.5, '', '2010-10-10', '2010-10-10 10:10:10', '00:00:00')`,
]

/** All scripts. */
export function grammarScripts(seed: number): readonly Script[] {
  const uniform = uniforms(seedOf(seed, 'statements'))
  const draw: Draw = (choices) => choices[Math.floor(uniform() * choices.length)] as (typeof choices)[number]
  return [
    { name: 'calls', tables: [staff], statements: calls(draw) },
    { name: 'operators', tables: [], statements: operators(draw) },
    { name: 'queries', tables: [staff, depts], statements: [...typedTable, ...queries(draw)] },
    ...Array.from({ length: 24 }, (_, at) => ({
      name: `changes ${at}`,
      tables: [staff, depts],
      statements: changes(draw),
    })),
    ...definitions.map((statements, at) => ({
      name: `definitions ${at}`,
      tables: [staff, depts],
      statements,
    })),
  ]
}
