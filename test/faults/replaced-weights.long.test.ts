/** A run whose whole policy is trained and sampled by a server in vLLM's form, in which each version takes the place of the one before. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkEngine } from '../../client/checks/start-check.ts'
import { openSession } from '../../client/session/training-session.ts'
import { runId, yieldsToTraining } from '../../identity/identity.ts'
import { publishCheckpoint, readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { closeDialects, dialects } from '../../policy/dialects/dialect-servers.testing.ts'
import { type InPlaceServer, startInPlaceServer } from '../../policy/served/in-place-servers.testing.ts'
import { spanDifferences } from '../../policy/served/span-agreement.testing.ts'
import type { Trainer } from '../../policy/trainer/trainer.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, openTinySession, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const [base, run] = [runId('base'), runId('replaced')]
const updates = 2
const { definition } = createEchoTask()
const dirOf = (version: number, of = run): string => homeAt(home).run(of).checkpointDir(version)
const suites = [{ name: 'words', task: 'echo', episodes: 2 }]
/** A policy that never wins has rewards that teach nothing: here one sample of a group is preferred to the other. */
const algorithm = join(home, 'first.ts')
writeFileSync(
  algorithm,
  `import { algorithms } from 'perdure'
export const algorithm = {
  ...algorithms.grpo,
  name: 'first',
  advantagesOf: (groups) => groups.map(({ episodes }) => episodes.map((_, sample) => (sample === 0 ? 1 : -1))),
}
`,
)
const parts = {
  learning: { algorithm, taskNormalization: 'none' },
  rollout: { maxTokensPerTurn: 4, invalidActionLimit: 1 },
  training: { updates, keepCheckpoints: 20 },
  evaluation: { every: 1, suites, blocking: true },
  crossPolicy: { staleShare: 0 },
}

/** Each update makes another policy of the one before. */
function createMovingTrainer(): Trainer {
  const copying = createCopyingTrainer()
  return {
    ...copying,
    async update(request, ...others) {
      const { fromCheckpointDir, toCheckpointDir, version } = request
      const { weights, state, ...content } = await readCheckpoint(fromCheckpointDir)
      const moved = new Map([...weights].map(([name, data]) => [name, data.map((each) => 1.5 * each)]))
      const next = { ...state, version, step: state.step + 1 }
      await publishCheckpoint(toCheckpointDir, { ...content, weights: moved, state: next })
      return await copying.update(request, ...others)
    },
  }
}

let server: InPlaceServer
beforeAll(async () => {
  await using session = await openTinySession(home, definition)
  await session.start(base, tinyConfig({ training: { updates: 0 } }))
  await session.result(base)
}, 120_000)
afterAll(async () => {
  await closeDialects()
  removeHome(home)
})

it('is done, with every version in place in its turn, every evaluation of its own, and logprobs of the weights that sampled', async () => {
  const [vllm] = dialects
  if (vllm === undefined) throw new RangeError('no dialect of vLLM')
  server = await startInPlaceServer(vllm, { base: dirOf(0, base) })
  const policy = { engine: 'vllm', engineUrl: server.url, from: dirOf(0, base) }
  const config = tinyConfig({ ...parts, policy })
  await checkEngine(config)
  await using session = await openSession({
    ...{ home, roles: 'all', log: () => undefined, createTrainer: createMovingTrainer },
    findEnvironment: () => definition,
  })
  await session.start(run, config)
  expect(await session.result(run)).toMatchObject({ phase: 'done', step: updates })
  expect(server.loaded).toEqual([0, 1, 2].map((version) => dirOf(version)))

  await using store = await openStore(homeAt(home).storeFile, { create: false })
  const evaluations = await store.evaluations.list(run)
  expect(evaluations.map(({ version, result }) => [version, result?.n])).toEqual([
    [0, 2],
    [1, 2],
    [2, 2],
  ])
  const sealed = await store.episodes.page(run, '', 1000)
  for (const { id } of sealed) {
    const trajectory = await store.episodes.trajectory(id)
    const versions = new Set(trajectory.versions.filter((_, at) => trajectory.lossMask[at] === 1))
    if (yieldsToTraining(id)) expect(versions.size).toBe(1)
    const [first] = await store.actions.list(id)
    if (first === undefined) throw new RangeError(`${id} has no turn`)
    const temperature = yieldsToTraining(id) ? 1 : config.rollout.temperature
    const found = await spanDifferences({ context: first.prompt, temperature }, first, dirOf)
    expect(Math.max(...found)).toBeLessThan(1e-4)
  }
  expect(sealed.length).toBeGreaterThanOrEqual(updates * 4 + 6)
}, 240_000)

it('is refused before it starts where it would evaluate beside updates', async () => {
  const policy = { engine: 'vllm', engineUrl: 'http://127.0.0.1:1', from: join(home, 'nowhere') }
  const beside = tinyConfig({ ...parts, policy, evaluation: { every: 1, suites } })
  await expect(checkEngine(beside)).rejects.toThrow(/evaluation\.blocking.*vllm/)
})
