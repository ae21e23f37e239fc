/**
 * The gradient of every combination that a configuration may name, beside a calculation that shares no code with the trainer; and every
 * algorithm in a run of five tasks.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { algorithmNames, algorithms } from '../../learning/algorithms/algorithms.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { combinations, type Ground, gradientError, preparedIn, updated } from '../gradient/combinations.ts'
import { customModule } from '../gradient/plain-update.ts'
import { expertSpeech } from '../support/expert-speech.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createSpeakingEngine, tinyConfig } from '../support/tiny-run.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-objectives-'))
const custom = join(folder, 'custom.mjs')
writeFileSync(custom, customModule)
const trainer = createTrainer({ threads: 1 })
let ground: Ground

const tasks = ['alfworld', 'db', 'kg', 'os', 'webshop'].map((task) => ({
  ...{ task, turnLimit: 12, settings: { difficulty: 'easy' } },
}))
const home = temporaryHome()
let experts: Awaited<ReturnType<typeof expertSpeech>>
let session: TrainingSession

beforeAll(async () => {
  ground = await preparedIn(folder)
  experts = await expertSpeech(tasks)
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(experts.speak)),
  })
})
afterAll(async () => {
  await session.close()
  await experts.close()
  removeHome(home)
  await trainer.close()
  rmSync(folder, { recursive: true, force: true })
})

test.each(combinations(custom))(
  'the gradient is within 1e-4 of the plain one: $name',
  async (combination) => {
    expect(await gradientError(combination, ground, trainer)).toBeLessThan(1e-4)
  },
)

// [ENTROPY-BONUS-1] [ASKED-VALUES-1]
test.each(['epo', 'turn_ppo'])(
  'an update of %s that is made again, by another trainer, has the same bytes',
  async (name) => {
    const made = combinations(custom).filter(({ config }) => config.learning.algorithm === name)
    const [combination] = made.slice(-1)
    if (combination === undefined) throw new RangeError(`there is no combination of ${name}`)
    const manifest = (dir: string) => readFile(join(dir, 'manifest.json'), 'utf8')
    const first = await updated(combination, ground, trainer, manifest)
    const other = createTrainer({ threads: 1 })
    expect(await updated(combination, ground, other, manifest)).toBe(first)
    await other.close()
  },
)

/** A version of the first run, which others start from or learn from. */
function checkpointOf(version: number): string {
  return homeAt(home)
    .run(runId(algorithmNames[0] ?? ''))
    .checkpointDir(version)
}

test.each(algorithmNames)(
  '%s learns from five tasks, turn by turn where it compares turns',
  async (algorithm) => {
    const run = runId(algorithm)
    const config = tinyConfig({
      rollout: { groupSize: 3, groupsPerUpdate: tasks.length, maxStaleness: 0, maxTokensPerTurn: 512 },
      learning: {
        ...{ algorithm, lossAggregation: algorithm === 'gspo' ? 'episode' : 'token' },
        ...(algorithm === 'epo' ? { entropyCoefficient: 0.001, entropyTarget: 50 } : {}),
        ...(algorithm === 'distillation' ? { teacher: checkpointOf(2) } : {}),
      },
      policy: {
        ...{ contextLength: 8192, vocabularySize: 768 },
        ...(algorithm === 'distillation' ? { from: checkpointOf(0) } : {}),
      },
      training: { updates: 2 },
      crossPolicy: { poolSize: 0 },
    })
    await session.start(run, {
      ...config,
      tasks: tasks.map((entry) => ({ ...config.tasks[0], ...entry })) as typeof config.tasks,
    })
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: 2, version: 2 })
    const lines = readFileSync(homeAt(home).run(run).metricsFile, 'utf8').trim().split('\n')
    const updates = lines.map((line) => JSON.parse(line)).filter(({ step }) => step !== undefined)
    // From the configured one by 0.0001 · (50 − H) / 50.
    const second = 0.001 + 0.0001 * (1 - updates[0].entropy / 50)
    expect(updates.flatMap(({ entropy_coefficient = [] }) => entropy_coefficient)).toEqual(
      algorithm === 'epo' ? [0.001, expect.closeTo(second, 12)] : [],
    )
    const { advantages, lossMask, offsets } = await readUpdateBatch(homeAt(home).run(run).batchFile(1))
    const distinct = [...offsets.keys()].slice(1).map((episode) => {
      const tokens = advantages.subarray(offsets[episode - 1], offsets[episode])
      const mask = lossMask.subarray(offsets[episode - 1], offsets[episode])
      return new Set(tokens.filter((_, place) => mask[place] === 1)).size
    })
    // Each task has a group of three, of which imitation takes the episodes that won.
    expect(distinct.length).toBeGreaterThanOrEqual(algorithm === 'imitation' ? 5 : 15)
    expect(Math.max(...distinct) > 1).toBe(algorithms[algorithm].comparesTurns === true)
  },
  120_000,
)
