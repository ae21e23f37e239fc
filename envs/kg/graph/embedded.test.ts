import { expect, test } from 'vitest'
import type { SetDerivation } from './derivation.ts'
import { openEmbeddedGraph, type Triple } from './embedded.ts'

const triples: Triple[] = [
  ['Ann', 'knows', 'Bob'],
  ['Ann', 'knows', 'Cyd "the <great>" \\ Ü 🫖'],
  ['Bob', 'age', '007'],
  ['Cyd "the <great>" \\ Ü 🫖', 'age', '1.50'],
  ['Bob', 'born in', '1980-02-30'],
  ['7', 'follows', '6'],
  ['Ann', 'likes', '7'],
]

const from = (id: string): SetDerivation => ({ kind: 'entity', id })
const along = (of: SetDerivation, relation: string): SetDerivation => ({ kind: 'neighbors', of, relation })

test('entities and values are known by their texts: what was loaded comes back letter by letter', async () => {
  const graph = await openEmbeddedGraph(triples)
  const friends = along(from('Ann'), 'knows')
  expect(graph.evaluate(friends)).toEqual(new Set(['Bob', 'Cyd "the <great>" \\ Ü 🫖']))
  expect(graph.evaluate(along(friends, 'age'))).toEqual(new Set(['007', '1.50']))
  expect(await graph.relations(friends)).toEqual(['age', 'born in'])
  expect(graph.find('007')).toBe('007')
  expect(graph.find('ann')).toBeUndefined()
})

test('an attribute leads to a number or a date; a number that leads on is an entity', async () => {
  const graph = await openEmbeddedGraph(triples)
  const friends = along(from('Ann'), 'knows')
  // The thirtieth of February is no date.
  expect(await graph.attributes(friends)).toEqual(['age'])
  const oldest = { kind: 'argmax', of: friends, attribute: 'age' } as const
  expect(graph.evaluate(oldest)).toEqual(new Set(['Bob']))
  expect(graph.evaluate(along(along(from('Ann'), 'likes'), 'follows'))).toEqual(new Set(['6']))
  expect(graph.evaluate({ kind: 'count', of: friends })).toEqual(new Set(['2']))
})

test('a relation that declares numbers or dates is an attribute and no relation', async () => {
  const graph = await openEmbeddedGraph(triples, new Map([['age', 'number']]))
  const friends = along(from('Ann'), 'knows')
  expect(await graph.relations(friends)).toEqual(['born in'])
  expect(await graph.attributes(friends)).toEqual(['age'])
})

test('text from an agent is looked up, never put into a query', async () => {
  const graph = await openEmbeddedGraph(triples)
  for (const name of ['urn:kg:Ann', '<urn:kg:Ann>', '?x', 'Ann> . ?s ?p ?o', '__proto__', '\ud800', ''])
    expect(graph.find(name)).toBeUndefined()
})
