/** Evaluations on the real server: on a schedule, with several samples, judged by gates, promoted. */
import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openSession, type RunProgress, type TrainingSession } from '../../client/session/training-session.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { defineEnvironment } from '../../envs/external/define.ts'
import { evaluationId, parseEpisodeId, runId, scheduleId } from '../../identity/identity.ts'
import { readPromotion } from '../../policy/checkpoints/promotion.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isEvaluationMetrics } from '../../storage/metrics/metrics.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { connect, type TemporalConnection } from '../../temporal/connection.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { RunGates, untilProgress } from '../support/held-runs.ts'
import { eventually, killServer, removeHome, temporaryHome } from '../support/perdure-process.ts'
import {
  createCopyingTrainer,
  createSpeakingEngine,
  saying,
  sayYesOrNo,
  tinyConfig,
} from '../support/tiny-run.ts'

const home = temporaryHome()
const { definition } = createEchoTask()
/** Six of six and none of six are different with a confidence of 95 %, by more than a tenth. */
const words = { name: 'words', task: 'echo', episodes: 6 }
/** Gates at which updates and turns of evaluations wait, by the name of the run. */
const updateGates = new RunGates()
const evaluationGates = new RunGates()
/** Episodes of evaluations whose engine fails, whatever attempt is made at them. */
let isLost: (of: { run: string; version: number; sample: number }) => boolean = () => false
/** Versions of a run that fail what they are evaluated on. */
const badVersions = new Map<string, readonly number[]>()
/** Earnings of a policy on `paid`, by version and sample: eighths of a reward, and in how many turns. */
const earnings = new Map<
  string,
  (version: number, sample: number) => readonly [eighths: number, turns: number]
>()
/** Pays at the last of so many turns; the score is the percentage, and reported at every turn. */
const paid = defineEnvironment('paid', {
  metrics: { score: { unit: 'points', better: 'higher' } },
  start: () => ({ prompt: 'Say how much, and in how many turns.', turns: 0 }),
  tools: (tool) => ({
    say: tool({
      description: 'Says a word.',
      parameters: z.object({ word: z.string() }),
      run({ word }, state) {
        const [reward, turns] = [word.charCodeAt(0) / 8 - 8, Number(word.slice(1))]
        state.turns += 1
        const done = state.turns === turns
        return {
          reply: 'heard',
          done,
          reward: done ? reward : 0,
          info: { score: (100 * reward * state.turns) / turns },
        }
      },
    }),
  }),
})
const updatesStarted: string[] = []
let connection: TemporalConnection
let client: Client
let session: TrainingSession
let store: Store

beforeAll(async () => {
  connection = await connect(home)
  client = await createClient()
  session = await open()
  store = await openStore(homeAt(home).storeFile)
}, 600_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  await client?.connection.close()
  await connection?.close()
  removeHome(home)
})

async function createClient(): Promise<Client> {
  return new Client({ connection: await Connection.connect(connection.options) })
}

function open(): Promise<TrainingSession> {
  return openSession({
    home,
    roles: 'all',
    log: () => undefined,
    by: 'ada',
    createEngine: () =>
      Promise.resolve(
        createSpeakingEngine(async (request) => {
          const { run, parent, sample } = parseEpisodeId(request.cacheKey)
          if (!parent.includes('/e-')) return sayYesOrNo(request)
          expect(request.background).toBe(true)
          await evaluationGates.pass(run)
          // A fault that trying again cannot repair: no attempt at the episode ends with a reward.
          if (isLost({ run, version: request.version, sample }))
            throw new StorageFault('internal', 'the engine is gone')
          if (run === 'mute') throw new StorageFault('internal', 'the engine is gone')
          if (parent.includes('/e-samples')) return saying(sample % 4 === 0 ? 'yes' : 'no')
          const earned = earnings.get(run)?.(request.version, sample)
          // In few letters: an action has 64 tokens.
          if (earned !== undefined) return saying(`${String.fromCharCode(64 + earned[0])}${earned[1]}`)
          return saying(badVersions.get(run)?.includes(request.version) ? 'no' : 'yes')
        }),
      ),
    createTrainer: () =>
      createCopyingTrainer(async ({ toCheckpointDir }) => {
        updatesStarted.push(toCheckpointDir)
        await updateGates.pass(toCheckpointDir)
      }),
    findEnvironment: (name) => (name === paid.name ? paid : definition),
  })
}

/** Waits until the run's update in progress waits for its gate. */
function untilUpdating(run: string, version: number): Promise<true> {
  const isIt = (dir: string) => dir.endsWith(`/${run}/checkpoints/${version}`)
  return eventually(`update ${version} of ${run}`, () => (updatesStarted.some(isIt) ? true : undefined))
}

function evaluated(run: string, version: number): Promise<RunProgress> {
  return untilProgress(session, run, ({ evaluations }) =>
    evaluations.some((each) => each.version === version),
  )
}

const onDemand = { every: 1_000_000, suites: [words] }

describe('a schedule', () => {
  it('fires on time while the run trains, and each result lands in the run, the store and the metrics', async () => {
    const updating = updateGates.hold('clock')
    await session.start('clock', tinyConfig({ evaluation: onDemand, training: { updates: 2 } }))
    await untilUpdating('clock', 1)
    const { schedule } = await session.schedule('clock', { timing: { every: '2s' }, samples: 1 })
    expect(schedule).toBe('clock/schedule-words')
    await expect(session.schedule('clock', { timing: { every: '1h' } })).rejects.toMatchObject({
      kind: 'schedule_exists',
    })
    // Version 0 is evaluated by the run itself; the schedule finds version 1 by itself.
    const second = updateGates.hold('clock')
    updating.open()
    await evaluated('clock', 1)
    const [listed] = await eventually('the schedule to be listed', async () => {
      const found = await session.schedules('clock')
      return found.length > 0 ? found : undefined
    })
    expect(listed).toMatchObject({ run: 'clock', name: 'words', paused: false })
    const { info } = await client.schedule.getHandle(scheduleId(runId('clock'), 'words')).describe()
    expect(info.numActionsTaken).toBeGreaterThan(0)
    for (const { scheduledAt, takenAt } of info.recentActions)
      expect(takenAt.getTime() - scheduledAt.getTime()).toBeLessThan(5_000)
    second.open()
    await session.result('clock')

    const lines = readMetrics(homeAt(home).run(runId('clock')).metricsFile).filter(isEvaluationMetrics)
    expect(lines).toContainEqual(
      expect.objectContaining({ suite: 'words', version: 1, success: 1, n: 6, samples: 1, high: 1 }),
    )
    const stored = await store.evaluations.list(runId('clock'))
    expect(stored.filter(({ version }) => version === 1)).toHaveLength(1)
  })

  it('continues after the run has ended and the server was killed, can be paused, triggered and deleted', async () => {
    await session.pauseSchedule('clock', 'words')
    expect(await session.schedules('clock')).toMatchObject([{ paused: true, note: 'paused by ada' }])
    await session.deleteSchedule('clock', 'words')
    // The server still lists it for a while.
    expect(await session.schedules('clock')).toEqual([])
    await expect(session.triggerSchedule('clock', 'words')).rejects.toMatchObject({
      kind: 'unknown_schedule',
    })
    const again = { timing: { cron: '0 0 1 1 *' }, name: 'yearly', episodes: 3 }
    const { next } = await session.schedule('clock', again)
    const [first = 0] = next
    const year = new Date(first).getUTCFullYear()
    expect(next).toEqual([0, 1, 2].map((later) => Date.UTC(year + later, 0)))
    expect(await session.schedules('clock')).toMatchObject([{ name: 'yearly', next }])
    await session.close()
    killServer(home)
    session = await open()
    await client.connection.close()
    client = await createClient()
    await session.triggerSchedule('clock', 'yearly')
    const found = await eventually('the result of another size', async () => {
      const stored = await store.evaluations.list(runId('clock'))
      return stored.find(({ suite, result }) => suite === 'words-3' && result !== undefined)
    })
    expect(found).toMatchObject({ version: 2, result: { n: 3, success: 1 } })
    await session.deleteSchedule('clock', 'yearly')
  })

  it.each([
    ['0 0 3 * * *', 'has 6 fields.*without seconds it is "0 3 \\* \\* \\*"'],
    ['0 0 12 1 * *', 'has 6 fields'],
    ['0 3 * * * 2030', 'has 6 fields'],
    ['CRON_TZ=Europe/Berlin 0 0 3 * * *', 'has 6 fields'],
    ['0 0 3 * * * 2030', 'has 7 fields'],
    ['0 3 * *', 'has 4 fields'],
    ['0 25 * * *', 'Hour is not in range'],
    ['CRON_TZ=Nowhere 0 3 * * *', 'no time to fire at'],
    ['0 0 31 2 *', 'never fires'],
    ['0 0 31 4,6,9,11 *', 'never fires'],
  ])('is refused at %j', async (cron, reason) => {
    await expect(session.schedule('clock', { timing: { cron }, name: 'odd' })).rejects.toMatchObject({
      kind: 'bad_timing',
      message: expect.stringMatching(reason),
    })
    expect((await session.schedules('clock')).map(({ name }) => name)).not.toContain('odd')
  })

  it('leaves out a time that comes while its last evaluation is in progress', async () => {
    const playing = evaluationGates.hold('lone')
    await session.start('lone', tinyConfig({ evaluation: onDemand, training: { updates: 1 } }))
    await session.schedule('lone', { timing: { every: '1s' }, episodes: 2 })
    const handle = client.schedule.getHandle(scheduleId(runId('lone'), 'words'))
    await eventually('a time that is left out', async () =>
      (await handle.describe()).info.numActionsSkippedOverlap > 0 ? true : undefined,
    )
    playing.open()
    await session.deleteSchedule('lone', 'words')
    await session.result('lone')
  })
})

describe('several samples of each instance', () => {
  it('give pass@k with intervals, in the store and the metrics', async () => {
    const samples = { name: 'samples', task: 'echo', episodes: 3, samples: 4, temperature: 1 }
    await session.start(
      'many',
      tinyConfig({ evaluation: { every: 0, suites: [samples] }, training: { updates: 1 } }),
    )
    const { evaluations } = await session.result('many')
    // One of four succeeds, always: pass@1 = 1/4, pass@2 = 1 − C(3,2)/C(4,2) = 1/2, pass@4 = 1.
    for (const evaluation of evaluations)
      expect(evaluation).toMatchObject({ success: 0.25, n: 12, passAt: { 1: 0.25, 2: 0.5, 4: 1 } })
    const [line] = readMetrics(homeAt(home).run(runId('many')).metricsFile).filter(isEvaluationMetrics)
    expect(line).toMatchObject({ samples: 4, pass_at: { 4: 1 }, mean_reward: 0.25 })
    expect(Number(line?.low)).toBeLessThan(0.25)
    expect(Number(line?.high)).toBeGreaterThan(0.25)
  })
})

describe('gates', () => {
  const gate = { suite: 'words', drop: 0.1, confidence: 0.95 }

  it('pause a run that got worse, and say why in the audit trail', async () => {
    badVersions.set('worse', [2, 3, 4])
    const evaluation = { every: 1, suites: [words], gates: [{ ...gate, action: 'pause' }] }
    const first = updateGates.hold('worse')
    await session.start('worse', tinyConfig({ evaluation, training: { updates: 6 } }))
    await untilUpdating('worse', 1)
    await evaluated('worse', 0)
    first.open()
    await untilProgress(session, 'worse', ({ phase }) => phase === 'paused')
    const entry = await eventually('the entry', async () => (await session.audit('worse'))[0])
    expect(entry).toMatchObject({
      by: 'gate words',
      what: 'pause',
      to: 'paused',
      reason: expect.stringContaining('words fell from 100.0 % of 6 at version'),
    })
    await session.stop('worse')
    await session.result('worse')
  })

  it('allow what they are ordered to allow', async () => {
    badVersions.set('spared', [1])
    const evaluation = { every: 1, suites: [words], gates: [{ ...gate, action: 'pause' }] }
    const first = updateGates.hold('spared')
    await session.start('spared', tinyConfig({ evaluation, training: { updates: 3 } }))
    await untilUpdating('spared', 1)
    await evaluated('spared', 0)
    // The same loss closes the gate of the run above. With 6 instances no loss is certain to be above 99 points.
    await session.change('spared', { 'evaluation.gates.0.drop': 0.99 })
    const second = updateGates.hold('spared')
    first.open()
    await evaluated('spared', 1)
    second.open()
    expect(await session.result('spared')).toMatchObject({ phase: 'done', step: 3 })
    expect(await session.audit('spared')).toMatchObject([
      { by: 'ada', what: 'evaluation.gates.0.drop', from: 0.1, to: 0.99 },
    ])
  })

  it('roll back to the best version, and the run continues from there', async () => {
    badVersions.set('saved', [1])
    const evaluation = { every: 1, suites: [words], gates: [{ ...gate, action: 'rollback' }] }
    const updating = updateGates.hold('saved')
    await session.start('saved', tinyConfig({ evaluation, training: { updates: 4 } }))
    await untilUpdating('saved', 1)
    await evaluated('saved', 0)
    const second = updateGates.hold('saved')
    updating.open()
    await evaluated('saved', 1)
    await eventually('the gate to close', async () =>
      (await session.audit('saved')).length > 0 ? true : undefined,
    )
    second.open()
    const { phase, step, version } = await session.result('saved')
    // Versions 1 and 2 by updates, then version 0 again as 3, and two more updates.
    expect({ phase, step, version }).toEqual({ phase: 'done', step: 4, version: 5 })
    expect(await session.audit('saved')).toMatchObject([
      { by: 'gate words', what: 'rollback', from: 1, to: 0, effectVersion: 3 },
    ])
  })
})

describe('a suite that is judged by another measure than success', () => {
  const half = { atLeast: 0.5 }
  const startPaid = (run: string, suite: object, gate: object) => {
    const gates = [{ suite: 'pay', confidence: 0.95, ...gate }]
    const evaluation = { every: 1, blocking: true, suites: [], gates: [] }
    const tiny = tinyConfig({ evaluation, rollout: { maxStaleness: 0 }, training: { updates: 3 } })
    const suites = [{ name: 'pay', task: 'paid', episodes: 6, ...suite }]
    const tasks = [...tiny.tasks, { task: 'paid', weight: 0, success: half, metrics: paid.metrics }]
    return session.start(
      run,
      configSchema.parse({ ...tiny, tasks, evaluation: { ...evaluation, suites, gates } }),
    )
  }
  const measuredOf = async (run: string) => {
    const { found } = await store.evaluations.findings(runId(run))
    return found.map(({ version, success, measured }) => [version, success, measured?.value])
  }

  it('by reward: the gate closes while every episode succeeds, rolls back to the best, and that is promoted', async () => {
    const eighths = [10, 8, 6, 9, 8]
    // Half of the instances earn an eighth more, the others an eighth less.
    earnings.set('earner', (version, sample) => [(eighths[version] ?? 0) + (sample % 2 === 0 ? 1 : -1), 2])
    await startPaid('earner', { measure: { of: 'reward' } }, { drop: 0.25, action: 'rollback' })
    const { phase, version, evaluations } = await session.result('earner')
    expect({ phase, version }).toEqual({ phase: 'done', version: 4 })
    // Version 3 is version 0 again, by the roll-back.
    expect(await measuredOf('earner')).toEqual([0, 1, 2, 4].map((at) => [at, 1, (eighths[at] ?? 0) / 8]))
    expect(evaluations[0]?.measured).toMatchObject({ of: 'reward', better: 'higher', value: 1.25 })
    expect(await session.audit('earner')).toMatchObject([
      {
        ...{ by: 'gate pay', what: 'rollback', from: 2, to: 0, effectVersion: 3 },
        reason:
          'mean reward on pay fell from 1.25 of 6 at version 0 to 0.75 of 6 at version 2: by more than 0.25 with confidence 0.95',
      },
    ])
    expect(await session.promote('earner')).toMatchObject({
      version: 0,
      evaluation: { suite: 'pay', success: 1, measured: { of: 'reward', value: 1.25 } },
    })
    expect(await readPromotion(homeAt(home).run(runId('earner')).checkpointsDir)).toMatchObject({
      version: 0,
    })
  })

  it('by turns: more of them close the gate, and the version with the fewest is the best', async () => {
    earnings.set('walker', (version) => [8, [3, 2, 5][version] ?? 5])
    await startPaid('walker', { measure: { of: 'turns' } }, { drop: 1, action: 'pause' })
    await untilProgress(session, 'walker', ({ phase }) => phase === 'paused')
    expect(await measuredOf('walker')).toEqual([
      [0, 1, 3],
      [1, 1, 2],
      [2, 1, 5],
    ])
    const entry = await eventually('the entry', async () => (await session.audit('walker'))[0])
    expect(entry).toMatchObject({
      by: 'gate pay',
      what: 'pause',
      reason:
        'turns on pay rose from 2 of 6 at version 1 to 5 of 6 at version 2: by more than 1 with confidence 0.95',
    })
    expect(await session.promote('walker')).toMatchObject({ version: 1 })
    await session.stop('walker')
    await session.result('walker')
  })

  it('by a metric of its environment: the last value of each episode, in the metrics with its interval', async () => {
    const eighths = [2, 6, 4]
    earnings.set('scorer', (version, sample) => [(eighths[version] ?? 4) + (sample % 2 === 0 ? 1 : -1), 3])
    await startPaid('scorer', { measure: { of: 'score' } }, { drop: 90, action: 'pause' })
    await session.result('scorer')
    expect((await measuredOf('scorer')).map(([, , score]) => score)).toEqual([25, 75, 50, 50])
    const score = { of: 'score', better: 'higher', unit: 'points', value: 75 }
    expect(await session.promote('scorer')).toMatchObject({ version: 1, evaluation: { measured: score } })
    const lines = readMetrics(homeAt(home).run(runId('scorer')).metricsFile).filter(isEvaluationMetrics)
    expect(lines[1]).toMatchObject({ judged_by: 'score', measures: { score: { value: 75, unit: 'points' } } })
    expect(await session.evaluate('scorer', { version: 1 })).toMatchObject({
      ...{ version: 1, suite: 'pay', n: 6, planned: 6, lost: {}, measured: score },
      measures: { turns: { value: 3 }, reward: { value: 0.75 } },
    })
  })
})

describe('an evaluation that lost most of its episodes to the infrastructure', () => {
  const run = runId('outage')
  const gates = [{ suite: 'words', drop: 0.1, confidence: 0.6, action: 'rollback' }]
  const figuresOf = async (version: number) => {
    const { found } = await store.evaluations.findings(run)
    return found.find((each) => each.version === version)
  }
  const lineOf = (version: number) =>
    readMetrics(homeAt(home).run(run).metricsFile)
      .filter(isEvaluationMetrics)
      .find((line) => line.version === version)
  const few = { success: 1, n: 1, planned: 6, lost: { infrastructure_error: 5 } }

  // [GATES-1]
  it('says so, and is neither the best version, nor a reference of the gate, nor rolled back to, nor promoted', async () => {
    // Every version fails all six instances. Versions 1 and 3 win the first, and lose the others to a fault.
    badVersions.set('outage', [0, 2])
    isLost = (of) => of.run === 'outage' && of.version % 2 === 1 && of.sample > 0
    const evaluation = { every: 1, blocking: true, suites: [words], gates }
    await session.start(
      'outage',
      tinyConfig({ evaluation, rollout: { maxAttempts: 1, maxStaleness: 0 }, training: { updates: 3 } }),
    )
    const { version, evaluations } = await session.result('outage')
    // No gate has closed: a roll-back would have made one more version.
    expect(version).toBe(3)
    expect(await session.audit('outage')).toEqual([])
    expect(evaluations.map((each) => [each.version, each.n, each.planned])).toEqual([
      [0, 6, 6],
      [1, 1, 6],
      [2, 6, 6],
      [3, 1, 6],
    ])
    expect(await figuresOf(1)).toMatchObject(few)
    expect(lineOf(1)).toMatchObject(few)
    expect((await session.promote('outage')).version).toBe(2)
    expect(await session.promote('outage', { version: 3 })).toMatchObject({
      evaluation: { success: 1, n: 1, planned: 6 },
    })
  })

  // [EVALUATION-4] [LEFT-TO-PLAY-1]
  it('plays the lost episodes and no others when it is asked for again, by hand and by a schedule', async () => {
    isLost = () => false
    badVersions.set('outage', [0, 1, 2, 3])
    const whole = { success: 1 / 6, n: 6, planned: 6, lost: {} }
    expect(await session.evaluate('outage', { version: 1 })).toMatchObject(whole)
    expect(lineOf(1)).toMatchObject(whole)
    const played = await store.episodes.list(evaluationId(run, 'words', 1, tinyConfig().seed))
    expect(played.map(({ sample, attempt }) => [sample, attempt])).toEqual([
      [0, 0],
      ...[1, 2, 3, 4, 5].flatMap((sample) => [
        [sample, 0],
        [sample, 1],
      ]),
    ])
    await session.schedule('outage', { timing: { cron: '0 0 1 1 *' } })
    await session.triggerSchedule('outage', 'words')
    await eventually('the newest version to be complete', async () =>
      (await figuresOf(3))?.n === 6 ? true : undefined,
    )
    expect(await figuresOf(3)).toMatchObject(whole)
    await session.deleteSchedule('outage', 'words')
  })

  it('is played again by who asks for it while it loses them once more', async () => {
    let lost = 0
    isLost = (of) => of.run === 'twice' && of.version === 3 && of.sample > 0 && lost++ < 10
    const evaluation = { every: 0, suites: [words] }
    await session.start('twice', tinyConfig({ evaluation, rollout: { maxAttempts: 1 } }))
    const { evaluations } = await session.result('twice')
    expect(evaluations.find(({ version }) => version === 3)).toMatchObject({ n: 1 })
    const id = evaluationId(runId('twice'), 'words', 3, tinyConfig().seed)
    await client.workflow.getHandle(id).result() // It reports before it ends.
    const playing = evaluationGates.hold('twice')
    const first = session.evaluate('twice', {})
    await eventually('the first to play', async () => {
      const { status } = await client.workflow.getHandle(id).describe()
      return status.name === 'RUNNING' ? true : undefined
    })
    const second = session.evaluate('twice', {})
    playing.open()
    expect(await first).toMatchObject({ n: 1 })
    expect(await second).toMatchObject({ n: 6 })
  })

  it('is played again by the run itself where it is ordered to', async () => {
    isLost = (of) => of.run === 'ordered' && of.version === 1
    const updating = updateGates.hold('ordered')
    const first = { every: 1_000_000, suites: [words] }
    await session.start(
      'ordered',
      tinyConfig({ evaluation: first, rollout: { maxAttempts: 1 }, training: { updates: 2 } }),
    )
    await untilUpdating('ordered', 1)
    const second = updateGates.hold('ordered')
    isLost = (of) => of.run === 'ordered' && of.version === 1 && of.sample > 0
    updating.open()
    await untilUpdating('ordered', 2)
    await session.evaluateNow('ordered')
    await evaluated('ordered', 1)
    const id = evaluationId(runId('ordered'), 'words', 1, tinyConfig().seed)
    await client.workflow.getHandle(id).result() // It reports before it ends.
    // An execution that plays the same evaluation loses five episodes as well; the order begins after it.
    let lost = 0
    isLost = (of) => of.run === 'ordered' && of.sample > 0 && lost++ < 5
    const playing = evaluationGates.hold('ordered')
    const other = session.evaluate('ordered', { version: 1 })
    await eventually('the other execution to play', async () => {
      const { status } = await client.workflow.getHandle(id).describe()
      return status.name === 'RUNNING' ? true : undefined
    })
    const order = session.evaluateNow('ordered')
    await eventually('the order to have arrived', async () =>
      (await session.audit('ordered')).length === 2 ? true : undefined,
    )
    playing.open()
    expect(await other).toMatchObject({ n: 1 })
    await order
    await untilProgress(session, 'ordered', ({ evaluations }) =>
      evaluations.some(({ version, n }) => version === 1 && n === 6),
    )
    second.open()
    expect(await session.result('ordered')).toMatchObject({ phase: 'done' })
  })
})

it('the best version of a run is promoted, and another where it is named', async () => {
  const { checkpointsDir } = homeAt(home).run(runId('saved'))
  const best = await session.promote('saved')
  expect(best).toMatchObject({ by: 'ada', evaluation: { suite: 'words', success: 1, n: 6 } })
  expect(await readPromotion(checkpointsDir)).toEqual(best)
  await expect(session.promote('saved', { version: 99 })).rejects.toMatchObject({ kind: 'unknown_version' })
  expect(await session.promote('saved', { version: 3 })).toMatchObject({ version: 3 })
  expect((await session.audit('saved')).at(-1)).toMatchObject({ what: 'promote', from: best.version, to: 3 })
})

// [EVALUATION-2]
it('results are found by their search attributes', async () => {
  const query = 'WorkflowType = "evaluation" AND PerdureSuite = "words" AND PerdureSuccess < 0.5'
  await eventually('the evaluations that failed', async () => {
    const found: string[] = []
    for await (const { workflowId } of client.workflow.list({ query })) found.push(workflowId)
    return found.some((id) => id.startsWith('saved/e-words-v1')) ? true : undefined
  })
})

// [RUN-5]
it('evaluations do not block the training, and the run ends when the last of them has reported', async () => {
  const playing = evaluationGates.hold('slow')
  const suites = [{ ...words, episodes: 1 }]
  await session.start('slow', tinyConfig({ evaluation: { every: 1, suites }, training: { updates: 2 } }))
  const trained = await untilProgress(session, 'slow', ({ step }) => step === 2)
  expect(trained).toMatchObject({ evaluations: [] })
  expect(trained.phase).not.toBe('done')
  playing.open()
  const { phase, evaluations } = await session.result('slow')
  expect(phase).toBe('done')
  expect(evaluations.map(({ version }) => version).sort()).toEqual([0, 1, 2])
})

it('an evaluation of which no episode ended with a reward has no figure, and says so [EVALUATION-3]', async () => {
  const suites = [{ ...words, episodes: 1 }]
  await session.start('mute', tinyConfig({ evaluation: { every: 0, suites }, rollout: { maxAttempts: 1 } }))
  const { evaluations, failedEvaluations } = await session.result('mute')
  expect(evaluations).toEqual([])
  expect(failedEvaluations?.map(({ version }) => version).sort()).toEqual([0, 3])
  for (const { reason } of failedEvaluations ?? []) expect(reason).toContain('ended with a reward')
  const { found, failed } = await store.evaluations.findings(runId('mute'))
  expect(found).toEqual([])
  expect(failed).toHaveLength(2)
  // The same episodes would be found again, so the run does not repeat the evaluation.
  const ids = (await fetchHistories(home)).map(({ workflowId }) => workflowId)
  expect(ids.filter((id) => /^mute\/e-[^/]+$/.test(id))).toHaveLength(2)
  const again = session.evaluate('mute', { version: 3, episodes: 1 })
  await expect(again).rejects.toThrow(/none of the 1 episodes of words at version 3 ended with a reward/)
})

it('every execution replays', async () => {
  expect(await replay(await fetchHistories(home))).toEqual([])
})
