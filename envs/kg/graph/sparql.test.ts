import fc from 'fast-check'
import { Store } from 'oxigraph'
import { expect, test } from 'vitest'
import type { SetDerivation } from './derivation.ts'
import { isSafeName, QueryWriter } from './sparql.ts'

const writer = new QueryWriter('http://rdf.freebase.com/ns/')
const from = (id: string): SetDerivation => ({ kind: 'entity', id })
const along = (of: SetDerivation, relation: string): SetDerivation => ({ kind: 'neighbors', of, relation })

const attacks = [
  'm.1> . } ; DROP ALL ; #',
  'm.1> ?p ?o } UNION { SERVICE <http://evil.example/sparql> { ?s ?p ?o',
  'm.1\n} INSERT DATA { <a> <b> <c> }',
  'm.1"@en',
  'm.1\\u003e . ?s ?p ?o',
  'm.1{',
  'm.1 ',
  'm.1\u0000',
  '\ud800',
  '',
  'x'.repeat(1_000_000),
]

test('a name with a character that SPARQL forbids in an IRI is never part of a query', () => {
  for (const attack of attacks) {
    expect(isSafeName(attack)).toBe(false)
    for (const set of [from(attack), along(from('m.1'), attack), along(from(attack), 'r')])
      expect(() => writer.relations(set, 10)).toThrow(RangeError)
    const extreme = { kind: 'argmax', of: along(from('m.1'), 'r'), attribute: attack } as const
    expect(() => writer.members(extreme, 10)).toThrow(RangeError)
  }
})

test('whatever the names, what is written is a SELECT whose IRIs are the names', () => {
  const store = new Store()
  const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(name, name, (entity, relation) => {
      fc.pre(isSafeName(entity) && isSafeName(relation))
      const query = writer.members(along(along(from(entity), relation), relation), 10)
      expect(query.startsWith('SELECT ')).toBe(true)
      expect(query.match(/<[^>]*>/g)?.slice(0, 2)).toEqual([
        `<http://rdf.freebase.com/ns/${entity}>`,
        `<http://rdf.freebase.com/ns/${relation}>`,
      ])
      // Oxigraph also wants IRIs to be well-formed, which the grammar of SPARQL does not.
      if (/^[\w.-]+$/.test(entity + relation)) expect(store.query(query)).toEqual([])
    }),
    { seed: 7, numRuns: 200 },
  )
})

test('as in AgentBench, where a set starts from is on its way but not in it', () => {
  const store = new Store()
  store.load(
    `@prefix : <http://rdf.freebase.com/ns/> .
     :m.1 :member :m.9 . :m.9 :members :m.1, :m.2, :m.3, "Gruppe"@de, "group"@en, "4" .
     :m.1 :age 50 . :m.2 :age 7 . :m.3 :age 7 . :m.2 :next :m.1 .`,
    { format: 'text/turtle' },
  )
  const values = (query: string) =>
    (store.query(query) as Map<string, { value: string }>[])
      .map((row) => row.get('value')?.value.replace('http://rdf.freebase.com/ns/', ''))
      .sort()
  const members = along(along(from('m.1'), 'member'), 'members')
  // Texts are those in English or of no language.
  expect(values(writer.members(members, 10))).toEqual(['4', 'group', 'm.2', 'm.3'])
  expect(values(writer.members({ kind: 'count', of: members }, 10))).toEqual(['4'])
  expect(values(writer.members({ kind: 'argmin', of: members, attribute: 'age' }, 10))).toEqual([
    'm.2',
    'm.3',
  ])
  expect(values(writer.relations(members, 10))).toEqual(['age', 'next'])
  expect(values(writer.attributes(members, 10))).toEqual(['age'])
  // The extreme is found among the others: m.1 is the oldest, and yet those of 7 years are the oldest of them.
  expect(values(writer.members({ kind: 'argmax', of: members, attribute: 'age' }, 10))).toEqual([
    'm.2',
    'm.3',
  ])
  const both = { kind: 'intersection', left: members, right: along(from('m.9'), 'members') } as const
  expect(values(writer.members(both, 10))).toEqual(['4', 'group', 'm.2', 'm.3'])
  const nested = along({ kind: 'argmin', of: members, attribute: 'age' }, 'next')
  expect(values(writer.members({ kind: 'count', of: nested }, 10))).toEqual(['0'])
})
