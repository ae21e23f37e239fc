import { expect, test } from 'vitest'
import { callsAlong, goldMessages, kindOfGold, parseAction, parseActions, variableIndex } from './actions.ts'

test('actions are read in AgentBench’s form, the first of two arguments with its commas', () => {
  expect(parseAction('get_neighbors(m.0j50kb6,people.person.profession)')).toEqual({
    tool: 'get_neighbors',
    first: 'm.0j50kb6',
    second: 'people.person.profession',
  })
  expect(parseAction('get_neighbors(Go (carefully), child of maat, quote.author)')).toMatchObject({
    first: 'Go (carefully), child of maat',
    second: 'quote.author',
  })
  expect(parseAction(' intersection(#0, #1) ')).toEqual({ tool: 'intersection', first: '#0', second: '#1' })
  expect(parseAction('get_relations(a, b)')).toMatchObject({ first: 'a, b', second: '' })
  for (const text of ['', 'union(#0,#1)', 'get_neighbors(m.1)', 'get_relations m.1', 'constructor(x)'])
    expect(parseAction(text)).toBeUndefined()
})

test('a call refers only to variables that earlier calls have made, or it is no gold list', () => {
  expect(parseActions(['get_neighbors(a,r)', 'get_relations(#0)', 'count(#0)'])).toHaveLength(3)
  expect(parseActions(['get_relations(#0)', 'get_neighbors(a,r)'])).toBeUndefined()
  expect(parseActions(['get_neighbors(a,r)', 'intersection(#0,#1)'])).toBeUndefined()
  expect(parseActions(['get_relations(a)'])).toBeUndefined()
  expect(['#7', ' # 7 ', '#', '#-1', '#1.5', '7', '#x'].map(variableIndex)).toEqual([
    7,
    7,
    ...Array(5).fill(undefined),
  ])
})

test('paths are followed one after the other and intersected where they end', () => {
  const calls = callsAlong([
    { entity: 'a', relations: ['r', 's'] },
    { entity: 'b', relations: ['t'] },
  ])
  expect(calls.map(({ tool, first, second }) => `${tool}(${first},${second})`)).toEqual([
    'get_relations(a,)',
    'get_neighbors(a,r)',
    'get_relations(#0,)',
    'get_neighbors(#0,s)',
    'get_relations(b,)',
    'get_neighbors(b,t)',
    'intersection(#1,#2)',
  ])
})

test('a question is of the kind of its last operation on sets, or of the relations that lead to its answer', () => {
  const kind = (...texts: string[]) => kindOfGold(parseActions(texts) ?? [])
  expect(kind('get_relations(a)', 'get_neighbors(a,r)')).toBe('one_hop')
  expect(kind('get_neighbors(a,r)', 'get_relations(#0)', 'get_neighbors(#0,s)')).toBe('two_hop')
  const both = ['get_neighbors(a,r)', 'get_neighbors(b,s)', 'intersection(#0,#1)']
  expect(kind(...both)).toBe('intersection')
  expect(kind(...both, 'get_neighbors(#2,t)')).toBe('intersection')
  expect(kind(...both, 'count(#2)')).toBe('count')
  expect(kind('get_neighbors(a,r)', 'get_attributes(#0)', 'argmax(#0,height)')).toBe('argmax')
})

test('in messages, entities have the names that the agent has read', () => {
  const question = {
    id: 'q',
    text: '?',
    entities: new Map([['Ann', 'm.1']]),
    answers: new Set(['m.2']),
    gold: parseActions(['get_neighbors(m.1,r)', 'count(#0)']),
  }
  expect(goldMessages(question)).toEqual([
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ name: 'get_neighbors', arguments: { variable: 'Ann', relation: 'r' } }],
    },
    { role: 'assistant', content: '', tool_calls: [{ name: 'count', arguments: { variable: '#0' } }] },
    { role: 'assistant', content: 'Final Answer: #1' },
  ])
  expect(goldMessages({ ...question, gold: undefined })).toBeUndefined()
})
