/** Groups of equal rewards in a run: where turns are compared, those whose turns differ make updates and are not skipped. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { defineEnvironment } from '../../envs/external/define.ts'
import { parseEpisodeId, runId } from '../../identity/identity.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, saying, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
/** Won by "yes", at any turn; nothing else changes its state. */
const definition = defineEnvironment('patience', {
  start: () => ({ prompt: 'Say yes.' }),
  state: () => 'asked',
  tools: (tool) => ({
    say: tool({
      description: 'Says a word.',
      parameters: z.object({ word: z.string() }),
      run: ({ word }) => (word === 'yes' ? { reply: 'right', reward: 1, done: true } : 'what?'),
    }),
  }),
})
let session: TrainingSession

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    // The first sample wins at once, the second at its second turn.
    createEngine: () =>
      Promise.resolve(
        createSpeakingEngine(({ cacheKey, borders }) =>
          saying(borders.length >= parseEpisodeId(cacheKey).sample ? 'yes' : 'no'),
        ),
      ),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => definition,
  })
})
afterAll(async () => {
  await session.close()
  removeHome(home)
})

// [REFILL-3]
test.each([
  ['grpo', 1, 2],
  ['grpo', 0, 0],
  ['gagpo', 0, 2],
] as const)(
  '%s with the weight %d of step groups makes %d versions of groups that are all won',
  async (algorithm, weight, versions) => {
    const run = runId(`${algorithm}${weight}`)
    const stepGroups = { weight, discount: 0.5 }
    const config = tinyConfig(
      {
        rollout: { groupSize: 2, groupsPerUpdate: 2, maxTokensPerTurn: 64, maxStaleness: 0, refill: 1 },
        learning: { algorithm, stepGroups },
        training: { updates: 2 },
      },
      'patience',
    )
    await session.start(run, config)
    const { step, version, episodes } = await session.result(run)
    // Where nothing is taught, as many groups are skipped for each update as it takes.
    expect({ step, version, episodes }).toEqual({
      step: 2,
      version: versions,
      episodes: versions > 0 ? 8 : 16,
    })
    if (versions === 0) return
    const { advantages, offsets } = await readUpdateBatch(homeAt(home).run(run).batchFile(1))
    expect(offsets).toHaveLength(5)
    expect(advantages.some((advantage) => advantage < 0)).toBe(true)
    expect(advantages.some((advantage) => advantage > 0)).toBe(true)
  },
  120_000,
)
