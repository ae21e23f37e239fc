import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sharedData } from '../../test/support/shared-data.ts'
import { type GameSource, openGame } from '../../worlds/text-adventure/game.ts'
import type { Library } from '../contract/library.ts'
import { openDataset } from './dataset.ts'

const dir = sharedData('alfworld')

const transcript = z.object({
  id: z.string(),
  steps: z.array(
    z.object({ cmd: z.string().optional(), obs: z.string(), adm: z.array(z.string()), won: z.boolean() }),
  ),
})

/** Games of a split that their walkthrough does not win. */
function lost(dataset: Library<GameSource>, split: string): string[] {
  const size = dataset.splits.find(({ name }) => name === split)?.size ?? 0
  expect(size).toBeGreaterThan(0)
  const ids = Array.from({ length: size }, (_, index) => dataset.instanceAt(split, index))
  return ids.filter((id) => {
    const source = dataset.open(id)
    const game = openGame(source)
    let { won } = game.start()
    for (const command of source.walkthrough ?? []) won = game.play(command).won
    return !won
  })
}

// Official games are not part of the project; where their folder is missing there is nothing to compare with.
describe.skipIf(!existsSync(dir))('official games', () => {
  let dataset: Library<GameSource>
  beforeAll(async () => {
    dataset = await openDataset(dir)
  })

  test('recorded games of the official engine are the same at every step', () => {
    const lines = readFileSync(path.join(dir, 'sample_golden_valid_seen_walk_12.jsonl'), 'utf8')
      .trim()
      .split('\n')
    for (const line of lines) {
      const { id, steps } = transcript.parse(JSON.parse(line))
      const game = openGame(dataset.open(id))
      for (const { cmd, obs, adm, won } of steps) {
        const state = cmd === undefined ? game.start() : game.play(cmd)
        expect(state, `${id}, ${cmd}`).toEqual({ observation: obs, admissible: adm, won })
      }
    }
  })

  test.each(['valid_seen', 'valid_train', 'train'])('all walkthroughs of %s win', (split) => {
    expect(lost(dataset, split)).toEqual([])
  })
})
