/** Environments whose code fails outside of its calls. Each plays in a process of its own, which may not end. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import type { EnvironmentDefinition, StepResult } from '../contract/environment.ts'
import { contained } from './contained.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-contained-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/**
 * Plays an environment whose tool has that body.
 * @param play with `session`, `step` and `settled`, which waits until timers have fired; prints what it finds
 */
async function played(name: string, body: string, play: string) {
  const module = join(folder, `${name}.ts`)
  writeFileSync(
    module,
    `import { defineEnvironment, z } from 'perdure'
export const wild = defineEnvironment('wild', {
  start: () => ({ prompt: 'Act.' }),
  tools: (tool) => ({ act: tool({ description: 'Acts.', parameters: z.object({}), run: async () => { ${body}; return 'done' } }) }),
})`,
  )
  const script = join(folder, `${name}-play.ts`)
  writeFileSync(
    script,
    `import { loadEnvironment } from ${JSON.stringify(join(import.meta.dirname, 'loading.ts'))}
const task = await (await loadEnvironment(${JSON.stringify(module)}, 'wild')).open({})
const session = await task.create()
await session.reset('train/0')
const action = { role: 'assistant', content: '', tool_calls: [{ name: 'act', arguments: {} }] }
const step = () => session.step(action as never).then(({ messages }) => messages[0]?.content, ({ kind, message }) => kind + ': ' + message)
const settled = () => new Promise((resolve) => setTimeout(resolve, 50))
${play}
const other = await task.create()
await other.reset('train/1')
console.log('goes on')`,
  )
  return await promisify(execFile)(process.execPath, [script]).catch(
    (failed: { stdout: string; stderr: string }) => failed,
  )
}

const lost = 'session_lost: the environment "wild" failed where no call waits for it: stray'

// [CONTAINED-1] [MODULE-CODE-2]
test.each([
  ['a rejection', `Promise.reject(new Error('stray'))`],
  ['a rejection in a timer', `setTimeout(() => void Promise.reject(new Error('stray')))`],
  ['an exception in a timer', `setTimeout(() => { throw new Error('stray') })`],
  ['an exception in a callback', `queueMicrotask(() => { throw new Error('stray') })`],
])(
  '%s that no one handles fails the next call of its session, and nothing else',
  async (name, body) => {
    const play = 'await step(); await settled(); console.log(await step())'
    const { stdout } = await played(name.replaceAll(' ', '-'), body, play)
    expect(stdout).toBe(`${lost}\ngoes on\n`)
  },
  30_000,
)

// [CONTAINED-1]
test('it fails the call in progress, which would never answer', async () => {
  const body = `setTimeout(() => { throw new Error('stray') }); await new Promise(() => undefined)`
  expect((await played('hanging', body, 'console.log(await step())')).stdout).toBe(`${lost}\ngoes on\n`)
}, 30_000)

// [CONTAINED-1] [CONTAINED-2]
test('it is reported where its session is closed already', async () => {
  const body = `setTimeout(() => { throw new Error('stray') }, 20)`
  const { stdout, stderr } = await played(
    'late',
    body,
    'await step(); await session.close(); await settled()',
  )
  expect({ stdout, stderr }).toEqual({
    stdout: 'goes on\n',
    stderr: 'the environment "wild" failed where no call waits for it: stray\n',
  })
}, 30_000)

// [MODULE-CODE-1]
test.each([
  ['process.exit', 'process.exit(3)'],
  ['process.abort', 'process.abort()'],
])(
  'a call of %s is a failure of the step',
  async (name, call) => {
    const { stdout } = await played(name, call, 'console.log((await step())?.replace(/^.*: the/, "the"))')
    expect(stdout).toBe(`the environment "wild" called ${call}, and only a person ends a run\ngoes on\n`)
  },
  30_000,
)

// [MODULE-CODE-1]
test('so is one in a timer', async () => {
  const play = 'await step(); await settled(); console.log(await step())'
  const { stdout } = await played('timer-exit', 'setTimeout(() => process.exit(0))', play)
  expect(stdout).toContain('the environment "wild" called process.exit(0)')
  expect(stdout).toContain('goes on')
}, 30_000)

// [CONTAINED-3] [REWARD-BOUNDS-1]
test.each([
  [{ reward: Number.NaN }],
  [{ reward: 1e308 }],
  [{ reward: -1_000_001 }],
  [{ reward: '1' }],
  [{}],
  [null],
  [undefined],
])('a step that is answered with %j is refused by name', async (answer) => {
  const session = {
    tools: [],
    reset: async () => ({ messages: [], info: {} }),
    step: async () => answer as unknown as StepResult,
    close: async () => undefined,
  }
  const task = {
    splits: [],
    instanceAt: () => 'train/0',
    create: async () => session,
    close: async () => undefined,
  }
  const definition = { name: 'raw', open: async () => task } as unknown as EnvironmentDefinition
  const played = await (await contained(definition).open({})).create()
  await expect(played.step({ role: 'assistant', content: '' })).rejects.toMatchObject({
    kind: 'bad_data',
    permanent: true,
    message: expect.stringMatching(/^the environment "raw" (paid the reward|answered a step with) /),
  })
})
