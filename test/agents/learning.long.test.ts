/** An agent's own program plays the episodes of a run that really trains: sampled by the embedded engine, learnt by the embedded trainer. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { evenAnswer, twoTurns, writeProgram } from '../support/agent-programs.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const run = runId('agent')
let session: TrainingSession
let store: Store

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    findEnvironment: () => evenAnswer,
  })
  const command = writeProgram(home, 'two-turns', twoTurns)
  const config = tinyConfig({
    rollout: { groupSize: 4, maxTokensPerTurn: 12, refill: 2 },
    training: { updates: 2 },
  })
  const tasks = [{ task: 'even-answer', agent: { command, reward: 'file' } }]
  await session.start(run, configSchema.parse({ ...config, tasks }))
  await session.result(run)
  store = await openStore(homeAt(home).storeFile)
}, 300_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  removeHome(home)
})

// [EPISODE-6]
it('the updates learn from the turns that the program asked for', async () => {
  const lines = readMetrics(homeAt(home).run(run).metricsFile).filter(isUpdateMetrics)
  expect(lines.map(({ step }) => step)).toEqual([1, 2])
  for (const { action_tokens, grad_norm, turns_per_episode } of lines) {
    expect(action_tokens).toBeGreaterThan(0)
    expect(grad_norm).toBeGreaterThan(0)
    expect(turns_per_episode).toBe(2)
  }
  const weights = async (version: number) =>
    (await readCheckpoint(join(homeAt(home).run(run).checkpointsDir, `${version}`))).weights
  expect(await weights(2)).not.toEqual(await weights(0))
})

it('every episode has its reward, its turns and the bytes of their answers', async () => {
  const episodes = await store.episodes.page(run, '', 1000)
  expect(episodes.length).toBeGreaterThanOrEqual(16)
  for (const { id, seal } of episodes) {
    expect(seal).toMatchObject({ outcome: 'completed', turns: 2 })
    const { turns, messages } = await store.episodes.trajectory(id)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(turns[1]?.paid).toBe(seal.reward)
    for (const { asked } of await store.actions.list(id))
      expect(JSON.parse(asked?.answer ?? '')).toMatchObject({ object: 'chat.completion' })
  }
})

it('every execution replays', async () => {
  expect(await replay(await fetchHistories(home))).toEqual([])
})
