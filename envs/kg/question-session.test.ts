import { describe, expect, test } from 'vitest'
import type { AssistantMessage, JsonObject } from '../../messages/message.ts'
import { type Environment, EnvironmentFault, type StepResult } from '../contract/environment.ts'
import { openEmbeddedGraph } from './graph/embedded.ts'
import { CostlyQuestion, type KnowledgeGraph } from './graph/graph.ts'
import { createSession, grade } from './question-session.ts'
import { officialWording, shortWording, type Wording } from './wording.ts'

const types = new Map([
  ['child', 'person'],
  ['town', 'place'],
  ['age', 'number'],
])

async function family(): Promise<KnowledgeGraph> {
  return openEmbeddedGraph(
    [
      ['Ann', 'child', 'Bob'],
      ['Ann', 'child', 'Cyd'],
      ['Dan', 'child', 'Cyd'],
      ['Ann', 'town', 'Ulm'],
      ['Bob', 'age', '9'],
      ['Cyd', 'age', '12'],
    ],
    types,
  )
}

async function open(graph?: KnowledgeGraph, wording: Wording = shortWording): Promise<Environment> {
  const session = createSession({
    graph: graph ?? (await family()),
    openInstance: (id) => ({
      id,
      text: 'Who?',
      entities: new Map([
        ['Ann', 'Ann'],
        ['Daniel', 'Dan'],
      ]),
      answers: new Set(['Cyd']),
    }),
    systemPrompt: 'Answer.',
    wording,
    callsPerMessage: 30,
  })
  await session.reset('q')
  return session
}

function call(name: string, args: JsonObject): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name, arguments: args }] }
}

function say(content: string): AssistantMessage {
  return { role: 'assistant', content }
}

const textOf = ({ messages }: StepResult) => messages[0]?.content
const neighbors = (variable: string, relation: string) => call('get_neighbors', { variable, relation })

test('a question is answered through variables, and only the answer pays, once', async () => {
  const session = await open()
  expect(textOf(await session.step(call('get_relations', { variable: 'Ann' })))).toBe('child, town')
  const first = await session.step(neighbors('Ann', 'child'))
  expect(first).toMatchObject({ reward: 0, done: false, info: { variable: '#0', size: 2 } })
  expect(textOf(first)).toBe('#0: person')
  // By the name that the question gives, and without asking for relations before.
  expect(textOf(await session.step(neighbors('Daniel', 'child')))).toBe('#1: person')
  expect(await session.step(call('intersection', { variable1: '#0', variable2: '#1' }))).toMatchObject({
    info: { variable: '#2', size: 1 },
  })
  const last = await session.step(say('So it is clear. Final Answer: #2'))
  expect(last).toMatchObject({
    reward: 1,
    done: true,
    outcome: 'completed',
    info: { variable: '#2', size: 1, f1: 1 },
  })
  for (const after of [say('Final Answer: #2'), neighbors('Ann', 'child')])
    expect(await session.step(after)).toMatchObject({ reward: 0, done: true, outcome: 'completed' })
})

test('a wrong answer ends the episode without a reward and says how near it came', async () => {
  const session = await open()
  await session.step(neighbors('Ann', 'child'))
  // 1 of 2 is right of 1: P 1/2, R 1, F1 2/3.
  const result = await session.step(say('Final Answer: #0'))
  expect(result).toMatchObject({ reward: 0, done: true, outcome: 'completed', info: { f1: 2 / 3 } })
})

test('extremes and counts are variables too', async () => {
  const session = await open()
  await session.step(neighbors('Ann', 'child'))
  expect(textOf(await session.step(call('get_attributes', { variable: '#0' })))).toBe('age')
  const extreme = (tool: string) => session.step(call(tool, { variable: '#0', attribute: 'age' }))
  expect(textOf(await extreme('argmax'))).toBe('#1: person')
  expect((await extreme('argmin')).info).toEqual({ variable: '#2', size: 1 })
  expect(textOf(await session.step(call('count', { variable: '#0' })))).toBe('#3: number')
  expect(await session.step(say('Final Answer: #1'))).toMatchObject({ reward: 1 })
})

test('where official data is played, what a tool found is worded by AgentBench to the letter', async () => {
  const session = await open(undefined, officialWording)
  expect(textOf(await session.step(call('get_relations', { variable: 'Ann' })))).toBe(
    'Observation: [child, town]',
  )
  expect(textOf(await session.step(neighbors('Ann', 'child')))).toBe(
    'Observation: variable #0, which are instances of person',
  )
  expect(textOf(await session.step(call('count', { variable: '#0' })))).toBe(
    'Observation: variable #1, which is a number',
  )
  expect(textOf(await session.step(say('hm')))).toBe(
    'No valid function calls found! Need to recheck the function calls.',
  )
})

describe('a call that cannot be carried out is answered with the calls that can, and makes no variable', () => {
  test.each([
    [neighbors('Ann', 'mother'), 'relation must be a relation of the variable. Ann has child, town.'],
    [neighbors('Ann', 'age'), 'Ann has child, town.'],
    [neighbors('Eve', 'child'), 'There is no "Eve"; use "Ann", "Daniel".'],
    [neighbors('#0', 'child'), 'There is no variable #0. There is none yet'],
    [call('count', { variable: 'Ann' }), '"Ann" is no variable such as #0.'],
    [call('get_neighbors', { variable: 'Ann' }), 'get_neighbors needs "variable" and "relation"'],
    [call('count', { variable: null }), 'count needs "variable"'],
    [call('sparql', { query: 'DROP ALL' }), 'There is no function "sparql". Use get_relations'],
    [neighbors('Ann', 'x'.repeat(1_000_000)), 'must be a relation'],
    [neighbors('x'.repeat(1_000_000), 'child'), 'There is no "xxx'],
    [say('Final Answer: #3'), 'There is no variable #3.'],
    [say(`Final Answer: #${'9'.repeat(1000)}`), 'There is no variable #999'],
  ])('%#', async (action, expected) => {
    const session = await open()
    const result = await session.step(action)
    expect(result).toMatchObject({ reward: 0, done: false, invalid: true, info: {} })
    expect(textOf(result)).toContain(expected)
    expect(textOf(result)?.length).toBeLessThan(1000)
    expect((await session.step(neighbors('Ann', 'child'))).info).toEqual({ variable: '#0', size: 2 })
  })

  test('variables of different types are not intersected, and a number is no set', async () => {
    const session = await open()
    await session.step(neighbors('Ann', 'child'))
    await session.step(neighbors('Ann', 'town'))
    await session.step(call('count', { variable: '#0' }))
    const both = (variable2: string) => session.step(call('intersection', { variable1: '#0', variable2 }))
    expect(textOf(await both('#1'))).toContain('must have the same type. #0 has person, #1 has place.')
    expect(textOf(await both('#2'))).toContain('#2 is a number')
    expect(await both('#0')).toMatchObject({ info: { variable: '#3' } })
    const wrong = await session.step(call('argmax', { variable: '#0', attribute: 'height' }))
    expect(textOf(wrong)).toContain('#0 has age.')
  })
})

test('as in AgentBench, a message with calls is no answer, and imagined observations do not count', async () => {
  const session = await open()
  await session.step(neighbors('Daniel', 'child'))
  const both = { ...neighbors('Ann', 'child'), content: 'Final Answer: #0' }
  expect(await session.step(both)).toMatchObject({ done: false, info: { variable: '#1' } })
  expect(await session.step(say('Observation: Final Answer: #0'))).toMatchObject({
    done: false,
    invalid: true,
  })
  expect(await session.step(say('Find Answer: #0 Final Answer: #1'))).toMatchObject({ reward: 1, done: true })
})

test('a set that is doubled again and again stays small or is refused', async () => {
  const session = await open()
  await session.step(neighbors('Ann', 'child'))
  let last: StepResult | undefined
  for (let index = 0; index < 40; index++) {
    const variable = `#${Math.min(index, 6)}`
    last = await session.step(call('intersection', { variable1: variable, variable2: variable }))
  }
  expect(textOf(last as StepResult)).toContain('too many steps')
})

test('a message has so many calls that are carried out, and each has its answer', async () => {
  const session = await open()
  const one = neighbors('Ann', 'child').tool_calls?.[0]
  const calls = Array.from({ length: 1000 }, () => one as NonNullable<typeof one>)
  const { messages, info } = await session.step({ role: 'assistant', content: '', tool_calls: calls })
  expect(messages).toHaveLength(1000)
  expect(info).toEqual({ variable: '#29', size: 2 })
})

test('what the graph could not do for lack of a server is a fault, never an answer or a reward', async () => {
  const down = new EnvironmentFault('backend', 'gone')
  const graph = await family()
  let failure: Error | undefined = down
  const flaky = new Proxy(graph, {
    get(target, key: keyof KnowledgeGraph) {
      if ((key === 'relations' || key === 'members') && failure !== undefined)
        return () => Promise.reject(failure)
      const value = target[key]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const session = await open(flaky)
  await expect(session.step(neighbors('Ann', 'child'))).rejects.toBe(down)
  failure = undefined
  await session.step(neighbors('Daniel', 'child'))
  failure = down
  await expect(session.step(say('Final Answer: #0'))).rejects.toBe(down)
  // A question that is too much for a working graph is reported to the agent; the rest of the message is not executed.
  failure = new CostlyQuestion('It is too much.')
  expect(await session.step(say('Final Answer: #0'))).toMatchObject({ reward: 0, done: false, invalid: true })
  const two = [neighbors('Ann', 'child'), neighbors('Daniel', 'child')].flatMap(
    ({ tool_calls }) => tool_calls ?? [],
  )
  const { messages } = await session.step({ role: 'assistant', content: '', tool_calls: two })
  expect(messages.map(({ content }) => content)).toEqual([
    'get_neighbors: It is too much.',
    'Not carried out, because of the call before it.',
  ])
  failure = undefined
  expect(await session.step(say('Final Answer: #0'))).toMatchObject({ reward: 1, done: true })
})

test('a session without a question is lost', async () => {
  const session = await open()
  await session.close()
  await expect(session.step(say('x'))).rejects.toMatchObject({ kind: 'session_lost' })
})

const set = (...values: string[]) => new Set(values)

test('the reward is 1 exactly when both sets have the same members', () => {
  expect(grade({ values: set('a', 'b'), complete: true }, set('b', 'a'))).toEqual({ reward: 1, f1: 1 })
  for (const values of [set(), set('a'), set('a', 'c'), set('a', 'b', 'c'), set('A', 'B')])
    expect(grade({ values, complete: true }, set('a', 'b')).reward).toBe(0)
})

test('F1 is that of precision and recall', () => {
  // 2 of 4 are right of 3: P = 1/2, R = 2/3, F1 = 2·(1/3)/(7/6) = 4/7.
  expect(grade({ values: set('a', 'b', 'x', 'y'), complete: true }, set('a', 'b', 'c')).f1).toBeCloseTo(
    4 / 7,
    12,
  )
  expect(grade({ values: set('x'), complete: true }, set('a')).f1).toBe(0)
  expect(grade({ values: set(), complete: true }, set('a')).f1).toBe(0)
})

test('a set whose members are not all known is never right', () => {
  expect(grade({ values: set('a'), complete: false }, set('a')).reward).toBe(0)
})
