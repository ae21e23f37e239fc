import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findEnvironment } from '../registry.ts'
import type { Task } from './environment.ts'
import { linesOf, type ReplayedLine, replayLines, resolverFor } from './replay.ts'

// Whole games are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 60_000 })

let task: Task
beforeAll(async () => {
  task = await findEnvironment('alfworld').open({})
})
afterAll(() => task.close())

async function replayed(lines: readonly string[], split?: string): Promise<ReplayedLine[]> {
  async function* input(): AsyncGenerator<string> {
    yield* lines
  }
  const answers: ReplayedLine[] = []
  for await (const answer of replayLines(task, input(), resolverFor(task, split))) answers.push(answer)
  return answers
}

function act(action: unknown) {
  return { tool_calls: [{ name: 'take_action', arguments: { action } }] }
}

test('the first step is the reset, and every action is answered', async () => {
  const [answer] = await replayed([
    JSON.stringify({ instance: 'test/4', actions: [act('look'), act('dance')] }),
  ])
  expect(answer).toMatchObject({ instance: 'test/4', outcome: null, reward: 0 })
  if (answer === undefined || 'error' in answer) throw new Error('not replayed')
  expect(answer.steps).toHaveLength(3)
  expect(answer.steps[0]).toMatchObject({ reward: 0, done: false, info: { won: false } })
  expect(answer.steps[2]?.info.observation).toBe('Nothing happens.')
})

test('an episode ends at its end: what follows is not played', async () => {
  const demonstration = await task.demonstrate?.('test/4')
  const actions = [...(demonstration?.actions ?? []), act('look'), act('look')]
  const [answer] = await replayed([JSON.stringify({ instance: 'test/4', actions })])
  expect(answer).toMatchObject({ outcome: 'completed', reward: 1 })
  if (answer === undefined || 'error' in answer) throw new Error('not replayed')
  expect(answer.steps).toHaveLength(actions.length - 2 + 1)
  expect(answer.steps.at(-1)).toMatchObject({
    done: true,
    outcome: 'completed',
    reward: 1,
    info: { won: true },
  })
})

test('a line that cannot be replayed is answered by its error, and the rest continues', async () => {
  const good = JSON.stringify({ instance: 'test/0', actions: [] })
  const answers = await replayed([
    good,
    '{"instance": "test/0", "actions": [',
    '',
    'null',
    '{"actions": []}',
    '{"instance": "test/0"}',
    '{"instance": "test/0", "actions": [null]}',
    '{"instance": "test/99999", "actions": []}',
    good,
  ])
  expect(answers.map((answer) => [answer.instance, 'error' in answer])).toEqual([
    ['test/0', false],
    [null, true],
    [null, true],
    [null, true],
    [null, true],
    ['test/0', true],
    ['test/0', true],
    ['test/99999', true],
    ['test/0', false],
  ])
  expect(answers.at(-1)).toEqual(answers[0])
})

test('calls that no tool takes are played and answered in words', async () => {
  const calls = [null, {}, { name: 'fly', arguments: null }, { name: 'take_action', arguments: 'look' }]
  const actions = [{ tool_calls: calls }, { content: 7, tool_calls: 'x' }, act(5)]
  const [answer] = await replayed([JSON.stringify({ instance: 'test/0', actions })])
  if (answer === undefined || 'error' in answer) throw new Error('not replayed')
  expect(answer.steps.map(({ messages }) => messages.length)).toEqual([2, 4, 1, 1])
})

test('with a split, ids may be named without it and not by another', async () => {
  const line = (instance: string) => JSON.stringify({ instance, actions: [] })
  const [short, long, other] = await replayed([line('3'), line('test/3'), line('train/3')], 'test')
  expect(short).toMatchObject({ instance: '3' })
  expect(long).toMatchObject({ instance: 'test/3' })
  expect(other).toMatchObject({ instance: 'train/3', error: expect.stringContaining('test') })
  if (short === undefined || long === undefined || 'error' in short || 'error' in long)
    throw new Error('not replayed')
  expect(short.steps).toEqual(long.steps)
  expect(() => resolverFor(task, 'moon')).toThrow(/train, validation, test/)
})

test('only line feeds end a line, wherever the chunks are cut', async () => {
  const text = '{"a":"\u2028é🫖"}\r\n\nlast'
  const bytes = new TextEncoder().encode(text)
  for (let size = 1; size < 8; size++) {
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    const lines: string[] = []
    for await (const line of linesOf(chunks())) lines.push(line)
    expect(lines).toEqual(['{"a":"\u2028é🫖"}\r', '', 'last'])
  }
})

test('a line is answered before the next one is read', async () => {
  const order: string[] = []
  async function* input(): AsyncGenerator<string> {
    for (const instance of ['test/0', 'test/1']) {
      order.push(`read ${instance}`)
      yield JSON.stringify({ instance, actions: [] })
    }
  }
  for await (const answer of replayLines(task, input())) order.push(`answered ${answer.instance}`)
  expect(order).toEqual(['read test/0', 'answered test/0', 'read test/1', 'answered test/1'])
})
