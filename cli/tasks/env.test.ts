import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { EnvironmentFault } from '../../envs/contract/environment.ts'
import { environments, findEnvironment } from '../../envs/registry.ts'
import type { ToolSpec } from '../../messages/message.ts'
import { createJudgedTask } from '../../test/support/judged-task.ts'
import { envCommand, play, replay } from './env.ts'
import { readAction, toolUsage } from './typed-action.ts'

// Whole games are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 60_000 })

function tool(name: string, argument: string): ToolSpec {
  const parameters = { type: 'object', properties: { [argument]: { type: 'string' } }, required: [argument] }
  return { type: 'function', function: { name, description: name, parameters } }
}

test('replay answers line by line, in order, with JSON Lines alone', async () => {
  const task = await findEnvironment('alfworld').open({})
  const lines = Array.from({ length: 40 }, (_, index) =>
    index % 7 === 3 ? '{broken' : JSON.stringify({ instance: `test/${index}`, actions: [{ content: 'hm' }] }),
  )
  const output = new PassThrough({ highWaterMark: 64 })
  const [written] = await Promise.all([
    text(output),
    replay(task, undefined, Readable.from([`${lines.join('\n')}\n`]), output).then(() => output.end()),
  ])
  const answers = written
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(answers).toHaveLength(40)
  for (const [index, answer] of answers.entries())
    expect(answer.instance).toBe(index % 7 === 3 ? null : `test/${index}`)
})

test.each([
  ['not_installed', undefined],
  ['backend', 1],
] as const)(
  'a task that cannot be opened (%s) is listed with the reason beside all others',
  async (kind, code) => {
    vi.spyOn(findEnvironment('os'), 'open').mockRejectedValueOnce(
      new EnvironmentFault(kind, 'npm install --ignore-scripts just-bash@3.4.2'),
    )
    const written: string[] = []
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
    await envCommand().parseAsync(['list', '--json'], { from: 'user' })
    expect(process.exitCode).toBe(code)
    process.exitCode = undefined
    const rows: { name: string; splits: unknown[]; problem?: string }[] = JSON.parse(written.join(''))
    expect(rows.map(({ name }) => name)).toEqual(environments.map(({ name }) => name))
    for (const { name, splits, problem } of rows)
      if (name === 'os') expect(problem).toContain('npm install --ignore-scripts just-bash@3.4.2')
      else expect({ problem, isOpen: splits.length > 0 }).toEqual({ problem: undefined, isOpen: true })
    vi.restoreAllMocks()
  },
)

test('a split or an instance that does not exist is a wrong call that names the flag', async () => {
  const task = await findEnvironment('alfworld').open({})
  const env = envCommand().exitOverride()
  await expect(replay(task, 'moon', Readable.from([]), new PassThrough())).rejects.toThrow(/--split.*train/)
  await expect(
    env.parseAsync(['play', 'alfworld', '--instance', 'test/x'], { from: 'user' }),
  ).rejects.toMatchObject({ name: 'CallFault', message: expect.stringContaining('--instance') })
})

test('a person plays a game to its end, and may ask what can be done', async () => {
  const task = await findEnvironment('alfworld').open({})
  const commands = (await task.demonstrate?.('test/2'))?.actions.map(
    (action) => action.tool_calls?.[0]?.arguments.action,
  )
  const output = new PassThrough()
  const input = Readable.from([['?', ...(commands ?? [])].map((line) => `${line}\n`).join('')])
  const [written] = await Promise.all([
    text(output),
    play(task, { instance: 'test/2', seed: 0 }, input, output).then(() => output.end()),
  ])
  expect(written).toContain('take_action: ')
  expect(written).toContain('  go to ')
  expect(written).toMatch(/completed: reward 1 in \d+ turns\n$/)
})

test('the usage shown before the first action names every tool, and an action typed that way is understood', async () => {
  for (const name of ['db', 'os', 'kg', 'webshop', 'alfworld']) {
    const environment = await (await findEnvironment(name).open({})).create()
    const usages = [...toolUsage(environment.tools).matchAll(/^ {2}(\w+)(?: <(\w+)>)?$/gm)]
    if (name === 'db') expect(toolUsage(environment.tools)).toContain('commit_final_answer {"answers": […]}')
    expect(usages.length > 0 || environment.tools.length === 1).toBe(true)
    for (const [, tool = '', argument] of usages)
      expect(readAction(`${tool} some text`, environment.tools).tool_calls).toEqual([
        { name: tool, arguments: argument === undefined ? {} : { [argument]: 'some text' } },
      ])
    await environment.close()
  }
})

test('a person who stops typing leaves the game', async () => {
  const task = await findEnvironment('alfworld').open({})
  const output = new PassThrough()
  await play(task, { seed: 1 }, Readable.from(['look\n']), output)
  output.end()
  expect(await text(output)).toMatch(/left\n$/)
})

test('typed text is the main argument of the only tool', () => {
  expect(readAction('go to bed 1', [tool('take_action', 'action')]).tool_calls).toEqual([
    { name: 'take_action', arguments: { action: 'go to bed 1' } },
  ])
  expect(readAction('{oops', [tool('take_action', 'action')]).tool_calls?.[0]?.arguments).toEqual({
    action: '{oops',
  })
})

test('among several tools the first word names one, with a text or an object; all else is said', () => {
  const tools = [tool('search', 'query'), tool('click', 'item')]
  expect(readAction('click Buy now', tools).tool_calls).toEqual([
    { name: 'click', arguments: { item: 'Buy now' } },
  ])
  expect(readAction('search {"query":"tea","page":2}', tools).tool_calls).toEqual([
    { name: 'search', arguments: { query: 'tea', page: 2 } },
  ])
  expect(readAction('I am done', tools)).toEqual({ role: 'assistant', content: 'I am done' })
  const long = [tool('search_action', 'keywords'), tool('click_action', 'value')]
  expect(readAction('click Buy now', long).tool_calls).toEqual([
    { name: 'click_action', arguments: { value: 'Buy now' } },
  ])
})

test('a command that begins like the only tool is a command', () => {
  expect(readAction('take mug 1', [tool('take_action', 'action')]).tool_calls).toEqual([
    { name: 'take_action', arguments: { action: 'take mug 1' } },
  ])
})

test('every sub-command has help with an example', () => {
  const env = envCommand()
  expect(env.commands.map((command) => command.name())).toEqual([
    'list',
    'new',
    'test',
    'play',
    'replay',
    'check',
    'serve',
  ])
  for (const command of env.commands) {
    let help = ''
    command.configureOutput({ writeOut: (part) => (help += part) }).outputHelp()
    expect(help).toContain('$ ')
    expect(help).toContain('perdure env')
  }
})

test('a person who plays answers in place of the models that the environment asks, until an answer can be read', async () => {
  const task = await createJudgedTask().open({})
  const input = Readable.from(['a beginning\n', 'say yes\n', 'good\n', '0.5\n', 'a reply\n', 'quit\n'])
  const output = new PassThrough()
  const [shown] = await Promise.all([
    text(output),
    play(task, { instance: 'train/1', seed: 0 }, input, output).then(() => output.end()),
  ])
  expect(shown).toMatch(/user, answer in place of the model:\nbegin train\/1\n[\s\S]*a beginning/)
  expect(shown).toMatch(/judge, answer in place of the model:\nmark word 1 of train\/1 is yes/)
  expect(shown).toMatch(/"good\\?" cannot be read/)
  expect(shown).toMatch(/left\n$/)
})
