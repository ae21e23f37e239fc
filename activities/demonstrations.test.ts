import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openRun } from '../bench/learning/opened-run.ts'
import { configSchema } from '../config/schema.ts'
import type { EnvironmentDefinition } from '../envs/environment.ts'
import { openWatched } from '../envs/watched-task.ts'
import { runId } from '../identity/identity.ts'
import { createEchoTask } from '../test/echo-task.ts'
import { tinyConfig } from '../test/tiny-run.ts'
import { collectDemonstrations, type DemonstratedEpisode } from './demonstrations.ts'
import { createLeftOut } from './left-out.ts'
import type { OpenRun } from './open-runs.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-demonstrations-'))
  return () => rm(folder, { recursive: true })
})

async function demonstrated(task: string, slips: number): Promise<readonly DemonstratedEpisode[]> {
  const config = configSchema.parse({
    tasks: [{ task, settings: { difficulty: 'easy' } }],
    warmStart: { demonstrations: 24, slips },
    evaluation: { suites: [] },
  })
  await using run = await openRun(await mkdtemp(join(folder, 'home-')), config)
  return await collectDemonstrations(run.opened, 24, () => undefined, new AbortController().signal)
}

function own({ steps }: DemonstratedEpisode) {
  return steps.flatMap(({ action, mistake }) => (mistake === true ? [] : [action]))
}

describe.each(['alfworld', 'db', 'kg', 'os', 'webshop'])('slips in demonstrations of %s', (task) => {
  test('[DEMONSTRATIONS-1] are played beside what the expert does without them, and are not imitated', async () => {
    const [straight, slipped] = [await demonstrated(task, 0), await demonstrated(task, 0.3)]
    expect(slipped.map(own)).toEqual(straight.map(own))
    const slips = slipped.flatMap(({ steps }) => steps.filter(({ mistake }) => mistake === true))
    expect(slips.length).toBeGreaterThan(5)
    for (const { steps } of slipped) expect(steps.at(-1)?.mistake).toBe(false)
  })

  test('are the same each time', async () => {
    const texts = async () => (await demonstrated(task, 0.3)).map(({ steps }) => JSON.stringify(steps))
    expect(await texts()).toEqual(await texts())
  })
})

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
