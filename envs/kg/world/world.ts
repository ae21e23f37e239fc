/**
 * The built-in graph: the countries of the world, their capitals, languages, currencies and regions, from the
 * package `world-countries`.
 *
 * Invariants
 * - Every name is of one type: what would share a country's name has its type behind it, and a city that is the
 *   capital of several countries has its country's.
 * - Every relation but attributes has its opposite, so that each entity leads on.
 */
import { z } from 'zod'
import { needPackages } from '../../contract/optional-package.ts'
import { type EmbeddedGraph, openEmbeddedGraph, type Triple } from '../graph/embedded.ts'
import { sorted } from '../graph/graph.ts'

/** Types of entities. */
export const worldTypes = ['country', 'city', 'language', 'currency', 'subregion', 'region'] as const
export type WorldType = (typeof worldTypes)[number]

/** Relations, from what they lead and to what. */
export const worldRelations = {
  capital: { from: 'country', to: 'city' },
  borders: { from: 'country', to: 'country' },
  language: { from: 'country', to: 'language' },
  currency: { from: 'country', to: 'currency' },
  subregion: { from: 'country', to: 'subregion' },
  capital_of: { from: 'city', to: 'country' },
  spoken_in: { from: 'language', to: 'country' },
  used_in: { from: 'currency', to: 'country' },
  countries: { from: 'subregion', to: 'country' },
  region: { from: 'subregion', to: 'region' },
  subregions: { from: 'region', to: 'subregion' },
} as const satisfies Record<string, { from: WorldType; to: WorldType }>
export type WorldRelation = keyof typeof worldRelations

/** Attributes of countries: km², degrees, and the number of countries at their borders. */
export const worldAttributes = ['area', 'latitude', 'longitude', 'land_borders'] as const
export type WorldAttribute = (typeof worldAttributes)[number]

export interface World {
  readonly graph: EmbeddedGraph
  /** Names by type, in order. */
  readonly names: Readonly<Record<WorldType, readonly string[]>>
}

const countriesSchema = z.array(
  z.object({
    name: z.object({ common: z.string() }),
    cca3: z.string(),
    capital: z.array(z.string()),
    borders: z.array(z.string()),
    languages: z.record(z.string(), z.string()),
    currencies: z.record(z.string(), z.object({ name: z.string() })),
    region: z.string(),
    subregion: z.string(),
    area: z.number(),
    latlng: z.tuple([z.number(), z.number()]),
  }),
)

const opposites: readonly (readonly [WorldRelation, WorldRelation])[] = [
  ['capital', 'capital_of'],
  ['language', 'spoken_in'],
  ['currency', 'used_in'],
  ['subregion', 'countries'],
  ['region', 'subregions'],
]

/** Builds the graph; a few hundred entities, read once a process. */
export async function openWorldGraph(): Promise<World> {
  needPackages('kg', 'world-countries')
  const countries = countriesSchema.parse(((await import('world-countries')) as { default: unknown }).default)
  const triples: Triple[] = []
  const taken = new Map<string, WorldType>(countries.map(({ name }) => [name.common, 'country']))
  const byCode = new Map(countries.map((country) => [country.cca3, country]))
  const capitals = countries.flatMap(({ capital }) => capital)

  /** The name under which something of that type is known. */
  function known(name: string, type: WorldType): string {
    const owner = taken.get(name) ?? type
    if (owner !== type) return `${name} (${type})`
    taken.set(name, type)
    return name
  }

  for (const country of countries) {
    const name = country.name.common
    const neighbours = country.borders
      .map((code) => byCode.get(code))
      // One border of the package is known to one side alone.
      .filter((other) => other?.borders.includes(country.cca3))
    const [latitude, longitude] = country.latlng
    const add = (relation: WorldRelation, to: string) => triples.push([name, relation, to])
    for (const city of country.capital) {
      const shared = capitals.filter((other) => other === city).length > 1
      add('capital', known(shared ? `${city}, ${name}` : city, 'city'))
    }
    for (const other of neighbours) if (other !== undefined) add('borders', other.name.common)
    for (const language of Object.values(country.languages)) add('language', known(language, 'language'))
    for (const currency of Object.values(country.currencies))
      add('currency', known(currency.name, 'currency'))
    if (country.subregion !== '') {
      const subregion = known(country.subregion, 'subregion')
      add('subregion', subregion)
      triples.push([subregion, 'region', known(country.region, 'region')])
    }
    const values: Record<WorldAttribute, number> = {
      area: country.area,
      latitude,
      longitude,
      land_borders: neighbours.length,
    }
    // The package gives an area of -1 where none is known.
    for (const attribute of worldAttributes)
      if (attribute !== 'area' || country.area > 0) triples.push([name, attribute, String(values[attribute])])
  }
  for (const [relation, opposite] of opposites)
    for (const [subject, , object] of triples.filter((triple) => triple[1] === relation))
      triples.push([object, opposite, subject])

  const types = new Map<string, string>(
    Object.entries(worldRelations).map(([relation, { to }]) => [relation, to]),
  )
  for (const attribute of worldAttributes) types.set(attribute, 'number')
  return { graph: await openEmbeddedGraph(triples, types), names: namesIn(triples) }
}

function namesIn(triples: readonly Triple[]): World['names'] {
  const of = (type: WorldType) =>
    sorted(new Set(triples.filter(([, relation]) => fromOf(relation) === type).map(([subject]) => subject)))
  return {
    country: of('country'),
    city: of('city'),
    language: of('language'),
    currency: of('currency'),
    subregion: of('subregion'),
    region: of('region'),
  }
}

function fromOf(relation: string): WorldType | undefined {
  return Object.hasOwn(worldRelations, relation) ? worldRelations[relation as WorldRelation].from : undefined
}

/** The relation that leads back; borders are their own opposite. */
export function oppositeOf(relation: WorldRelation): WorldRelation {
  const pair = opposites.find((both) => both.includes(relation))
  return pair?.find((other) => other !== relation) ?? relation
}
