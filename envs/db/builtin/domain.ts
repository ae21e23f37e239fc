/**
 * The subjects of built-in tables: tables, columns and their cells.
 *
 * Invariants
 * - The first column names a row; its cells are unique within a scene.
 * - Names and cells are plain words and numbers: no statement needs backticks, and short policies can copy them.
 * - The first name of a column is the word that questions use for it.
 */
import { nouns, people } from '../../generated/words.ts'

/** Names that a column may have, the question's word first. */
export type Names = readonly [asked: string, ...others: string[]]

/** A column of numbers. */
export interface NumberColumn {
  readonly names: Names
  readonly min: number
  readonly max: number
  readonly step: number
}

/** A column of few values that many rows share. */
export interface CategoryColumn {
  readonly names: Names
  readonly values: readonly string[]
}

/** One kind of table. */
export interface Domain {
  /** The plural word for the rows. */
  readonly plural: string
  /** Names that the table may have. */
  readonly tables: readonly string[]
  readonly key: CategoryColumn
  readonly categories: readonly CategoryColumn[]
  readonly numbers: readonly NumberColumn[]
}

function list(words: string): readonly string[] {
  return words.split(' ')
}

/** @param step between its values */
function number(names: Names, min: number, max: number, step = 1): NumberColumn {
  return { names, min, max, step }
}

const named: CategoryColumn = { names: ['name', 'label', 'title'], values: nouns }
const someone: CategoryColumn = { names: ['name', 'person', 'called'], values: people }

const color: CategoryColumn = {
  names: ['color', 'paint', 'tone'],
  values: list('red green blue white black brown gray pink gold violet'),
}
const city: CategoryColumn = {
  names: ['city', 'town', 'place'],
  values: list('rome paris oslo lima cairo delhi kyoto quito perth dublin vienna boston'),
}

export const domains: readonly Domain[] = [
  {
    plural: 'staff',
    tables: ['staff', 'crew', 'workers'],
    key: someone,
    categories: [
      city,
      { names: ['team', 'unit', 'section'], values: list('sales support legal design research care stock') },
      { names: ['job', 'post', 'duty'], values: list('clerk driver cook guard nurse writer tester planner') },
    ],
    numbers: [number(['age', 'years'], 18, 66), number(['pay', 'wage', 'salary'], 1200, 9800, 100)],
  },
  {
    plural: 'books',
    tables: ['books', 'volumes', 'titles'],
    key: named,
    categories: [
      { names: ['genre', 'kind', 'sort'], values: list('crime poetry drama history travel fantasy essay') },
      { names: ['author', 'writer', 'pen'], values: people.slice(0, 12) },
      { names: ['shelf', 'rack', 'spot'], values: list('north south east west attic cellar hall') },
    ],
    numbers: [number(['year', 'issued'], 1900, 2023), number(['pages', 'leaves'], 80, 990)],
  },
  {
    plural: 'goods',
    tables: ['goods', 'articles', 'wares'],
    key: named,
    categories: [
      color,
      { names: ['maker', 'brand', 'firm'], values: list('acme bolt crown delco ergo fenix gala hydra') },
      { names: ['material', 'stuff', 'made_of'], values: list('wood steel glass paper cotton rubber clay') },
    ],
    numbers: [number(['price', 'cost', 'charge'], 1, 99), number(['stock', 'amount'], 0, 400)],
  },
  {
    plural: 'pets',
    tables: ['pets', 'animals', 'friends'],
    key: named,
    categories: [
      { names: ['kind', 'species', 'breed'], values: list('cat dog bird fish horse rabbit snake mouse') },
      { names: ['owner', 'keeper', 'holder'], values: people.slice(10, 22) },
      color,
    ],
    numbers: [number(['age', 'years'], 1, 19), number(['weight', 'mass', 'kilos'], 1, 60)],
  },
  {
    plural: 'songs',
    tables: ['songs', 'tracks', 'music'],
    key: named,
    categories: [
      { names: ['genre', 'style', 'kind'], values: list('rock jazz blues folk soul tango waltz') },
      { names: ['artist', 'singer', 'voice'], values: people.slice(4, 16) },
      city,
    ],
    numbers: [number(['year', 'issued'], 1950, 2023), number(['seconds', 'length'], 90, 600)],
  },
]

/** Columns of a second table, which describe the values of a category. */
export const attributes: readonly NumberColumn[] = [
  number(['rank'], 1, 50),
  number(['budget'], 10, 900, 10),
  number(['floor'], 1, 9),
]
