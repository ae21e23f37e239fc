import { expect, test } from 'vitest'
import type { SetDerivation } from './derivation.ts'
import { type EndpointOptions, openEndpoint } from './endpoint.ts'
import { CostlyQuestion } from './graph.ts'
import { startSparqlServer } from './sparql-server.testing.ts'

const graphText = `@prefix : <http://rdf.freebase.com/ns/> .
  :m.1 :friend :m.2, :m.3, :m.4 . :m.2 :born "1980-05-01-08:00" . :m.3 :size 7 . :m.1 <http://else/where> :m.2 .
  :friend :type.property.expected_type :people.person .`

const start: SetDerivation = { kind: 'entity', id: 'm.1' }
const friends: SetDerivation = { kind: 'neighbors', of: start, relation: 'friend' }

function options(url: string, more: Partial<EndpointOptions> = {}): EndpointOptions {
  return { url, namespace: 'http://rdf.freebase.com/ns/', timeoutMs: 20_000, maxRows: 1000, ...more }
}

test('names lose the namespace, relations of others are left out, and types come from the schema', async () => {
  await using server = await startSparqlServer()
  server.load(graphText)
  const graph = openEndpoint(options(server.url))
  expect(await graph.relations(start)).toEqual(['friend'])
  expect(await graph.relations(friends)).toEqual(['born', 'size'])
  expect(await graph.attributes(friends)).toEqual(['size'])
  expect(await graph.typeOf('friend')).toBe('people.person')
  expect(await graph.typeOf('size')).toBeUndefined()
  const born = { kind: 'neighbors', of: friends, relation: 'born' } as const
  expect((await graph.members(born)).values).toEqual(new Set(['1980-05-01']))
  expect(graph.find('m.1> <x')).toBeUndefined()
})

test('AgentBench’s vocabulary says what is a relation and what an attribute', async () => {
  await using server = await startSparqlServer()
  server.load(graphText)
  const ontology = {
    relations: new Set(['friend']),
    attributes: new Set(['born']),
    types: new Map([['friend', 'some.type']]),
  }
  const graph = openEndpoint(options(server.url, { ontology }))
  expect(await graph.relations(friends)).toEqual([])
  expect(await graph.attributes(friends)).toEqual(['born'])
  expect(await graph.typeOf('friend')).toBe('some.type')
})

test('short queries go by GET, long ones by POST, and the same one is sent once', async () => {
  await using server = await startSparqlServer()
  server.load(graphText)
  const graph = openEndpoint(options(server.url.replace('//', '//ann:s%20cret@')))
  let long: SetDerivation = start
  for (let hop = 0; hop < 40; hop++) long = { kind: 'neighbors', of: long, relation: 'friend' }
  for (const set of [start, start, long, long]) await graph.relations(set)
  expect(server.asked.map(({ method }) => method)).toEqual(['GET', 'POST'])
  expect(server.asked[0]?.authorization).toBe(`Basic ${Buffer.from('ann:s cret').toString('base64')}`)
})

test('every answer has a limit on its rows, and a set beyond it is not complete', async () => {
  await using server = await startSparqlServer()
  server.load(graphText)
  const { values, complete } = await openEndpoint(options(server.url, { maxRows: 2 })).members(friends)
  expect([values.size, complete]).toEqual([2, false])
  expect(await openEndpoint(options(server.url, { maxRows: 3 })).members(friends)).toMatchObject({
    complete: true,
  })
})

test('a connection that is closed just when it is used costs nothing', async () => {
  await using server = await startSparqlServer()
  server.load(graphText)
  let broken = 0
  server.answer = (_query, response) => {
    if (broken++ > 0) return false
    response.destroy()
    return true
  }
  expect(await openEndpoint(options(server.url)).relations(start)).toEqual(['friend'])
  expect(broken).toBe(2)
})

test('an endpoint that is down is a fault of the backend', async () => {
  const server = await startSparqlServer()
  const graph = openEndpoint(options(server.url.replace('//', '//ann:secret@')))
  await server[Symbol.asyncDispose]()
  const failure = await graph.relations(start).catch((cause: unknown) => cause)
  expect(failure).toMatchObject({ name: 'EnvironmentFault', kind: 'backend', permanent: false })
  expect(String(failure)).not.toContain('secret')
})

test.each([
  ['status 502', 502, ''],
  ['status 401', 401, ''],
  ['status 400', 400, 'parse error'],
  ['no SPARQL JSON', 200, '<html>'],
  ['no SPARQL result', 200, '{"results": 7}'],
])(
  'an endpoint that answers with %s is a fault of the backend, and is asked again',
  async (why, status, body) => {
    await using server = await startSparqlServer()
    server.load(graphText)
    server.answer = (_query, response) => {
      response.writeHead(status).end(body)
      return true
    }
    const graph = openEndpoint(options(server.url))
    await expect(graph.relations(start)).rejects.toMatchObject({
      kind: 'backend',
      message: expect.stringContaining(why),
    })
    server.answer = undefined
    expect(await graph.relations(start)).toEqual(['friend'])
  },
)

test('one that answers others but not this query in time is a costly question', async () => {
  await using server = await startSparqlServer()
  server.answer = (query) => query !== 'ASK {}'
  const graph = openEndpoint(options(server.url, { timeoutMs: 50 }))
  await expect(graph.relations(start)).rejects.toBeInstanceOf(CostlyQuestion)
  server.answer = (query, response) => {
    if (query !== 'ASK {}') response.writeHead(500).end('estimated execution time exceeds the limit')
    return query !== 'ASK {}'
  }
  await expect(graph.relations(start)).rejects.toBeInstanceOf(CostlyQuestion)
  // An endpoint that fails every query is down.
  server.answer = (_query, response) => {
    response.writeHead(500).end()
    return true
  }
  await expect(graph.relations(start)).rejects.toMatchObject({ kind: 'backend' })
})

test('an answer without end is cut off', async () => {
  await using server = await startSparqlServer()
  server.answer = (query, response) => {
    if (query === 'ASK {}') return false
    const flood = () => {
      while (!response.destroyed && response.write('x'.repeat(1_000_000)));
    }
    response.on('drain', flood)
    flood()
    return true
  }
  await expect(openEndpoint(options(server.url)).relations(start)).rejects.toBeInstanceOf(CostlyQuestion)
})

test('closing ends what is under way', async () => {
  await using server = await startSparqlServer()
  const arrived = Promise.withResolvers<void>()
  server.answer = () => {
    arrived.resolve()
    return true
  }
  const graph = openEndpoint(options(server.url))
  const answer = graph.relations(start)
  const ended = expect(answer).rejects.toMatchObject({ kind: 'backend' })
  await arrived.promise
  await graph.close()
  await ended
})
