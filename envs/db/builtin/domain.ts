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
    numbers: [
      { name: 'age', min: 18, max: 66, step: 1 },
      { name: 'pay', min: 1200, max: 9800, step: 100 },
    ],
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
    numbers: [
      { name: 'year', min: 1900, max: 2023, step: 1 },
      { name: 'pages', min: 80, max: 990, step: 1 },
    ],
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
    numbers: [
      { name: 'price', min: 1, max: 99, step: 0.25 },
      { name: 'stock', min: 0, max: 400, step: 1 },
    ],
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
    numbers: [
      { name: 'age', min: 1, max: 19, step: 1 },
      { name: 'weight', min: 1, max: 60, step: 0.5 },
    ],
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
    numbers: [
      { name: 'seats', min: 40, max: 420, step: 1 },
      { name: 'delay', min: 0, max: 180, step: 5 },
    ],
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
    numbers: [
      { name: 'year', min: 1950, max: 2023, step: 1 },
      { name: 'seconds', min: 90, max: 600, step: 1 },
    ],
  },
]

/** What a second table says of the values of a category. */
export const attributes: readonly NumberColumn[] = [
  { name: 'rank', min: 1, max: 50, step: 1 },
  { name: 'budget', min: 10, max: 900, step: 10 },
  { name: 'floor', min: 1, max: 9, step: 1 },
]
