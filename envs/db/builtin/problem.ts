/**
 * Questions about a scene, each with the statements of an expert who knows no more than the question.
 *
 * Invariants
 * - Answers are computed from the rows, not by statements: one checks the other.
 * - Where the rows leave a question open (two rows are both the highest), it is not asked.
 * - A question tells neither tables nor the columns' names, so that an answer begins with a look.
 * - Values and tables of easy problems stand between the same marks in questions and in statements, and there alone
 *   in results: to copy one is to repeat the same tokens, with no blank before them.
 */

import type { Difficulty } from '../../contract/task-settings.ts'
import type { Draw } from '../../generated/draw.ts'
import type { CategoryColumn, NumberColumn } from './domain.ts'
import type { Asked, Row, Scene, SceneTable } from './scene.ts'

/** A question with the expert's statements; without answers it asks for an effect. */
export interface Problem {
  readonly scene: Scene
  readonly question: string
  /** One a turn; the last one answers, or changes what is to change. */
  readonly statements: readonly string[]
  readonly answers?: readonly string[]
}

type Make = (scene: Scene, draw: Draw) => Problem | undefined

const inspection = 'SHOW TABLES'

/** The table that a problem of one table is about. */
function mainOf({ tables: [main] }: Scene): SceneTable {
  return main
}

function look(scene: Scene): readonly string[] {
  return [inspection, `DESCRIBE ${mainOf(scene).name}`]
}

function asked(
  scene: Scene,
  question: string,
  statement: string,
  answers: readonly string[],
): Problem | undefined {
  return answers.length === 0
    ? undefined
    : { scene, question, statements: [...look(scene), statement], answers }
}

function wanted(scene: Scene, question: string, statement: string): Problem {
  return { scene, question, statements: [...look(scene), statement] }
}

function keyOf(row: Row): string {
  return row.key ?? ''
}

function cell(row: Row, { word }: Asked<unknown>): string {
  return row[word] ?? ''
}

function rounded(value: number): string {
  return String(Math.round(value * 100) / 100)
}

/** A value of a category and the rows that have it. */
function group(
  scene: Scene,
  draw: Draw,
): { category: Asked<CategoryColumn>; value: string; rows: readonly Row[]; where: string } {
  const category = draw.one(scene.categories)
  const { rows } = mainOf(scene)
  const value = cell(draw.one(rows), category)
  return {
    category,
    value,
    rows: rows.filter((row) => cell(row, category) === value),
    where: `WHERE ${category.column} = '${value}'`,
  }
}

/** A number column read as number: tables hold text. */
function read(name: string): string {
  return `CAST(${name} AS DECIMAL(10,2))`
}

/** Statements that try one table after the other until the row is found. */
function searching(
  { tables, key }: Scene,
  found: SceneTable,
  row: Row,
  statement: (table: string) => string,
): readonly string[] {
  const tried = tables.slice(0, tables.indexOf(found) + 1)
  return [
    inspection,
    ...tried.map(({ name }) => `${statement(`\`${name}\``)} WHERE ${key} = '${keyOf(row)}'`),
  ]
}

/** A row somewhere. */
function someRow({ tables }: Scene, draw: Draw): { found: SceneTable; row: Row } {
  const found = draw.one(tables)
  return { found, row: draw.one(found.rows) }
}

const find: Make = (scene, draw) => {
  const { found, row } = someRow(scene, draw)
  const column = draw.one([...scene.categories, ...scene.numbers])
  return {
    scene,
    question: `What is the ${column.word} of '${keyOf(row)}'?`,
    statements: searching(scene, found, row, (table) => `SELECT ${column.column} FROM ${table}`),
    answers: [cell(row, column)],
  }
}

const change: Make = (scene, draw) => {
  const { found, row } = someRow(scene, draw)
  const number = draw.one(scene.numbers)
  const value = String(Number(cell(row, number)) + number.kind.step * draw.int(1, 9))
  return {
    scene,
    question: `Set the ${number.word} of '${keyOf(row)}' to ${value}.`,
    statements: searching(scene, found, row, (table) => `UPDATE ${table} SET ${number.column} = ${value}`),
  }
}

const strike: Make = (scene, draw) => {
  const { found, row } = someRow(scene, draw)
  return {
    scene,
    question: `Delete '${keyOf(row)}'.`,
    statements: searching(scene, found, row, (table) => `DELETE FROM ${table}`),
  }
}

const enter: Make = (scene, draw) => {
  const { name } = draw.one(scene.tables)
  return {
    scene,
    question: `Add ${described(scene, draw)} to \`${name}\`.`,
    statements: [`DESCRIBE \`${name}\``, insertion(scene, `\`${name}\``)],
  }
}

/** The row that is in no table, its facts in a drawn order. */
function described({ another, order }: Scene, draw: Draw): string {
  const facts = draw.shuffled(order).map((word) => `${word} '${another[word] ?? ''}'`)
  return [`'${keyOf(another)}'`, ...facts].join(', ')
}

function insertion({ another, order }: Scene, table: string): string {
  const values = [keyOf(another), ...order.map((word) => another[word] ?? '')]
  return `INSERT INTO ${table} VALUES (${values.map((value) => `'${value}'`).join(', ')})`
}

const lookup: Make = (scene, draw) => {
  const { name, rows } = mainOf(scene)
  const row = draw.one(rows)
  const column = draw.one([...scene.categories, ...scene.numbers])
  return asked(
    scene,
    `What is the ${column.word} of ${keyOf(row)} of the ${scene.domain.plural}?`,
    `SELECT ${column.column} FROM ${name} WHERE ${scene.key} = '${keyOf(row)}'`,
    [cell(row, column)],
  )
}

const count: Make = (scene, draw) => {
  const { category, value, rows, where } = group(scene, draw)
  return asked(
    scene,
    `How many ${scene.domain.plural} have ${category.word} ${value}?`,
    `SELECT COUNT(*) FROM ${mainOf(scene).name} ${where}`,
    [String(rows.length)],
  )
}

const countOver: Make = (scene, draw) => {
  const { name, rows } = mainOf(scene)
  const number = draw.one(scene.numbers)
  const bound = cell(draw.one(rows), number)
  const over = rows.filter((row) => Number(cell(row, number)) > Number(bound))
  return asked(
    scene,
    `How many ${scene.domain.plural} have a ${number.word} over ${bound}?`,
    `SELECT COUNT(*) FROM ${name} WHERE ${number.column} > ${bound}`,
    [String(over.length)],
  )
}

const list: Make = (scene, draw) => {
  const { category, value, rows, where } = group(scene, draw)
  if (rows.length > 6) return undefined
  return asked(
    scene,
    `Which ${scene.domain.plural} have ${category.word} ${value}?`,
    `SELECT ${scene.key} FROM ${mainOf(scene).name} ${where}`,
    rows.map(keyOf),
  )
}

function ranked(number: Asked<NumberColumn>, rows: readonly Row[]): Row[] {
  return rows.toSorted((left, right) => Number(cell(right, number)) - Number(cell(left, number)))
}

function extreme(place: 0 | 1): Make {
  return (scene, draw) => {
    const { name, rows: all } = mainOf(scene)
    const number = draw.one(scene.numbers)
    const highest = draw.one([true, false])
    const order = ranked(number, all)
    const rows = highest ? order : order.toReversed()
    const numbers = rows.map((row) => cell(row, number))
    const row = rows[place]
    if (row === undefined || numbers.filter((each) => each === numbers[place]).length > 1) return undefined
    if (place === 1 && numbers[0] === numbers[1]) return undefined
    const word = `${place === 1 ? 'second ' : ''}${highest ? 'highest' : 'lowest'}`
    return asked(
      scene,
      `Which of the ${scene.domain.plural} has the ${word} ${number.word}?`,
      `SELECT ${scene.key} FROM ${name} ORDER BY ${read(number.column)}${highest ? ' DESC' : ''} LIMIT 1${place === 1 ? ' OFFSET 1' : ''}`,
      [keyOf(row)],
    )
  }
}

const total: Make = (scene, draw) => {
  const { category, value, rows, where } = group(scene, draw)
  const number = draw.one(scene.numbers)
  const mean = draw.one([true, false])
  const sum = rows.reduce((so, row) => so + Number(cell(row, number)), 0)
  return asked(
    scene,
    `What is the ${mean ? 'average' : 'total'} ${number.word} of ${scene.domain.plural} with ${category.word} ${value}?`,
    `SELECT ${mean ? 'AVG' : 'SUM'}(${number.column}) FROM ${mainOf(scene).name} ${where}`,
    [rounded(mean ? sum / rows.length : sum)],
  )
}

const insert: Make = (scene, draw) =>
  wanted(
    scene,
    `Add ${described(scene, draw)} to the ${scene.domain.plural}.`,
    insertion(scene, mainOf(scene).name),
  )

const update: Make = (scene, draw) => {
  const { name, rows } = mainOf(scene)
  const row = draw.one(rows)
  const number = draw.one(scene.numbers)
  const value = String(Number(cell(row, number)) + number.kind.step * draw.int(1, 9))
  return wanted(
    scene,
    `Set the ${number.word} of ${keyOf(row)} of the ${scene.domain.plural} to ${value}.`,
    `UPDATE ${name} SET ${number.column} = ${value} WHERE ${scene.key} = '${keyOf(row)}'`,
  )
}

const remove: Make = (scene, draw) => {
  const { name, rows } = mainOf(scene)
  const row = draw.one(rows)
  return wanted(
    scene,
    `Delete ${keyOf(row)} from the ${scene.domain.plural}.`,
    `DELETE FROM ${name} WHERE ${scene.key} = '${keyOf(row)}'`,
  )
}

const updateGroup: Make = (scene, draw) => {
  const { category, value, where } = group(scene, draw)
  const number = draw.one(scene.numbers)
  const more = number.kind.step * draw.int(1, 9)
  return wanted(
    scene,
    `Add ${more} to the ${number.word} of all ${scene.domain.plural} with ${category.word} ${value}.`,
    `UPDATE ${mainOf(scene).name} SET ${number.column} = ${number.column} + ${more} ${where}`,
  )
}

const removeGroup: Make = (scene, draw) => {
  const { category, value, where } = group(scene, draw)
  return wanted(
    scene,
    `Delete all ${scene.domain.plural} with ${category.word} ${value}.`,
    `DELETE FROM ${mainOf(scene).name} ${where}`,
  )
}

const commonest: Make = (scene, draw) => {
  const { name, rows } = mainOf(scene)
  const category = draw.one(scene.categories)
  const counts = Map.groupBy(rows, (row) => cell(row, category))
  const [first, second] = [...counts].sort(([, left], [, right]) => right.length - left.length)
  if (first === undefined || first[1].length === second?.[1].length) return undefined
  return asked(
    scene,
    `Which ${category.word} has the most ${scene.domain.plural}?`,
    `SELECT ${category.column} FROM ${name} GROUP BY ${category.column} ORDER BY COUNT(*) DESC LIMIT 1`,
    [first[0]],
  )
}

const joined: Make = (scene, draw) => {
  const { second, domain } = scene
  const { name, rows } = mainOf(scene)
  const [category] = scene.categories
  if (second === undefined || category === undefined) return undefined
  const bound = draw.one([...second.values.values()])
  const right = rows.filter((row) => (second.values.get(cell(row, category)) ?? 0) >= bound)
  const on = `${name}.${category.column} = ${second.name}.${category.column}`
  const statement = `SELECT COUNT(*) FROM ${name} JOIN ${second.name} ON ${on} WHERE \`${second.column}\` >= ${bound}`
  return {
    scene,
    question: `How many ${domain.plural} have a ${category.word} whose ${second.column} is ${bound} or more?`,
    statements: [...look(scene), `DESCRIBE ${second.name}`, statement],
    answers: [String(right.length)],
  }
}

/** Makers of the kinds of problem; undefined where a scene leaves the question open. */
export const makers = {
  ...{ find, change, strike, enter, lookup, count, count_over: countOver, list },
  ...{ highest: extreme(0), second_highest: extreme(1), total, commonest, joined },
  ...{ insert, update, update_group: updateGroup, remove, remove_group: removeGroup },
} satisfies Record<string, Make>

type KindName = keyof typeof makers

/** The kinds of problem at each difficulty; a kind that is listed twice is drawn twice as often. */
export const problemKinds: Readonly<Record<Difficulty, readonly KindName[]>> = {
  easy: ['find', 'find', 'change', 'strike', 'enter'],
  normal: [
    ...(['lookup', 'count', 'count_over', 'list', 'highest', 'total'] as const),
    ...(['insert', 'update', 'remove', 'remove_group'] as const),
  ],
  hard: [
    ...(['list', 'second_highest', 'total', 'commonest', 'joined', 'joined'] as const),
    ...(['insert', 'update_group', 'remove_group'] as const),
  ],
}
