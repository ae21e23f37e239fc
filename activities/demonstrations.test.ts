import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openRun } from '../bench/learning/opened-run.ts'
import { configSchema } from '../config/schema.ts'
import { collectDemonstrations, type DemonstratedEpisode } from './demonstrations.ts'

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
