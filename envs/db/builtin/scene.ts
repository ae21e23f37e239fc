/**
 * The tables of a built-in problem, before a question is asked.
 *
 * Invariants
 * - A scene is a function of the draw and the difficulty.
 * - No two rows of a scene have the same key, whatever tables they are in.
 */

import type { TableData } from '../../../worlds/mysql/database.ts'
import type { Difficulty } from '../../contract/task-settings.ts'
import type { Draw } from '../../generated/draw.ts'
import { nouns } from '../../generated/words.ts'
import {
  attributes,
  type CategoryColumn,
  type Domain,
  domains,
  type Names,
  type NumberColumn,
} from './domain.ts'

/** A column as it is asked for and as the table calls it. */
export interface Asked<Column> {
  readonly kind: Column
  /** The question's word. */
  readonly word: string
  /** The table's. */
  readonly column: string
}

/** A row by the questions' words for its columns; the key's is `key`. */
export type Row = Readonly<Record<string, string>>

/** A table with its rows as data. */
export interface SceneTable {
  readonly name: string
  readonly rows: readonly Row[]
}

/** Tables of a problem before a question is asked. */
export interface Scene {
  readonly domain: Domain
  /** The name of the column that identifies a row. */
  readonly key: string
  readonly categories: readonly Asked<CategoryColumn>[]
  readonly numbers: readonly Asked<NumberColumn>[]
  /** The words of the columns beside the key, in the tables' order. */
  readonly order: readonly string[]
  /** Tables of the same columns, by name: a row is in one of them. */
  readonly tables: readonly [SceneTable, ...SceneTable[]]
  /** Says a number of each value of the first category; hard problems have it. */
  readonly second?: {
    readonly name: string
    readonly column: string
    readonly values: ReadonlyMap<string, number>
  }
  /** A row that is in no table. */
  readonly another: Row
  /** All tables, those that no question is about as well, as the agent finds them. */
  readonly data: readonly TableData[]
}

interface Size {
  /** Tables of the same columns. */
  readonly tables: readonly [number, number]
  /** Rows of each. */
  readonly rows: readonly [number, number]
  readonly categories: number
  readonly numbers: number
  /** Values of a category, so that rows share some. */
  readonly values: readonly [number, number]
}

const sizes: Readonly<Record<Difficulty, Size>> = {
  easy: { tables: [3, 4], rows: [2, 4], categories: 1, numbers: 1, values: [3, 3] },
  normal: { tables: [1, 1], rows: [8, 14], categories: 2, numbers: 2, values: [3, 4] },
  hard: { tables: [1, 1], rows: [20, 25], categories: 3, numbers: 2, values: [4, 6] },
}

/** The tables of a problem. */
export function sceneOf(draw: Draw, difficulty: Difficulty): Scene {
  const size = sizes[difficulty]
  const plain = difficulty === 'easy'
  const asked = <Column extends { readonly names: Names }>(kind: Column): Asked<Column> => ({
    kind,
    word: kind.names[0],
    column: plain ? kind.names[0] : draw.one(kind.names),
  })
  const [domain, other] = draw.some(domains, 2)
  if (domain === undefined || other === undefined) throw new RangeError('there are no domains')
  const key = plain ? 'name' : draw.one(domain.key.names)
  const categories = draw.some(domain.categories, size.categories).map(asked)
  const numbers = draw.some(domain.numbers, size.numbers).map(asked)
  const order = draw.shuffled([...categories, ...numbers].map(({ word }) => word))
  const choices = new Map(
    categories.map(({ word, kind }) => [word, draw.some(kind.values, draw.int(...size.values))]),
  )
  const counts = draw.times(draw.int(...size.tables), () => draw.int(...size.rows))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const keys = draw.some(domain.key.values, total + 1)
  const rows = keys.map(
    (name): Row => ({
      key: name,
      ...Object.fromEntries(categories.map(({ word }) => [word, draw.one(choices.get(word) ?? [])])),
      ...Object.fromEntries(numbers.map(({ word, kind }) => [word, numberText(draw, kind)])),
    }),
  )
  const another = rows.pop() ?? {}
  const free = nouns.filter((noun) => !keys.includes(noun))
  // Tables of the same columns are named like places; a single one is named after what it holds.
  const names = plain ? draw.some(free, counts.length).toSorted() : [draw.one(domain.tables)]
  const [first, ...rest] = counts.map((count, at) => ({ name: names[at] ?? '', rows: rows.splice(0, count) }))
  if (first === undefined) throw new RangeError('a scene has a table')
  const scene: Omit<Scene, 'data'> = {
    domain,
    key,
    categories,
    numbers,
    order,
    tables: [first, ...rest],
    another,
  }
  const columnOf = new Map([...categories, ...numbers].map(({ word, column }) => [word, column]))
  const data = scene.tables.map(({ name, rows: own }) => ({
    name,
    columns: [key, ...order.map((word) => columnOf.get(word) ?? '')],
    rows: own.map((row) => [row.key ?? '', ...order.map((word) => row[word] ?? '')]),
  }))
  if (plain) return { ...scene, data }
  const [category] = categories
  if (difficulty === 'hard' && category !== undefined)
    return withSecond(draw, scene, category, choices.get(category.word) ?? [], data)
  return { ...scene, data: [...data, otherTable(draw, other)] }
}

/** A table that no question is about. */
function otherTable(draw: Draw, domain: Domain): TableData {
  const [number] = domain.numbers
  return {
    name: draw.one(domain.tables),
    columns: [domain.key.names[0], ...domain.numbers.slice(0, 1).map(({ names }) => names[0])],
    rows: draw
      .some(domain.key.values, 3)
      .map((name) => [name, ...(number === undefined ? [] : [numberText(draw, number)])]),
  }
}

function withSecond(
  draw: Draw,
  scene: Omit<Scene, 'data'>,
  { column }: Asked<CategoryColumn>,
  values: readonly string[],
  data: readonly TableData[],
): Scene {
  const attribute = draw.one(attributes)
  const said = new Map(values.map((value) => [value, Number(numberText(draw, attribute))]))
  const second = { name: `${column}_facts`, column: attribute.names[0], values: said }
  const table: TableData = {
    name: second.name,
    columns: [column, second.column],
    rows: [...said].map(([value, number]) => [value, String(number)]),
  }
  return { ...scene, second, data: [...data, table] }
}

/** A number of a column, as text. */
export function numberText(draw: Draw, { min, max, step }: NumberColumn): string {
  return String(min + step * draw.int(0, Math.floor((max - min) / step)))
}
