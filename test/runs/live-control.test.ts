/** Live control of a run on the real server: each order, its effect, and its entry in the audit trail. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import type { TrainingState } from '../../contract/training-state.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { createHeldEngine, isOf, RunGates, untilProgress } from '../support/held-runs.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const { definition } = createEchoTask()
/** Gates at which a run's updates and turns wait, by the name of the run. */
const updateGates = new RunGates()
const turnGates = new RunGates()
const updates: { readonly from: string; readonly to: string; readonly learningRate: number }[] = []
let session: TrainingSession
let store: Store

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    by: 'ada',
    createEngine: () => Promise.resolve(createHeldEngine(turnGates)),
    createTrainer: () =>
      createCopyingTrainer(async ({ fromCheckpointDir: from, toCheckpointDir: to, optimizer }) => {
        updates.push({ from, to, learningRate: optimizer.learningRate })
        await updateGates.pass(to)
      }),
    findEnvironment: () => definition,
  })
  store = await openStore(homeAt(home).storeFile)
}, 600_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  removeHome(home)
})

function updatesOf(run: string) {
  return updates.filter(({ to }) => isOf(run, to))
}

async function stateOf(run: string): Promise<TrainingState> {
  return (await store.runs.state(runId(run))) as TrainingState
}

describe('settings', () => {
  it('change together or not at all, each from its own version on, and are in the audit trail', async () => {
    const gate = updateGates.hold('set')
    const before = Date.now()
    await session.start('set', tinyConfig({ training: { updates: 2 }, learning: { learningRate: 0.001 } }))
    await eventually('the first update', () => (updatesOf('set').length === 1 ? true : undefined))
    await expect(
      session.change('set', { 'learning.learningRate': 0.01, 'rollout.maxStaleness': 0.5 }),
    ).rejects.toMatchObject({ kind: 'refused', message: expect.stringContaining('rollout.maxStaleness') })
    // In the words in which a configuration refuses it, as `perdure set` shows them.
    await expect(session.change('set', { 'learning.clipLow': 0 })).rejects.toMatchObject({
      kind: 'refused',
      message: '`learning.clipLow` is 0: expected number above 0, at most 1',
    })
    await session.change('set', { 'learning.learningRate': 0.01, 'rollout.groupsInFlight': 2 })
    gate.open()
    await session.result('set')
    expect(updatesOf('set').map(({ learningRate }) => learningRate)).toEqual([0.001, 0.01])
    const trail = await session.audit('set')
    // The update of version 0 was in progress: the learning rate holds for the one that starts from version 1.
    expect(trail).toMatchObject([
      {
        number: 0,
        by: 'ada',
        what: 'learning.learningRate',
        from: 0.001,
        to: 0.01,
        version: 0,
        effectVersion: 1,
      },
      {
        number: 1,
        by: 'ada',
        what: 'rollout.groupsInFlight',
        from: null,
        to: 2,
        version: 0,
        effectVersion: 0,
      },
    ])
    for (const { time } of trail) {
      expect(time).toBeGreaterThanOrEqual(before)
      expect(time).toBeLessThanOrEqual(Date.now())
    }
  })

  it('a lower staleness bound gives up what would grow too old, and no update is older than it', async () => {
    const updating = updateGates.hold('fresh')
    await session.start('fresh', tinyConfig({ rollout: { maxStaleness: 2 }, training: { updates: 4 } }))
    // Two groups are in training, four more of version 0 are ready.
    await untilProgress(session, 'fresh', ({ groupsReady }) => groupsReady === 4)
    await session.change('fresh', { 'rollout.maxStaleness': 0 })
    await untilProgress(session, 'fresh', ({ groupsReady }) => groupsReady === 0)
    updating.open()
    expect(await session.result('fresh')).toMatchObject({ phase: 'done', step: 4 })
    expect((await stateOf('fresh')).givenUp).toBe(4)
    for (const { statistics } of await store.updates.list(runId('fresh')))
      expect(statistics).toMatchObject({ staleness: { max: 0 } })
  })

  // [RUN-2]
  it('groups are played while an update is made, as many as the bound allows, and none in a synchronous run', async () => {
    const ahead = updateGates.hold('ahead')
    await session.start('ahead', tinyConfig({ rollout: { maxStaleness: 1 }, training: { updates: 2 } }))
    // Two of the (1 + 1) · 2 groups are in the update that is held, and two were played beside it.
    await untilProgress(session, 'ahead', ({ groupsReady }) => groupsReady === 2)
    expect(await session.progress('ahead')).toMatchObject({ step: 0, groupsInFlight: 0, groupsReady: 2 })
    ahead.open()
    expect(await session.result('ahead')).toMatchObject({ phase: 'done', step: 2 })
    const strict = updateGates.hold('strict')
    await session.start('strict', tinyConfig({ rollout: { maxStaleness: 0 }, training: { updates: 2 } }))
    await eventually('the first update', () => (updatesOf('strict').length === 1 ? true : undefined))
    expect(await session.progress('strict')).toMatchObject({ step: 0, groupsInFlight: 0, groupsReady: 0 })
    strict.open()
    expect(await session.result('strict')).toMatchObject({ phase: 'done', step: 2 })
  })

  it('groups in flight are as many as may be at once', async () => {
    const playing = turnGates.hold('few')
    await session.start('few', tinyConfig({ rollout: { groupsInFlight: 1 }, training: { updates: 2 } }))
    await untilProgress(session, 'few', ({ groupsInFlight }) => groupsInFlight === 1)
    await session.change('few', { 'rollout.groupsInFlight': 3 })
    await untilProgress(session, 'few', ({ groupsInFlight }) => groupsInFlight === 3)
    await session.change('few', { 'rollout.groupsInFlight': null })
    await untilProgress(session, 'few', ({ groupsInFlight }) => groupsInFlight === 4)
    playing.open()
    expect(await session.result('few')).toMatchObject({ phase: 'done', step: 2 })
  })
})

describe('stop now', () => {
  // [TRAIN-1]
  it('does not wait for the update in progress, whose result is taken when the run is resumed', async () => {
    const updating = updateGates.hold('now')
    await session.start('now', tinyConfig())
    await eventually('the first update', () => (updatesOf('now').length === 1 ? true : undefined))
    await session.stop('now', { now: true })
    expect(await session.result('now')).toMatchObject({ phase: 'stopped', step: 0 })
    updating.open()
    await session.resume('now')
    expect(await session.result('now')).toMatchObject({ phase: 'done', step: 3 })
    const done = await store.updates.list(runId('now'))
    expect(done.map(({ step, version }) => [step, version])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ])
    // Once each: the update that was left was not done again.
    expect(updatesOf('now')).toHaveLength(3)
  })
})

describe('checkpoints', () => {
  it('one that is asked for is kept, whatever else is deleted', async () => {
    const updating = updateGates.hold('pin')
    await session.start('pin', tinyConfig({ training: { updates: 6, keepCheckpoints: 2 } }))
    await eventually('the first update', () => (updatesOf('pin').length === 1 ? true : undefined))
    updating.open()
    const gate = updateGates.hold('pin')
    const { version: current } = await untilProgress(session, 'pin', ({ version }) => version >= 1)
    expect(await session.checkpoint('pin')).toBe(current)
    gate.open()
    await session.result('pin')
    const { dir } = homeAt(home).run(runId('pin'))
    expect(() => readFileSync(join(dir, 'checkpoints', String(current), 'manifest.json'))).not.toThrow()
    expect(() => readFileSync(join(dir, 'checkpoints', String(current + 1), 'manifest.json'))).toThrow()
  })
})

describe('a roll-back', () => {
  it('continues from the old weights under a new version, and is in metrics and audit trail', async () => {
    const updating = updateGates.hold('back')
    const rollout = { maxStaleness: 0 }
    const training = { updates: 5, keepCheckpoints: 10 }
    await session.start('back', tinyConfig({ rollout, training }))
    await eventually('the first update', () => (updatesOf('back').length === 1 ? true : undefined))
    const third = updateGates.hold('back')
    updating.open()
    await eventually('the second update', () => (updatesOf('back').length === 2 ? true : undefined))
    await expect(session.rollBack('back', 7)).rejects.toMatchObject({ kind: 'unknown_version' })
    await session.rollBack('back', 0)
    third.open()
    expect(await session.result('back')).toMatchObject({ phase: 'done', step: 5, version: 6 })
    // Versions 1 and 2 by updates, 3 is version 0 again, 4 to 6 continue from there.
    expect(updatesOf('back').map(({ from, to }) => [from, to].map((dir) => dir.split('/').at(-1)))).toEqual([
      ['0', '1'],
      ['1', '2'],
      ['3', '4'],
      ['4', '5'],
      ['5', '6'],
    ])
    const { checkpointsDir, metricsFile } = homeAt(home).run(runId('back'))
    const weightsOf = (version: number) =>
      readFileSync(join(checkpointsDir, String(version), 'model.safetensors'))
    expect(weightsOf(3).equals(weightsOf(0))).toBe(true)
    expect(readMetrics(metricsFile)).toContainEqual(
      expect.objectContaining({ rollback: 0, version: 3, from: 2 }),
    )
    expect(await session.audit('back')).toMatchObject([
      { what: 'rollback', by: 'ada', from: 1, to: 0, version: 1, effectVersion: 3 },
    ])
    for (const { statistics } of await store.updates.list(runId('back')))
      expect(statistics).toMatchObject({ staleness: { max: 0 } })
  })
})

// [RUN-5] [EVALUATION-1]
it('an evaluation that is asked for of a live run is played beside the training', async () => {
  const updating = updateGates.hold('ask')
  const suites = [{ name: 'words', task: 'echo', episodes: 2 }]
  await session.start('ask', tinyConfig({ evaluation: { every: 0, suites }, training: { updates: 2 } }))
  await eventually('the first update', () => (updatesOf('ask').length === 1 ? true : undefined))
  const second = updateGates.hold('ask')
  updating.open()
  await eventually('the second update', () => (updatesOf('ask').length === 2 ? true : undefined))
  expect(await session.evaluateNow('ask', 'words')).toContain('ask/e-words-v1')
  await untilProgress(session, 'ask', ({ evaluations }) => evaluations.some(({ version }) => version === 1))
  second.open()
  await session.result('ask')
  expect(await session.audit('ask')).toMatchObject([{ what: 'evaluate', to: 'words', effectVersion: 1 }])
})

it('every execution replays', async () => {
  expect(await replay(await fetchHistories(home))).toEqual([])
})
