/** A run that learns by a custom advantage and a custom loss, and what becomes of one whose loss is broken. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const { definition } = createEchoTask()
let session: TrainingSession

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    findEnvironment: () => definition,
  })
})

afterAll(async () => {
  await session.close()
  removeHome(home)
})

function written(name: string, text: string): string {
  const path = join(home, name)
  writeFileSync(path, text)
  return path
}

const advantage = written(
  'advantage.ts',
  `import type { CustomAdvantage } from 'perdure'
export const advantage: CustomAdvantage = { name: 'twos', advantagesOf: ({ episodes }) => episodes.map(({ reward }) => (reward === 1 ? 2 : -1)) }\n`,
)
const lossOf = (body: string) =>
  `import type { CustomLoss } from 'perdure'
export const loss: CustomLoss = { name: 'plain', lossOf({ advantage, logprob }) { ${body} } }\n`

test('a run learns by modules that its configuration names', async () => {
  const run = runId('own')
  const objective = written(
    'loss.ts',
    lossOf('return { loss: -advantage * logprob, derivative: -advantage }'),
  )
  await session.start(run, tinyConfig({ learning: { advantage, objective, taskNormalization: 'none' } }))
  expect(await session.result(run)).toMatchObject({ phase: 'done', step: 3, version: 3 })
  const directory = homeAt(home).run(run)
  const batch = await readUpdateBatch(directory.batchFile(1))
  expect(new Set(batch.advantages.filter((_, i) => batch.lossMask[i] === 1))).toEqual(new Set([2, -1]))
  const [first, last] = await Promise.all(
    [0, 3].map((version) => readCheckpoint(directory.checkpointDir(version))),
  )
  const name = 'model.embed_tokens.weight'
  expect(last?.weights.get(name)).not.toEqual(first?.weights.get(name))
}, 120_000)

test('a loss that throws ends the run by name, at the first try', async () => {
  const run = runId('broken')
  const objective = written('broken.ts', lossOf('throw new Error("no such table")'))
  await session.start(run, tinyConfig({ learning: { advantage, objective } }))
  await expect(session.result(run)).rejects.toThrow(/the loss "plain" of .*broken\.ts fails: no such table/)
}, 120_000)
