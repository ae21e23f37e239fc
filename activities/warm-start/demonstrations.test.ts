import { describe, expect, test } from 'vitest'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { openWatched } from '../../envs/contract/watched-task.ts'
import { runId } from '../../identity/identity.ts'
import { createEchoTask } from '../../test/support/echo-task.ts'
import { tinyConfig } from '../../test/support/tiny-run.ts'
import type { OpenRun } from '../stored/open-runs.ts'
import { collectDemonstrations, demonstrationBatch } from './demonstrations.ts'
import { createLeftOut } from './left-out.ts'

describe('an expert that fails', () => {
  const { definition } = createEchoTask()
  const say = (word: string) => ({
    ...{ role: 'assistant' as const, content: '' },
    tool_calls: [{ name: 'say', arguments: { word } }],
  })

  /** Demonstrations of a task whose expert fails on some instances. */
  async function collected(fails: (instance: string) => boolean) {
    const expert: EnvironmentDefinition = {
      ...definition,
      open: async (options) => ({
        ...(await definition.open(options)),
        async demonstrate(instance) {
          if (fails(instance)) throw new Error('no way out')
          return { instance, actions: ['yes', 'yes', 'yes'].map(say) }
        },
      }),
    }
    const task = await openWatched(expert, {})
    const opened = { task: async () => ({ definition: expert, task }) }
    const config = tinyConfig({ warmStart: { demonstrations: 5 } })
    const run = {
      run: runId('maze'),
      config,
      ...opened,
      demonstrationTask: opened.task,
    } as unknown as OpenRun
    const said: string[] = []
    const leftOut = createLeftOut('demonstrations', (line) => said.push(line))
    const { signal } = new AbortController()
    const episodes = await collectDemonstrations(run, 5, () => undefined, signal, leftOut)
    return { episodes, said, count: leftOut.count }
  }

  test('on some instances is imitated on the others, and each failure is reported with task, instance and reason', async () => {
    const { episodes, said, count } = await collected((instance) => /[13]$/.test(instance))
    expect(episodes).toHaveLength(5)
    expect(count).toBe(2)
    expect(said[0]).toMatch(
      /left out of demonstrations \(1 so far\): demonstrate of echo on train\/\d+ failed: no way out/,
    )
  })

  test('on all instances ends the collecting with the reason', async () => {
    await expect(collected(() => true)).rejects.toMatchObject({
      ...{ kind: 'none_playable', permanent: true },
      message: expect.stringMatching(
        /no instance can be played.*demonstrate of echo on train\/\d+ failed: no way out/,
      ),
    })
  })
})

// [DEMONSTRATIONS-1]
test('a demonstration counts in proportion to its reward where that is asked for, and not at all without one', () => {
  const encoded = { tokens: Int32Array.of(5, 6, 7), lossMask: Uint8Array.of(0, 1, 1) }
  const chat = { encodeDemonstration: () => encoded }
  const episodes = [2, 1, 0].map((reward) => ({ tools: [], steps: [], reward }))
  const batchBy = (weighting: 'none' | 'reward') =>
    demonstrationBatch(episodes, chat, tinyConfig({ warmStart: { weighting } }))
  // Two actions of reward 2 and two of reward 1: 2/6 and 1/6 each.
  const { weights = [], offsets } = batchBy('reward')
  expect(Array.from(weights, (weight) => Math.round(weight * 6))).toEqual([0, 2, 2, 0, 1, 1])
  expect(weights[1]).toBeCloseTo(1 / 3, 6)
  expect(offsets).toEqual(Int32Array.of(0, 3, 6))
  expect(batchBy('none')).not.toHaveProperty('weights')
  expect(batchBy('none').offsets).toHaveLength(4)
})
