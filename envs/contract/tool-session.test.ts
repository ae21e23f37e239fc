import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AssistantMessage } from '../../messages/message.ts'
import { type AgentTool, refused, textTool } from './agent-tool.ts'
import { type SessionRules, ToolSession } from './tool-session.ts'

/** Words said so far, and how often the play was given back. */
interface Play {
  readonly words: string[]
  closed: number
}

const say: AgentTool<Play> = textTool({
  name: 'say',
  description: 'Says a word.',
  takes: { word: '' },
  run({ word }, { words }) {
    if (word === 'hush') return { ...refused('Not that.'), stops: 'Hushed.' }
    words.push(word)
    return { reply: `You said ${word}.`, info: { last: word }, reward: word === 'pay' ? 0.5 : 0 }
  },
})
const end: AgentTool<Play> = textTool({
  name: 'end',
  description: 'Ends.',
  takes: {},
  run: () => ({ reply: 'Ended.', reward: 1, done: true }),
})

const rules: SessionRules<Play> = {
  tools: [say, end],
  unnamed: 'nameless',
  nameLimit: 10,
  noSuchTool: (name) => `no ${String(name).slice(0, 10)}`,
  noCall: 'Call a tool.',
  over: 'Over.',
  idle: 'nothing is said here',
  callsPerMessage: 4,
  open: (instance) => ({ play: { words: [], closed: 0 }, system: 'S', prompt: instance }),
  facts: (_, facts) => ({ facts: [...facts] }),
  close: (play) => void play.closed++,
}

let session: ToolSession<Play>
beforeEach(async () => {
  session = new ToolSession(rules)
  await session.reset('first')
})

function calls(...tool_calls: unknown[]): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: tool_calls as never }
}
const saying = (word: string) => ({ name: 'say', arguments: { word } })
const ending = { name: 'end', arguments: {} }

test('a reset gives the first messages, and the facts before any answer', async () => {
  expect(await session.reset('second')).toEqual({
    messages: [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'second' },
    ],
    info: { facts: [] },
  })
})

describe('a step', () => {
  test('answers every call by one tool message, in order, and adds up what they are paid', async () => {
    expect(await session.step(calls(saying('pay'), saying('pay'), { name: 'sing' }, 7))).toEqual({
      messages: [
        { role: 'tool', name: 'say', content: 'You said pay.' },
        { role: 'tool', name: 'say', content: 'You said pay.' },
        { role: 'tool', name: 'sing', content: 'no sing' },
        { role: 'tool', name: 'nameless', content: 'no undefined' },
      ],
      reward: 1,
      done: false,
      info: { facts: [{ last: 'pay' }, { last: 'pay' }] },
    })
  })

  test('answers what calls no tool in words, and marks it invalid', async () => {
    for (const action of [calls(), calls('sing'), calls({ ...saying('a'), arguments: null })])
      expect(await session.step(action)).toMatchObject({ reward: 0, done: false, invalid: true })
    expect((await session.step(calls())).messages).toEqual([{ role: 'user', content: 'Call a tool.' }])
    expect(session.play.words).toEqual([])
  })

  test('throws nothing, whatever a message holds', () =>
    fc.assert(
      fc.asyncProperty(fc.anything(), fc.anything(), async (tool_calls, call) => {
        for (const action of [tool_calls, { content: call, tool_calls }, { tool_calls: [call] }]) {
          const { messages } = await session.step(action as never)
          for (const { content } of messages) expect(content.length).toBeLessThan(100)
        }
      }),
    ))

  test('stops at an answer that stops, and at the most calls that a message may have', async () => {
    const { messages } = await session.step(calls(saying('hush'), saying('a'), null))
    expect(messages.map(({ content }) => content)).toEqual(['Not that.', 'Hushed.', 'Hushed.'])
    const many = await session.step(calls(...Array.from({ length: 5 }, () => saying('a'))))
    expect(many.messages.at(-1)?.content).toBe('Not carried out: a message has at most 4 calls.')
    expect(session.play.words).toHaveLength(4)
  })

  test('lets a task answer a message without a call, which may end the episode', async () => {
    const talking = new ToolSession<Play>({
      ...rules,
      noCall: (content) => (content === 'bye' ? { reply: 'Bye.', reward: 1, done: true } : refused('Hm.')),
    })
    await talking.reset('x')
    expect(await talking.step({ role: 'assistant', content: 'hi' })).toMatchObject({ invalid: true })
    expect(await talking.step({ role: 'assistant', content: 'bye' })).toMatchObject({ reward: 1, done: true })
    expect(await talking.step({ role: 'assistant', content: 'bye' })).toMatchObject({
      messages: [{ role: 'user', content: 'Over.' }],
      reward: 0,
    })
  })
})

test('after the end nothing runs, nothing is paid and nothing is invalid', async () => {
  const last = await session.step(calls(ending, saying('a'), ending))
  expect(last).toMatchObject({ reward: 1, done: true, outcome: 'completed' })
  expect(last.messages.map(({ content }) => content)).toEqual(['Ended.', 'Over.', 'Over.'])
  for (const action of [calls(ending), calls(saying('a')), calls(null), calls()]) {
    const after = await session.step(action)
    expect(after).toMatchObject({ reward: 0, done: true, outcome: 'completed' })
    expect(after).not.toHaveProperty('invalid')
    expect(after.messages[0]?.content).toBe('Over.')
  }
  expect(session.play.words).toEqual([])
  await session.reset('again')
  expect(await session.step(calls(saying('a')))).toMatchObject({ done: false })
})

test('what an instance opened is given back once, at the next reset or at the close', async () => {
  const { play: first } = session
  await session.reset('second')
  const { play: second } = session
  await session.close()
  await session.close()
  expect([first.closed, second.closed]).toEqual([1, 1])
  await expect(session.step(calls(ending))).rejects.toMatchObject({
    kind: 'session_lost',
    message: 'nothing is said here: reset the environment first',
  })
})

// [TOOL-SESSION-1]
test('states by calls have equal names exactly after equal usable calls', async () => {
  const named = new ToolSession<Play>({ ...rules, state: 'calls' })
  const after = async (...messages: readonly AssistantMessage[]) => {
    let { state } = await named.reset('first')
    for (const message of messages) state = (await named.step(message)).state
    return state
  }
  const one = await after(calls(saying('a'), saying('b')))
  expect(await after(calls(saying('a')), calls(saying('b')))).toBe(one)
  expect(
    await after(calls(saying('a')), calls(saying('hush')), calls({ name: 'x' }), calls(saying('b'))),
  ).toBe(one)
  expect(await after(calls(saying('b'), saying('a')))).not.toBe(one)
  expect(await after(calls(saying('a')))).not.toBe(one)
  expect(await after()).toBe(await after(calls()))
  expect((await session.step(calls(saying('a')))).state).toBeUndefined()
})
