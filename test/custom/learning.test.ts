/** A run that learns by a custom algorithm, and what becomes of one whose loss is broken. */
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

/** The path of a module whose algorithm has such a loss of a token. */
function algorithm(name: string, lossOf: string): string {
  return written(
    `${name}.ts`,
    `import type { Algorithm } from 'perdure'
const lossOf = ({ advantage, logprob }) => { ${lossOf} }
export const own: Algorithm = {
  name: '${name}',
  advantagesOf: (groups) => groups.map(({ episodes }) => episodes.map(({ reward }) => (reward === 1 ? 2 : -1))),
  loss: { lossesOf: (tokens) => tokens.map(lossOf) },
}\n`,
  )
}

test('a run learns by an algorithm that its configuration names', async () => {
  const run = runId('own')
  const plain = algorithm('plain', 'return { loss: -advantage * logprob, derivative: -advantage }')
  await session.start(run, tinyConfig({ learning: { algorithm: plain, taskNormalization: 'none' } }))
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
  const broken = algorithm('broken', 'throw new Error("no such table")')
  await session.start(run, tinyConfig({ learning: { algorithm: broken } }))
  await expect(session.result(run)).rejects.toThrow(
    /the algorithm "broken" of .*broken\.ts fails: no such table/,
  )
}, 120_000)
