/**
 * What built-in tables are about: tables, columns and how their cells are made.
 *
 * Invariants
 * - The first column names a row; its cells are unique within a table.
 * - Names are plain words, so that easy problems need no quoting.
 */
import type { Faker } from '@faker-js/faker'

/** A column of numbers. */
export interface NumberColumn {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly step: number
}

/** A column of few values that many rows share. */
export interface CategoryColumn {
  readonly name: string
  readonly make: (faker: Faker) => string
}

/** One kind of table. */
export interface Domain {
  readonly table: string
  /** What a row is, in the plural. */
  readonly plural: string
  readonly key: CategoryColumn
  readonly categories: readonly CategoryColumn[]
  readonly numbers: readonly NumberColumn[]
}

const city: CategoryColumn = { name: 'city', make: (faker) => faker.location.city() }
const country: CategoryColumn = { name: 'country', make: (faker) => faker.location.country() }
const color: CategoryColumn = { name: 'color', make: (faker) => faker.color.human() }
const firstName = (faker: Faker) => faker.person.firstName()
const fullName = (faker: Faker) => `${faker.person.firstName()} ${faker.person.lastName()}`

/** @param step between its values */
function number(name: string, min: number, max: number, step = 1): NumberColumn {
  return { name, min, max, step }
}

export const domains: readonly Domain[] = [
  {
    table: 'staff',
    plural: 'staff',
    key: { name: 'name', make: firstName },
    categories: [
      city,
      { name: 'team', make: (faker) => faker.commerce.department() },
      { name: 'job', make: (faker) => faker.person.jobType() },
    ],
    numbers: [number('age', 18, 66), number('pay', 1200, 9800, 100)],
  },
  {
    table: 'books',
    plural: 'books',
    key: { name: 'title', make: (faker) => faker.book.title() },
    categories: [
      { name: 'genre', make: (faker) => faker.book.genre() },
      { name: 'author', make: (faker) => faker.book.author() },
      { name: 'shelf', make: (faker) => faker.string.alpha({ length: 1, casing: 'upper' }) },
    ],
    numbers: [number('year', 1900, 2023), number('pages', 80, 990)],
  },
  {
    table: 'goods',
    plural: 'goods',
    key: { name: 'item', make: (faker) => faker.commerce.product() },
    categories: [
      color,
      { name: 'brand', make: (faker) => faker.company.name() },
      { name: 'material', make: (faker) => faker.commerce.productMaterial() },
    ],
    numbers: [number('price', 1, 99, 0.25), number('stock', 0, 400)],
  },
  {
    table: 'pets',
    plural: 'pets',
    key: { name: 'name', make: (faker) => faker.animal.petName() },
    categories: [
      { name: 'kind', make: (faker) => faker.animal.type() },
      { name: 'owner', make: fullName },
      color,
    ],
    numbers: [number('age', 1, 19), number('weight', 1, 60, 0.5)],
  },
  {
    table: 'flights',
    plural: 'flights',
    key: { name: 'code', make: (faker) => faker.airline.flightNumber({ length: 4, addLeadingZeros: false }) },
    categories: [
      { name: 'airline', make: (faker) => faker.airline.airline().name },
      { name: 'gate', make: (faker) => faker.string.alpha({ length: 1, casing: 'upper' }) },
      country,
    ],
    numbers: [number('seats', 40, 420), number('delay', 0, 180, 5)],
  },
  {
    table: 'songs',
    plural: 'songs',
    key: { name: 'title', make: (faker) => faker.music.songName() },
    categories: [
      { name: 'genre', make: (faker) => faker.music.genre() },
      { name: 'artist', make: (faker) => faker.music.artist() },
      country,
    ],
    numbers: [number('year', 1950, 2023), number('seconds', 90, 600)],
  },
]

/** What a second table says of the values of a category. */
export const attributes: readonly NumberColumn[] = [
  number('rank', 1, 50),
  number('budget', 10, 900, 10),
  number('floor', 1, 9),
]
