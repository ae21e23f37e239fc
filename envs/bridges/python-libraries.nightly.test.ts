/** The examples for libraries of Python, with the libraries: where `python3` has them. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../../machine/files/folder.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { foreignEnvironment } from './foreign-environment.ts'

const said = (content: string): AssistantMessage => ({ role: 'assistant', content })
const hanoi = ['[A C]', '[A B]', '[C B]', '[A C]', '[B A]', '[B C]', '[A C]'].map(said)
/** Over the ice of train/3. */
const path = ['right', 'right', 'right', 'down', 'down', 'down'].map(
  (direction): AssistantMessage => ({
    ...said(''),
    tool_calls: [{ name: 'move', arguments: { direction } }],
  }),
)
const story = { name: 'print_story', arguments: { story: 'a b c d e' } }
interface Example {
  readonly module: string
  /** Actions that win; undefined: the expert's. */
  readonly wins?: readonly AssistantMessage[]
  /** Below the folder of the package; that of the examples of the bridge by default. */
  readonly folder?: string
}

const examples: Readonly<Record<string, Example>> = {
  'frozen_lake.py': { module: 'gymnasium', wins: path },
  'reasoning.py': { module: 'reasoning_gym' },
  'hanoi.py': { module: 'textarena', wins: hanoi },
  'game.py': { module: 'textarena', folder: 'examples/textarena' },
  'aviary_env.py': { module: 'aviary', wins: [{ ...said(''), tool_calls: [story] }] },
}

describe.each(Object.entries(examples))(
  '%s',
  (file, { module, wins, folder = 'bridges/python/examples' }) => {
    const isThere = spawnSync('python3', ['-c', `import ${module}`]).status === 0

    test.skipIf(!isThere)('begins each instance alike, and pays the right actions', async () => {
      await using closing = new AsyncDisposableStack()
      const task = closing.adopt(
        await foreignEnvironment({
          ...{ name: 'example', summary: 'An example.', source: module, licence: 'see there' },
          ...{ reward: 'that of the library', turnLimit: 20 },
          ...{ replayable: true, replayableBecause: 'all that is random follows from the seed' },
          ...{ command: 'python3', args: [file], cwd: join(packageRoot, folder) },
        }).open({}),
        (opened) => opened.close(),
      )
      const session = closing.adopt(await task.create(), (each) => each.close())
      const first = await session.reset('train/3')
      expect(await session.reset('train/3')).toEqual(first)
      const actions = wins ?? (await task.demonstrate?.('train/3'))?.actions ?? []
      await session.reset('train/3')
      let reward = 0
      for (const action of actions) reward += (await session.step(action)).reward
      expect(reward).toBe(1)
    })
  },
)
