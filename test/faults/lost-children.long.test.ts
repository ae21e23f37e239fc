/**
 * Work that is ended from outside, as a person does it in Temporal's UI: the run notices within seconds, and does it
 * again or by another.
 */
import type { Client } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { episodeId, evaluationId, groupId, type RunId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { fetchHistories, openClient, replay } from '../support/executions.ts'
import { createHeldEngine, RunGates, untilProgress } from '../support/held-runs.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const { definition, sessions } = createEchoTask()
const turns = new RunGates()
/** Within which an ending is to be noticed, and as much again for a machine that others use too. */
const noticedMs = 30_000
const suites = [{ name: 'few', task: 'echo', episodes: 2 }]
let session: TrainingSession
let store: Store
let server: Awaited<ReturnType<typeof openClient>>
let client: Client

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createHeldEngine(turns)),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => definition,
  })
  server = await openClient(home)
  client = server.client
  store = await openStore(homeAt(home).storeFile)
}, 120_000)

afterAll(async () => {
  await store?.close()
  await server?.close()
  await session?.close()
  removeHome(home)
})

/** A run whose turns wait until the gate is opened. */
async function startHeld(name: string, sections: Parameters<typeof tinyConfig>[0] = {}) {
  const gate = turns.hold(name)
  await session.start(name, tinyConfig({ training: { updates: 2 }, ...sections }))
  const playing = await untilProgress(session, name, ({ groupsInFlight }) => groupsInFlight === 4)
  return { run: runId(name), gate, playing }
}

function statusOf(workflow: string) {
  return client.workflow.getHandle(workflow).describe()
}

async function untilPlayed(run: RunId, sample: number, attempt: number): Promise<void> {
  const id = episodeId(groupId(run, 0), sample, attempt)
  await eventually(`episode ${id} to be played`, () => store.episodes.get(id), noticedMs)
}

// [RUN-4]
describe('a group that a person ends', () => {
  it.each(['terminate', 'cancel'] as const)(
    '%s: it is given up, its episodes end in their own order, and another takes its place',
    async (how) => {
      const { run, gate } = await startHeld(`group-${how}`)
      await untilPlayed(run, 1, 0)
      await client.workflow.getHandle(groupId(run, 0))[how]()
      await eventually('another group', () => store.episodes.get(episodeId(groupId(run, 4), 0, 0)), noticedMs)
      expect(await store.groups.get(groupId(run, 0))).toMatchObject({ status: 'abandoned' })
      const episodes = [0, 1].map((sample) => episodeId(groupId(run, 0), sample, 0))
      for (const id of episodes)
        await eventually(`${id} to be sealed`, async () => (await store.episodes.get(id))?.seal, noticedMs)
      gate.open()
      expect(await session.result(run)).toMatchObject({ phase: 'done', step: 2 })
      for (const id of episodes)
        expect((await store.episodes.get(id))?.seal).toMatchObject({ outcome: 'cancelled' })
      expect(sessions.every(({ closed }) => closed)).toBe(true)
    },
    120_000,
  )

  // [GROUP-3]
  it('while another execution of the run than that which started it is in progress is given up as well', async () => {
    const { run, gate } = await startHeld('grown', { orchestration: { historyEvents: 100 } })
    const first = (await statusOf(run)).runId
    const orders = async () => {
      for (let number = 1; (await statusOf(run)).runId === first; number++)
        await session.change(run, { 'learning.learningRate': number / 1e6 })
    }
    await orders()
    await client.workflow.getHandle(groupId(run, 1)).terminate()
    await eventually('another group', () => store.episodes.get(episodeId(groupId(run, 4), 0, 0)), noticedMs)
    gate.open()
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: 2 })
  }, 120_000)
})

// [RUN-4]
describe('an episode that a person ends', () => {
  it.each(['terminate', 'cancel'] as const)(
    '%s: it is sealed without a reward, and its sample gets a new attempt',
    async (how) => {
      const { run, gate } = await startHeld(`episode-${how}`)
      await untilPlayed(run, 1, 0)
      const ended = episodeId(groupId(run, 0), 1, 0)
      await client.workflow.getHandle(ended)[how]()
      await untilPlayed(run, 1, 1)
      const seal = await eventually(
        'the seal',
        async () => (await store.episodes.get(ended))?.seal,
        noticedMs,
      )
      expect(seal).toMatchObject({
        outcome: how === 'cancel' ? 'cancelled' : 'infrastructure_error',
        reward: null,
      })
      await eventually(
        'its session to be closed',
        () => sessions.filter(({ closed }) => closed).length >= 1 || undefined,
      )
      gate.open()
      expect(await session.result(run)).toMatchObject({ phase: 'done', step: 2 })
      const group = await store.groups.get(groupId(run, 0))
      expect(group?.result?.episodes).toEqual(
        [0, 1].map((sample) => episodeId(groupId(run, 0), sample, sample)),
      )
      await eventually('all sessions to be closed', () => sessions.every(({ closed }) => closed) || undefined)
    },
    120_000,
  )
})

describe('an evaluation that a person ends', () => {
  it.each(['terminate', 'cancel'] as const)(
    '%s: it is done again, also where the run waits for nothing else',
    async (how) => {
      const name = `evaluation-${how}`
      const gate = turns.hold(name)
      const evaluation = evaluationId(runId(name), 'few', 0, 1)
      await session.start(name, tinyConfig({ training: { updates: 0 }, evaluation: { every: 0, suites } }))
      await eventually('its episode', () => store.episodes.get(episodeId(evaluation, 0, 0)), noticedMs)
      const first = (await statusOf(evaluation)).runId
      await client.workflow.getHandle(evaluation)[how]()
      await eventually(
        'the evaluation to be begun again',
        async () => ((await statusOf(evaluation)).runId === first ? undefined : true),
        noticedMs,
      )
      gate.open()
      const done = await session.result(name)
      expect(done).toMatchObject({ phase: 'done', evaluations: [{ suite: 'few', version: 0, n: 2 }] })
    },
    120_000,
  )

  it('twice, before the run continues in another execution, is begun a third time [LOST-EVALUATION-1]', async () => {
    const { run, gate } = await startHeld('counted', {
      orchestration: { historyEvents: 200 },
      evaluation: { every: 0, suites },
    })
    const evaluation = evaluationId(run, 'few', 0, 1)
    const isOther = (ended: string) => async () =>
      (await statusOf(evaluation)).runId === ended ? undefined : true
    const first = await statusOf(evaluation)
    await client.workflow.getHandle(evaluation).terminate()
    await eventually('the second execution', isOther(first.runId), noticedMs)
    let orders = 0
    const order = () => session.change(run, { 'learning.learningRate': ++orders / 1e6 })
    while ((await statusOf(run)).historyLength < 150) await order()
    const before = (await statusOf(run)).runId
    const second = await statusOf(evaluation)
    await client.workflow.getHandle(evaluation).terminate()
    // The run waits some seconds before the third, and continues meanwhile.
    await eventually('the wait', async () => {
      const { events } = await client.workflow.getHandle(run, before).fetchHistory()
      const waits = events?.map((event) => event.timerStartedEventAttributes?.startToFireTimeout?.seconds)
      return waits?.some((seconds) => Number(seconds) === 5) || undefined
    })
    while ((await statusOf(run)).runId === before) await order()
    await eventually('the third execution', isOther(second.runId), noticedMs)
    gate.open()
    const done = await session.result('counted')
    expect(done.phase).toBe('done')
    expect(done.evaluations).toContainEqual(expect.objectContaining({ suite: 'few', version: 0, n: 2 }))
    expect(done.failedEvaluations).toBeUndefined()
  }, 240_000)

  it('while a caller waits for it is reported to the caller, and repeated when it is requested again', async () => {
    await session.start('asked', tinyConfig({ training: { updates: 0 }, evaluation: { every: 0, suites } }))
    await session.result('asked')
    const gate = turns.hold('asked')
    const evaluating = session.evaluate('asked', { episodes: 3 })
    const evaluation = evaluationId(runId('asked'), 'few-3', 0, 1)
    await eventually('its episode', () => store.episodes.get(episodeId(evaluation, 0, 0)), noticedMs)
    const failed = expect(evaluating).rejects.toMatchObject({
      kind: 'no_result',
      message: expect.stringContaining('few-3'),
    })
    await client.workflow.getHandle(evaluation).terminate()
    await failed
    gate.open()
    expect(await session.evaluate('asked', { episodes: 3 })).toMatchObject({ n: 3 })
  }, 120_000)

  it('again and again is reported as failed, and the run ends', async () => {
    const gate = turns.hold('hopeless')
    const evaluation = evaluationId(runId('hopeless'), 'few', 0, 1)
    await session.start(
      'hopeless',
      tinyConfig({ training: { updates: 0 }, evaluation: { every: 0, suites } }),
    )
    const ended = new Set<string>()
    await eventually('the run to give it up', async () => {
      const { failedEvaluations } = await session.progress('hopeless')
      if (failedEvaluations !== undefined) return failedEvaluations
      const description = await statusOf(evaluation).catch(() => undefined)
      if (description?.status.name === 'RUNNING' && !ended.has(description.runId)) {
        ended.add(description.runId)
        await client.workflow.getHandle(evaluation, description.runId).terminate()
      }
      return undefined
    })
    expect(ended.size).toBe(3)
    expect(await session.result('hopeless')).toMatchObject({
      phase: 'done',
      evaluations: [],
      failedEvaluations: [{ suite: 'few', version: 0, reason: expect.stringMatching(/3 times/) }],
    })
    expect(await store.evaluations.get(evaluation)).toMatchObject({
      failure: expect.stringMatching(/3 times/),
    })
    gate.open()
  }, 120_000)
})

describe('a run', () => {
  it('that was terminated continues where it was when it is resumed, with the orders that it had taken', async () => {
    const { run, gate } = await startHeld('terminated')
    await session.change(run, { 'learning.learningRate': 0.001 })
    await client.workflow.getHandle(run).terminate()
    await session.resume(run)
    await session.pause(run)
    await session.continue(run)
    gate.open()
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: 2 })
    const consumed = (await store.updates.list(run)).flatMap(({ groups }) => groups)
    expect(consumed.toSorted()).toEqual([0, 1, 2, 3].map((number) => groupId(run, number)))
    expect((await session.audit(run)).map(({ number, what }) => [number, what])).toEqual([
      [0, 'learning.learningRate'],
      [1, 'pause'],
      [2, 'continue'],
    ])
  }, 120_000)

  it('that is cancelled ends as one that was stopped: what is in flight plays on, and resume finds it', async () => {
    const { run, gate } = await startHeld('cancelled')
    await client.workflow.getHandle(run).cancel()
    expect(await session.result(run)).toMatchObject({ phase: 'stopped', groupsInFlight: 4 })
    expect(await store.runs.get(run)).toMatchObject({
      status: 'stopped',
      detail: expect.stringMatching(/cancelled/),
    })
    await session.resume(run)
    gate.open()
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: 2 })
    expect(await store.groups.list(run)).toHaveLength(4)
  }, 120_000)

  it('that continues looks at what is in flight when it is resumed', async () => {
    const { run, gate } = await startHeld('looking')
    await session.resume(run)
    await eventually('the look', async () => {
      const { events } = await client.workflow.getHandle(run).fetchHistory()
      const names = events?.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name)
      return names?.includes('findEnded') || undefined
    })
    gate.open()
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: 2 })
  }, 120_000)
})

it('all of it replays', async () => {
  expect(await replay(await fetchHistories(home))).toEqual([])
}, 120_000)
