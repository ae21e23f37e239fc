/** Steering of a run that is in progress: what each message does, and what a refused one leaves as it was. */
import { Client, Connection, WorkflowUpdateFailedError } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { changeSettings, evaluateNow, type SettingsChange } from '../../contract/messages.ts'
import type { TrainingState } from '../../contract/training-state.ts'
import { runId } from '../../identity/identity.ts'
import { TrainerFault } from '../../policy/trainer/trainer.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { connect, type TemporalConnection } from '../../temporal/connection.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { createHeldEngine, isOf, RunGates, untilProgress } from '../support/held-runs.ts'
import { eventually, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const { definition, sessions } = createEchoTask()
/** Gates at which a run's updates and turns wait, by the name of the run. */
const updateGates = new RunGates()
const turnGates = new RunGates()
const updatesStarted: string[] = []
/** Versions that cannot be made, by the name of the run. */
const badUpdates = new Map<string, number>()
/** Updates that the trainer refuses, by the name of the run. */
const refusedUpdates = new Map<string, number>()
let connection: TemporalConnection
let client: Client
let session: TrainingSession
let store: Store

beforeAll(async () => {
  connection = await connect(home)
  client = new Client({ connection: await Connection.connect(connection.options) })
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createHeldEngine(turnGates)),
    createTrainer: () =>
      createCopyingTrainer(async ({ toCheckpointDir }) => {
        updatesStarted.push(toCheckpointDir)
        for (const [run, version] of badUpdates)
          if (toCheckpointDir.endsWith(`/${run}/checkpoints/${version}`))
            throw new TrainerFault('bad_batch', 'the batch has no counted token')
        for (const [run, version] of refusedUpdates)
          if (toCheckpointDir.endsWith(`/${run}/checkpoints/${version}`))
            throw new TrainerFault('not_finite', "the gradient's norm is NaN")
        await updateGates.pass(toCheckpointDir)
      }),
    findEnvironment: () => definition,
  })
  store = await openStore(homeAt(home).storeFile)
}, 120_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  await client?.connection.close()
  await connection?.close()
  removeHome(home)
})

function updatesOf(run: string): number {
  return updatesStarted.filter((dir) => isOf(run, dir)).length
}

/** Every group once, every update once, every episode played once. */
async function audit(run: string, updates: number): Promise<void> {
  const done = await store.updates.list(runId(run))
  expect(done.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
  const consumed = done.flatMap(({ groups }) => groups)
  expect(new Set(consumed).size).toBe(consumed.length)
  const groups = await store.groups.list(runId(run))
  expect(groups.map(({ id }) => id).toSorted()).toEqual(consumed.toSorted())
}

describe('a paused run', () => {
  it('ends the update in progress, starts no other while its groups wait, and continues when continued', async () => {
    const gate = updateGates.hold('paused')
    await session.start('paused', tinyConfig())
    await eventually('the first update', () => (updatesOf('paused') === 1 ? true : undefined))
    await session.pause('paused')
    gate.open()
    await untilProgress(
      session,
      'paused',
      ({ phase, step, groupsReady, groupsInFlight }) =>
        phase === 'paused' && step === 1 && groupsReady >= 2 && groupsInFlight === 0,
    )
    expect(updatesOf('paused')).toBe(1)
    await session.continue('paused')
    expect(await session.result('paused')).toMatchObject({ phase: 'done', step: 3 })
    await audit('paused', 3)
  })
})

describe('a stopped run', () => {
  // [STORED-CONFIG-1] [STORED-CONFIG-2]
  it('is resumed with the configuration of an earlier build, unless it used a setting that was removed', async () => {
    const { rollout, ...others } = tinyConfig()
    for (const [name, wonAgain] of [
      ['idle', 1],
      ['in-use', 0.25],
    ] as const) {
      const config = { ...others, rollout: { ...rollout, wonAgain } }
      await store.runs.insert({ id: runId(name), config, created: 1 })
      await store.runs.setStatus(runId(name), 'stopped')
    }
    await expect(session.resume('in-use')).rejects.toThrow('run in-use uses `rollout.wonAgain`')
    expect((await store.runs.get(runId('in-use')))?.status).toBe('stopped')
    await session.resume('idle')
    expect(await session.result('idle')).toMatchObject({ phase: 'done', step: 3 })
  })

  // [RUN-3]
  it('ends; groups and evaluations that end meanwhile are found by resume, and nothing is played twice', async () => {
    const before = sessions.length
    const suites = [{ name: 'few', task: 'echo', episodes: 3 }]
    const updating = updateGates.hold('stopped')
    await session.start('stopped', tinyConfig({ evaluation: { every: 1, suites } }))
    await eventually('the first update', () => (updatesOf('stopped') === 1 ? true : undefined))
    const playing = turnGates.hold('stopped')
    const updatingAgain = updateGates.hold('stopped')
    updating.open()
    await untilProgress(session, 'stopped', ({ step, groupsInFlight }) => step === 1 && groupsInFlight === 2)
    await session.stop('stopped')
    updatingAgain.open()
    const stopped = await session.result('stopped')
    expect(stopped).toMatchObject({ phase: 'stopped', groupsInFlight: 2 })
    expect(stopped.step).toBe(updatesOf('stopped'))
    expect((await store.runs.get(runId('stopped')))?.status).toBe('stopped')

    playing.open()
    await eventually('the groups and evaluations in flight to end without the run', async () => {
      const groups = await store.groups.list(runId('stopped'), { status: 'complete' })
      const evaluations = await store.evaluations.list(runId('stopped'))
      const ended = evaluations.filter(({ result }) => result !== undefined)
      return groups.length === 6 && ended.length === stopped.step + 1 ? true : undefined
    })
    const played = sessions.length
    await session.resume('stopped')
    const done = await session.result('stopped')
    expect(done).toMatchObject({ phase: 'done', step: 3 })
    expect(done.evaluations.map(({ version }) => version).toSorted()).toEqual([0, 1, 2, 3])
    await audit('stopped', 3)
    // Six groups of two and evaluations of three, one per version.
    expect(played - before).toBe(6 * 2 + 3 * (stopped.step + 1))
    expect(sessions.length - before).toBe(6 * 2 + 3 * 4)
  })

  it('before its groups have ended finds them still playing', async () => {
    const playing = turnGates.hold('early')
    await session.start('early', tinyConfig())
    await untilProgress(session, 'early', ({ groupsInFlight }) => groupsInFlight === 4)
    await session.stop('early')
    await session.result('early')
    await session.resume('early')
    playing.open()
    expect(await session.result('early')).toMatchObject({ phase: 'done', step: 3 })
    await audit('early', 3)
  })

  it('in its warm start ends between two parts, and continues with the next', async () => {
    const warmStart = { demonstrations: 2, chunks: 2, epochs: 1 }
    const config = tinyConfig({ warmStart, training: { updates: 1 } })
    await session.start('warm', config)
    await session.stop('warm')
    expect(await session.result('warm')).toMatchObject({ phase: 'stopped', step: 0 })
    await session.resume('warm')
    expect(await session.result('warm')).toMatchObject({ phase: 'done', step: 1 })
    await audit('warm', 1)
  })
})

describe('a run that ended badly', () => {
  it('says why, and continues with the very batch that failed', async () => {
    badUpdates.set('failing', 2)
    await session.start('failing', tinyConfig())
    await expect(session.result('failing')).rejects.toMatchObject({
      kind: 'run_failed',
      message: expect.stringMatching(
        /^run failing failed: .*the batch has no counted token.*`perdure resume failing`/s,
      ),
    })
    const failed = await store.runs.get(runId('failing'))
    expect(failed).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('the batch has no counted token'),
    })
    const taken = await store.groups.list(runId('failing'), { consumedBy: 2 })
    expect(taken).toHaveLength(2)
    badUpdates.delete('failing')
    await session.resume('failing')
    expect(await session.result('failing')).toMatchObject({ phase: 'done', step: 3 })
    const second = await store.updates.get(runId('failing'), 2)
    expect(second?.groups.toSorted()).toEqual(taken.map(({ id }) => id).toSorted())
    await audit('failing', 3)
  })

  it('because its workflow was terminated continues from its last publication', async () => {
    const before = sessions.length
    const updating = updateGates.hold('terminated')
    await session.start('terminated', tinyConfig())
    await eventually('the first update', () => (updatesOf('terminated') === 1 ? true : undefined))
    await untilProgress(
      session,
      'terminated',
      ({ groupsReady, groupsInFlight }) => groupsReady === 2 && groupsInFlight === 0,
    )
    await client.workflow.getHandle('terminated').terminate()
    updating.open()
    await session.resume('terminated')
    expect(await session.result('terminated')).toMatchObject({ phase: 'done', step: 3 })
    await audit('terminated', 3)
    expect(sessions.length - before).toBe(6 * 2)
  })

  // [RUN-STATE-1]
  it('counts the update that was made and not published, though it must stop at once', async () => {
    const updating = updateGates.hold('made')
    await session.start('made', tinyConfig())
    await eventually('the first update', () => (updatesOf('made') === 1 ? true : undefined))
    await client.workflow.getHandle('made').terminate()
    const next = updateGates.hold('made')
    updating.open()
    await eventually('the update to be stored', () => store.updates.get(runId('made'), 1))
    await session.resume('made')
    await session.stop('made')
    next.open()
    const { step } = await session.result('made')
    expect(await store.updates.list(runId('made'))).toHaveLength(step)
    const lines = readMetrics(homeAt(home).run(runId('made')).metricsFile).filter(isUpdateMetrics)
    expect(lines.map((line) => line.step)).toEqual(Array.from({ length: step }, (_, i) => i + 1))
  })
})

describe('an update that the trainer refuses', () => {
  // [REFUSED-UPDATE-1] [UPDATE-2]
  it('pauses the run with the reason and its version; continued, the run trains on the next groups', async () => {
    const run = runId('refused')
    refusedUpdates.set(run, 2)
    await session.start(run, tinyConfig())
    const paused = await untilProgress(session, run, ({ phase, step }) => phase === 'paused' && step === 2)
    expect(paused).toMatchObject({
      version: 1,
      pauseReason: "update 2 was refused and version 1 is kept: the gradient's norm is NaN",
    })
    refusedUpdates.delete(run)
    await session.continue(run)
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: 3, version: 2 })
    await audit(run, 3)
    const lines = readMetrics(homeAt(home).run(run).metricsFile).filter(isUpdateMetrics)
    expect(lines.map(({ step, version, refused }) => [step, version, refused])).toEqual([
      [1, 1, undefined],
      [2, 1, "the gradient's norm is NaN"],
      [3, 2, undefined],
    ])
  })
})

describe('a message that cannot be obeyed', () => {
  it('is refused by name and leaves the run as it was', async () => {
    const updating = updateGates.hold('refusing')
    const suites = [{ name: 'few', task: 'echo', episodes: 2 }]
    onTestFinished(updating.open) // one update at a time: those of other runs wait for it
    await session.start('refusing', tinyConfig({ evaluation: { every: 0, suites } }))
    await eventually('the first update', () => (updatesOf('refusing') === 1 ? true : undefined))
    const handle = client.workflow.getHandle('refusing')
    const send = (settings: unknown) =>
      handle.executeUpdate(changeSettings, { args: [settings as SettingsChange, {}] })
    await send({ 'tasks.0.weight': 3, 'learning.learningRate': 0.001 })

    async function refusal(sent: Promise<unknown>): Promise<string> {
      const error = await sent.then(
        () => undefined,
        (reason: unknown) => reason,
      )
      expect(error).toBeInstanceOf(WorkflowUpdateFailedError)
      return String((error as WorkflowUpdateFailedError).cause)
    }
    for (const weight of [-1, 0, '1', Number.NaN])
      expect(await refusal(send({ 'tasks.0.weight': weight }))).toMatch(/tasks.0.weight/)
    for (const [change, message] of [
      [{ 'learning.learningRate': 2 }, /`learning.learningRate` is 2: expected number above 0, at most 1/],
      [{ 'learning.clipLow': '0.1' }, /`learning.clipLow` is "0.1": expected number/],
      [{ 'learning.klCoefficient': Number.NaN }, /`learning.klCoefficient` is null: expected number/],
      [
        { 'learning.batchSize': 3 },
        /"learning.batchSize" cannot be changed while training; these can: .*learning.learningRate/,
      ],
      [{ 'tasks.1.weight': 1 }, /"tasks.1.weight" cannot be changed/],
      [{ 'learning.toString': 1 }, /"learning.toString" cannot be changed/],
      [
        { 'learning.learningRate': 0.5, 'learning.clipHigh': -1 },
        /`learning.clipHigh` is -1: expected number above 0/,
      ],
      [{}, /name the settings/],
      ['all', /name the settings/],
      [null, /name the settings/],
    ] as const)
      expect(await refusal(send(change))).toMatch(message)
    expect(await refusal(handle.executeUpdate(evaluateNow, { args: [{ suite: 'none' }] }))).toMatch(
      /unknown suite "none"; configured: few/,
    )
    expect(await refusal(handle.executeUpdate(evaluateNow, { args: [undefined as never] }))).toMatch(/suite/)
    const { code, stdout, stderr } = await startPerdure(home, 'set', 'refusing', 'learning.clipLow=0').ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^error: .*`learning.clipLow` is 0: expected number above 0, at most 1\n$/)

    expect(await handle.executeUpdate(evaluateNow, { args: [{ suite: 'few' }] })).toContain('few')
    await session.stop('refusing')
    updating.open()
    await session.result('refusing')
    const state = (await store.runs.state(runId('refusing'))) as TrainingState
    expect(state.weights).toEqual([3])
    expect(state.learning).toEqual({ learningRate: 0.001 })
  })
})

it('is shown by a page and by the UI of its server, whose addresses `ui --json` says until a signal ends it', async () => {
  await session.start('shown', tinyConfig({ training: { updates: 1 } }))
  await session.result('shown')
  const serving = startPerdure(home, 'ui', '--json', '--port', '0', '--steer')
  const said = await eventually('the addresses', () => /^\{.*\}$/m.exec(serving.output())?.[0])
  const { url, temporal } = JSON.parse(said) as { url: string; temporal: string }
  try {
    expect(temporal).toBe(connection.uiUrl)
    expect((await fetch(temporal)).status).toBe(200)
    expect(await (await fetch(url)).text()).toContain('<title>Perdure</title>')
    const runs = (await (await fetch(`${url}api/runs`)).json()) as { runs: readonly { run: string }[] }
    expect(runs.runs.map(({ run }) => run)).toContain('shown')
    // [STEERING-1] An order that the command line refuses, the page refuses in the same words.
    const post = (run: string, order: object) =>
      fetch(`${url}api/runs/${run}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(order),
      })
    const refused = await post('shown', { order: 'set', settings: { 'learning.clipLow': 0.1 } })
    const { stderr } = await startPerdure(home, 'set', 'shown', 'learning.clipLow=0.1').ended
    const { error } = (await refused.json()) as { error: { kind: string; message: string } }
    expect([refused.status, error.kind, `error: ${error.message}\n`]).toEqual([409, 'refused', stderr])
    expect((await post('unheard-of', { order: 'pause' })).status).toBe(404)
  } finally {
    serving.child.kill('SIGINT')
  }
  const { code, stdout } = await serving.ended
  expect([code, JSON.parse(stdout)]).toEqual([0, { url, temporal, home }])
})

describe('a run of a name that is taken', () => {
  it('is refused by name, and resuming a finished one starts nothing', async () => {
    await session.start('taken', tinyConfig({ training: { updates: 1 } }))
    const done = await session.result('taken')
    await expect(session.start('taken', tinyConfig())).rejects.toMatchObject({
      kind: 'run_exists',
      message: expect.stringContaining('perdure resume taken'),
    })
    const { runId: execution } = await client.workflow.getHandle('taken').describe()
    await session.resume('taken')
    expect((await client.workflow.getHandle('taken').describe()).runId).toBe(execution)
    expect(await session.progress('taken')).toEqual(done)
    await expect(session.pause('taken')).rejects.toMatchObject({ kind: 'not_running' })
    await expect(session.resume('unheard-of')).rejects.toMatchObject({ kind: 'unknown_run' })
  })
})
