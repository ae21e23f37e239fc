/**
 * Questions about a scene, each with the statement that answers it.
 *
 * Invariants
 * - Answers are computed from the rows, not by the statement: one checks the other.
 * - Where the rows leave a question open (two rows are both the highest), it is not asked.
 */
import type { Draw } from '../../draw.ts'
import type { Difficulty } from '../../task-settings.ts'
import type { TableData } from '../item.ts'
import type { CategoryColumn, Domain, NumberColumn } from './domain.ts'

/** A question with its gold statement; without answers it asks for the statement's effect. */
export interface Problem {
  readonly scene: Scene
  readonly question: string
  readonly statement: string
  readonly answers?: readonly string[]
}

type Make = (scene: Scene, draw: Draw) => Problem | undefined
type Row = readonly (string | null)[]

function cell({ main }: Scene, row: Row, column: string): string {
  return row[main.columns.indexOf(column)] ?? ''
}

function keyOf(row: Row): string {
  return row[0] ?? ''
}

function asked(
  scene: Scene,
  question: string,
  statement: string,
  answers: readonly string[],
): Problem | undefined {
  return answers.length === 0 ? undefined : { scene, question, statement, answers }
}

function wanted(scene: Scene, question: string, statement: string): Problem {
  return { scene, question, statement }
}

function rounded(value: number): string {
  return String(Math.round(value * 100) / 100)
}

/** A value of a category and the rows that have it. */
function group(scene: Scene, draw: Draw): { column: CategoryColumn; value: string; rows: readonly Row[] } {
  const column = draw.one(scene.categories)
  const value = cell(scene, draw.one(scene.main.rows), column.name)
  return { column, value, rows: scene.main.rows.filter((row) => cell(scene, row, column.name) === value) }
}

/** A number column read as number: tables hold text. */
function read(name: string): string {
  return `CAST(${name} AS DECIMAL(10,2))`
}

const lookup: Make = (scene, draw) => {
  const { main, domain } = scene
  const row = draw.one(main.rows)
  const column = draw.one(main.columns.slice(1))
  return asked(
    scene,
    `What is the ${column} of ${keyOf(row)}?`,
    `SELECT ${column} FROM ${main.name} WHERE ${domain.key.name} = '${keyOf(row)}'`,
    [cell(scene, row, column)],
  )
}

const count: Make = (scene, draw) => {
  const { column, value, rows } = group(scene, draw)
  return asked(
    scene,
    `How many ${scene.domain.plural} have ${column.name} ${value}?`,
    `SELECT COUNT(*) FROM ${scene.main.name} WHERE ${column.name} = '${value}'`,
    [String(rows.length)],
  )
}

const countOver: Make = (scene, draw) => {
  const { main, domain } = scene
  const column = draw.one(scene.numbers)
  const bound = cell(scene, draw.one(main.rows), column.name)
  const rows = main.rows.filter((row) => Number(cell(scene, row, column.name)) > Number(bound))
  return asked(
    scene,
    `How many ${domain.plural} have a ${column.name} over ${bound}?`,
    `SELECT COUNT(*) FROM ${main.name} WHERE ${column.name} > ${bound}`,
    [String(rows.length)],
  )
}

const list: Make = (scene, draw) => {
  const { column, value, rows } = group(scene, draw)
  if (rows.length > 6) return undefined
  return asked(
    scene,
    `Which ${scene.domain.plural} have ${column.name} ${value}? Give the ${scene.domain.key.name}.`,
    `SELECT ${scene.domain.key.name} FROM ${scene.main.name} WHERE ${column.name} = '${value}'`,
    rows.map(keyOf),
  )
}

function ranked(scene: Scene, column: NumberColumn, rows: readonly Row[]): Row[] {
  return rows.toSorted(
    (left, right) => Number(cell(scene, right, column.name)) - Number(cell(scene, left, column.name)),
  )
}

function extreme(place: 0 | 1): Make {
  return (scene, draw) => {
    const { main, domain } = scene
    const column = draw.one(scene.numbers)
    const highest = draw.one([true, false])
    const order = ranked(scene, column, main.rows)
    const rows = highest ? order : order.toReversed()
    const numbers = rows.map((row) => cell(scene, row, column.name))
    const row = rows[place]
    if (row === undefined || numbers.filter((number) => number === numbers[place]).length > 1)
      return undefined
    if (place === 1 && numbers[0] === numbers[1]) return undefined
    const word = `${place === 1 ? 'second ' : ''}${highest ? 'highest' : 'lowest'}`
    return asked(
      scene,
      `Which ${domain.key.name} has the ${word} ${column.name}?`,
      `SELECT ${domain.key.name} FROM ${main.name} ORDER BY ${read(column.name)}${highest ? ' DESC' : ''} LIMIT 1${place === 1 ? ' OFFSET 1' : ''}`,
      [keyOf(row)],
    )
  }
}

const total: Make = (scene, draw) => {
  const { column, value, rows } = group(scene, draw)
  const number = draw.one(scene.numbers)
  const mean = draw.one([true, false])
  const sum = rows.reduce((so, row) => so + Number(cell(scene, row, number.name)), 0)
  return asked(
    scene,
    `What is the ${mean ? 'average' : 'total'} ${number.name} of ${scene.domain.plural} with ${column.name} ${value}?`,
    `SELECT ${mean ? 'AVG' : 'SUM'}(${number.name}) FROM ${scene.main.name} WHERE ${column.name} = '${value}'`,
    [rounded(mean ? sum / rows.length : sum)],
  )
}

const insert: Make = (scene) => {
  const { main, another } = scene
  const facts = main.columns.slice(1).map((column, at) => `${column} ${another[at + 1] ?? ''}`)
  return wanted(
    scene,
    `Add ${another[0] ?? ''} to ${main.name}: ${facts.join(', ')}.`,
    `INSERT INTO ${main.name} VALUES (${another.map((value) => `'${value}'`).join(', ')})`,
  )
}

const update: Make = (scene, draw) => {
  const { main, domain } = scene
  const row = draw.one(main.rows)
  const number = draw.one(scene.numbers)
  const value = String(Number(cell(scene, row, number.name)) + number.step * draw.int(1, 9))
  return wanted(
    scene,
    `Set the ${number.name} of ${keyOf(row)} to ${value}.`,
    `UPDATE ${main.name} SET ${number.name} = '${value}' WHERE ${domain.key.name} = '${keyOf(row)}'`,
  )
}

const remove: Make = (scene, draw) => {
  const { main, domain } = scene
  const row = draw.one(main.rows)
  return wanted(
    scene,
    `Delete ${keyOf(row)} from ${main.name}.`,
    `DELETE FROM ${main.name} WHERE ${domain.key.name} = '${keyOf(row)}'`,
  )
}

const updateGroup: Make = (scene, draw) => {
  const { column, value } = group(scene, draw)
  const number = draw.one(scene.numbers)
  const more = number.step * draw.int(1, 9)
  return wanted(
    scene,
    `Add ${more} to the ${number.name} of all ${scene.domain.plural} with ${column.name} ${value}.`,
    `UPDATE ${scene.main.name} SET ${number.name} = ${number.name} + ${more} WHERE ${column.name} = '${value}'`,
  )
}

const removeGroup: Make = (scene, draw) => {
  const { column, value } = group(scene, draw)
  return wanted(
    scene,
    `Delete all ${scene.domain.plural} with ${column.name} ${value}.`,
    `DELETE FROM ${scene.main.name} WHERE ${column.name} = '${value}'`,
  )
}

const commonest: Make = (scene, draw) => {
  const column = draw.one(scene.categories)
  const counts = new Map<string, number>()
  for (const row of scene.main.rows) {
    const value = cell(scene, row, column.name)
    counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const [first, second] = [...counts].sort(([, left], [, right]) => right - left)
  if (first === undefined || first[1] === second?.[1]) return undefined
  return asked(
    scene,
    `Which ${column.name} has the most ${scene.domain.plural}?`,
    `SELECT ${column.name} FROM ${scene.main.name} GROUP BY ${column.name} ORDER BY COUNT(*) DESC LIMIT 1`,
    [first[0]],
  )
}

const joined: Make = (scene, draw) => {
  const { main, second, domain } = scene
  const [column] = scene.categories
  if (second === undefined || column === undefined) return undefined
  const bound = draw.one(second.rows)[1] ?? ''
  const values = second.rows.filter(([, number]) => Number(number) >= Number(bound)).map(([value]) => value)
  const rows = main.rows.filter((row) => values.includes(cell(scene, row, column.name)))
  const { number } = second
  return asked(
    scene,
    `How many ${domain.plural} have a ${column.name} whose ${number.name} is ${bound} or more?`,
    `SELECT COUNT(*) FROM ${main.name} JOIN ${second.name} ON ${main.name}.${column.name} = ${second.name}.${column.name} WHERE \`${number.name}\` >= ${bound}`,
    [String(rows.length)],
  )
}

/** What is asked at each difficulty; the same kind twice is asked twice as often. */
export const problemKinds: Readonly<Record<Difficulty, readonly Make[]>> = {
  easy: [lookup, lookup, count, insert, update, remove],
  normal: [lookup, count, countOver, list, extreme(0), total, insert, update, remove, removeGroup],
  hard: [list, extreme(1), total, commonest, joined, joined, insert, updateGroup, removeGroup],
}

/** Tables of a problem before a question is asked. */
export interface Scene {
  readonly domain: Domain
  readonly categories: readonly CategoryColumn[]
  readonly numbers: readonly NumberColumn[]
  readonly main: TableData
  /** Says a number of each value of the first category; hard problems have it. */
  readonly second?: TableData & { readonly number: NumberColumn }
  /** A row that is not in the table. */
  readonly another: readonly string[]
}
