/** Environments in short form: what holds for every one of them. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { AssistantMessage, JsonObject, Message } from '../../messages/message.ts'
import type { Task } from '../contract/environment.ts'
import { defineEnvironment, win } from './define.ts'

const say = (name: string, given: unknown): AssistantMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ name, arguments: given as JsonObject }],
})

const texts = (messages: readonly Message[]) => messages.map(({ content }) => content)

/** Takes coins out of a purse until it is empty, and records what was closed. */
function purse(closed: string[] = []) {
  return defineEnvironment('purse', {
    splits: { train: ['red', 'blue'], test: ['green'] },
    settings: z.object({ coins: z.int().min(1).default(3) }),
    start: ({ instance, item, settings, random }) => ({
      prompt: `A ${item} purse.`,
      system: 'Take coins.',
      instance,
      left: settings.coins,
      luck: random.int(1, 1_000_000),
    }),
    tools: (tool) => ({
      take: tool({
        description: 'Takes coins.',
        parameters: z.object({ coins: z.int().min(1), hand: z.enum(['left', 'right']).optional() }),
        run({ coins }, state) {
          if (coins > state.left) return `Only ${state.left} left.`
          state.left -= coins
          return state.left === 0
            ? win('Empty.')
            : { reply: `${state.left} left.`, info: { left: state.left } }
        },
      }),
      wish: tool({
        description: 'Wishes for luck.',
        parameters: z.object({}),
        run: (_, { luck }) => `Your luck is ${luck}.`,
      }),
      drop: tool({
        description: 'Drops the purse.',
        parameters: z.object({}),
        run: () => ({ reply: 'Gone.', done: true }),
      }),
    }),
    *expert({ left }) {
      const reply = yield { take: { coins: left - 1 } }
      if (reply === '1 left.') yield { take: { coins: 1 } }
    },
    close: ({ instance }) => void closed.push(instance),
  })
}

async function sessionOf(task: Promise<Task>) {
  return (await task).create()
}

describe('a session', () => {
  test('the first messages are what the start returns, and the state is what tools are given', async () => {
    const session = await sessionOf(purse().open({}))
    expect((await session.reset('train/1')).messages).toEqual([
      { role: 'system', content: 'Take coins.' },
      { role: 'user', content: 'A blue purse.' },
    ])
    expect(await session.step(say('take', { coins: 2 }))).toEqual({
      messages: [{ role: 'tool', name: 'take', content: '1 left.' }],
      reward: 0,
      done: false,
      info: { left: 1 },
    })
    expect(await session.step(say('take', { coins: 1 }))).toMatchObject({
      reward: 1,
      done: true,
      outcome: 'completed',
    })
  })

  test('the exact state is named at the start and after each action, where the definition names it', async () => {
    const counter = defineEnvironment('counter', {
      start: () => ({ prompt: 'Add one.', sum: 0 }),
      state: ({ sum }) => `sum ${sum}`,
      tools: (tool) => ({
        add: tool({
          description: 'Adds one.',
          parameters: z.strictObject({}),
          run(_, state) {
            state.sum += 1
            return `${state.sum}`
          },
        }),
      }),
    })
    const session = await sessionOf(counter.open({}))
    expect((await session.reset('train/0')).state).toBe('sum 0')
    expect((await session.step(say('add', {}))).state).toBe('sum 1')
    expect((await session.step({ role: 'assistant', content: 'Done.' })).state).toBe('sum 1')
  })

  test('arguments reach a tool only after its schema has passed them, and refused arguments are reported and unusable', async () => {
    const session = await sessionOf(purse().open({}))
    await session.reset('train/0')
    for (const [given, words] of [
      [{}, 'take: coins: Invalid input: expected number, received undefined'],
      [{ coins: 0 }, 'take: coins: Too small: expected number to be >=1'],
      [{ coins: '1' }, 'take: coins: Invalid input: expected number, received string'],
      [{ coins: 1, hand: 'third' }, 'take: hand: Invalid option: expected one of "left"|"right"'],
      [null, 'take: Invalid input: expected object, received null'],
    ] as const) {
      const { messages, invalid, reward } = await session.step(say('take', given))
      expect({ words: texts(messages), invalid, reward }).toEqual({
        words: [words],
        invalid: true,
        reward: 0,
      })
    }
    expect(texts((await session.step(say('take', { coins: 3 }))).messages)).toEqual(['Empty.'])
  })

  test('a tool that there is not, and a message without a call, are answered with the tools there are', async () => {
    const session = await sessionOf(purse().open({}))
    await session.reset('train/0')
    const unknown = await session.step(say('x'.repeat(1000), {}))
    expect(unknown.invalid).toBe(true)
    expect(texts(unknown.messages)[0]).toMatch(/^There is no tool "x{40}"\. Call one of the tools take, wish/)
    const silent = await session.step({ role: 'assistant', content: 'hm' })
    expect(silent).toMatchObject({ invalid: true, messages: [{ role: 'user' }] })
  })

  test('every call is answered by one message, and after the end no tool runs any more', async () => {
    const session = await sessionOf(purse().open({}))
    await session.reset('train/0')
    const calls = [{ coins: 3 }, { coins: 1 }].map((given) => ({ name: 'take', arguments: given }))
    const step = await session.step({ role: 'assistant', content: '', tool_calls: calls })
    expect(texts(step.messages)).toEqual(['Empty.', 'The episode is over.'])
    expect(step.reward).toBe(1)
    expect(await session.step(say('take', { coins: 1 }))).toMatchObject({ reward: 0, done: true })
  })

  test('an episode may end without reward', async () => {
    const session = await sessionOf(purse().open({}))
    await session.reset('train/0')
    expect(await session.step(say('drop', {}))).toMatchObject({ reward: 0, done: true, outcome: 'completed' })
  })

  test('what the start opened is given back once', async () => {
    const closed: string[] = []
    const session = await sessionOf(purse(closed).open({}))
    await session.reset('train/0')
    await session.reset('train/1')
    await session.close()
    await session.close()
    expect(closed).toEqual(['train/0', 'train/1'])
  })

  test('plain answers are heard where the environment hears them', async () => {
    const sums = defineEnvironment('sums', {
      start: ({ index }) => ({ prompt: `${index} + 1?`, sum: index + 1 }),
      answer: (text, { sum }) => (Number(text) === sum ? win('Yes.') : 'No.'),
    })
    const session = await sessionOf(sums.open({}))
    await session.reset('test/41')
    expect(texts((await session.step({ role: 'assistant', content: '41' })).messages)).toEqual(['No.'])
    expect(await session.step({ role: 'assistant', content: '42' })).toMatchObject({ reward: 1, done: true })
    expect(await session.step({ role: 'assistant', content: '42' })).toMatchObject({ reward: 0 })
  })

  // [REWARD-BOUNDS-1]
  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1e308, 1_000_001, -1_000_001])(
    'the reward %d is the fault of the environment, and a retry would not repair it',
    async (reward) => {
      const broken = defineEnvironment('broken', {
        start: () => ({ prompt: 'Go.' }),
        tools: (tool) => ({
          go: tool({
            description: 'Goes.',
            parameters: z.object({}),
            run: () => ({ reply: 'Gone.', reward }),
          }),
        }),
      })
      const session = await sessionOf(broken.open({}))
      await session.reset('test/0')
      await expect(session.step(say('go', {}))).rejects.toMatchObject({
        name: 'EnvironmentFault',
        kind: 'bad_data',
        permanent: true,
      })
    },
  )
})

describe('a task', () => {
  test('the agent reads the arguments as a JSON schema, without bounds that every number keeps', async () => {
    const { tools } = await sessionOf(purse().open({}))
    expect(tools[0]?.function).toEqual({
      name: 'take',
      description: 'Takes coins.',
      parameters: {
        type: 'object',
        properties: {
          coins: { type: 'integer', minimum: 1 },
          hand: { type: 'string', enum: ['left', 'right'] },
        },
        required: ['coins'],
      },
    })
  })

  test('an instance is named by split and index, and the randomness comes from its name alone', async () => {
    const task = await purse().open({})
    expect(task.splits).toEqual([
      { name: 'train', size: 2 },
      { name: 'test', size: 1 },
    ])
    expect(task.instanceAt('train', 3)).toBe('train/1')
    const luckOf = async (instance: string) => {
      const session = await task.create()
      await session.reset(instance)
      return texts((await session.step(say('wish', {}))).messages)[0]
    }
    expect(await luckOf('train/1')).toBe(await luckOf('train/1'))
    expect(await luckOf('train/1')).not.toBe(await luckOf('train/0'))
    const session = await task.create()
    for (const unknown of ['train/2', 'train/01', 'train/', '/0', 'train', 'moon/0', 'train/1e0'])
      await expect(session.reset(unknown)).rejects.toMatchObject({ kind: 'unknown_instance' })
  })

  test('settings reach the start; unknown ones and a data folder that nothing reads are refused', async () => {
    const session = await sessionOf(purse().open({ settings: { coins: 1 } }))
    await session.reset('test/0')
    expect(await session.step(say('take', { coins: 1 }))).toMatchObject({ done: true })
    await expect(purse().open({ settings: { coin: 1 } })).rejects.toThrow(/coin/)
    await expect(purse().open({ dataDir: '/data' })).rejects.toMatchObject({ kind: 'bad_data' })
  })

  test('splits may be read from a folder when the task is opened', async () => {
    const words = defineEnvironment('words', {
      splits: async ({ dataDir }) => ({ train: [`${dataDir}/a`, `${dataDir}/b`] }),
      start: ({ item }) => ({ prompt: item }),
      answer: () => win('Yes.'),
    })
    const task = await words.open({ dataDir: '/words' })
    expect((await (await task.create()).reset('train/1')).messages[0]?.content).toBe('/words/b')
  })

  test('a demonstration is what the expert did, and it won; one that does not win is none', async () => {
    const task = await purse().open({})
    const demonstration = await task.demonstrate?.('train/0')
    expect(demonstration?.actions.map(({ tool_calls }) => tool_calls?.[0]?.arguments)).toEqual([
      { coins: 2 },
      { coins: 1 },
    ])
    const poor = await purse().open({ settings: { coins: 1 } })
    expect(await poor.demonstrate?.('train/0')).toBeUndefined()
  })
})

describe('what cannot work is refused when it is defined', () => {
  const start = () => ({ prompt: '' })

  test.each(['', 'Upper', '1st', 'a b', 'x'.repeat(41), '../up'])('the name %j', (name) => {
    expect(() => defineEnvironment(name, { start })).toThrow(/cannot name an environment/)
  })

  test('a turn limit below 1, a tool whose name templates cannot write', () => {
    expect(() => defineEnvironment('a', { start, turnLimit: 0 })).toThrow(/turnLimit of a is 0/)
    expect(() =>
      defineEnvironment('a', {
        start,
        tools: (tool) => ({ 'a b': tool({ description: '', parameters: z.object({}), run: () => '' }) }),
      }),
    ).toThrow(/the tool "a b"/)
  })

  test.each([
    [{ turns: { better: 'higher' } }, /the metric "turns" needs a name .* none of success, reward, turns/],
    [{ Score: { better: 'higher' } }, /the metric "Score" needs a name/],
    [{ score: { better: 'more' as 'higher' } }, /the metric "score" needs better: 'higher' or 'lower'/],
    [{ score: { better: 'lower' } }, /the metric "score" needs a number as otherwise/],
    [{ score: { better: 'higher', unit: 'x'.repeat(25) } }, /the unit of the metric "score" is a text/],
  ] as const)('the metrics %j', (metrics, words) => {
    expect(() => defineEnvironment('a', { start, metrics })).toThrow(words)
  })

  test('metrics that it can have are those of the environment', () => {
    const metrics = { moves: { better: 'lower', unit: 'moves', otherwise: 9 } } as const
    expect(defineEnvironment('a', { start, metrics }).metrics).toEqual(metrics)
  })
})

test('arguments, state and the calls of an expert are typed', () => {
  defineEnvironment('typed', {
    start: ({ random }) => ({ prompt: '', left: random.int(1, 3) }),
    tools: (tool) => ({
      take: tool({
        description: '',
        parameters: z.object({ coins: z.int() }),
        run({ coins }, state) {
          state.left -= coins
          // @ts-expect-error the state holds no such thing
          return String(state.right)
        },
      }),
      drop: tool({
        description: '',
        parameters: z.object({ where: z.string() }),
        // @ts-expect-error the arguments hold no such thing
        run: ({ when }, { left }) => `${when} ${left}`,
      }),
    }),
    // @ts-expect-error `take` needs coins
    *expert() {
      yield { take: { where: 'here' } }
    },
  })
})
