/** Experiments: arms and seeds as durable runs, on the real server. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outcomesOf } from '../../client/experiment/experiment-outcomes.ts'
import { type ExperimentReport, reportOn } from '../../client/experiment/experiment-report.ts'
import { knownExperiment } from '../../client/experiment/experiments.ts'
import { completedBy, measureRuns, notBegun } from '../../client/experiment/measured-runs.ts'
import { readReports, writeReport } from '../../client/experiment/written-reports.ts'
import { gradeCard } from '../../client/referee/card-grading.ts'
import { cardOf } from '../../client/referee/card-making.ts'
import { type ResultCard, readCard } from '../../client/referee/result-card.ts'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { openWatched } from '../../envs/contract/watched-task.ts'
import { experimentName, type RunId, runId } from '../../identity/identity.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { fetchHistories, replay, withClient } from '../support/executions.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { tinyExperiment } from '../support/tiny-experiment.ts'
import {
  createCopyingTrainer,
  createGate,
  createSpeakingEngine,
  type Gate,
  sayYesOrNo,
  tinyConfig,
} from '../support/tiny-run.ts'

const home = temporaryHome()
const { definition } = createEchoTask({ kindOf: (instance) => (instance.endsWith('0') ? 'first' : 'later') })
/** Holds the first version of the run that is begun next; opened by the test that set it. */
let held: Gate | undefined
/** Episodes whose engine fails, whatever attempt is made at them. */
let isLost: (episode: string) => boolean = () => false
let session: TrainingSession
let store: Store

beforeAll(async () => {
  store = await openStore(homeAt(home).storeFile)
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: async () => {
      const gate = held
      held = undefined
      await gate?.passed
      return createSpeakingEngine((request) => {
        if (isLost(request.cacheKey)) throw new StorageFault('internal', 'the engine is gone')
        return sayYesOrNo(request)
      })
    },
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => definition,
  })
}, 120_000)

afterAll(async () => {
  await session?.close()
  await store?.close()
  removeHome(home)
})

const all = ['one.1', 'two.1', 'one.2', 'two.2']

function runsOf(experiment: string): readonly RunId[] {
  return all.map((run) => runId(`${experiment}.${run}`))
}

async function statuses(experiment: string): Promise<readonly (string | undefined)[]> {
  return Promise.all(runsOf(experiment).map(async (run) => (await store.runs.get(run))?.status))
}

async function reported(experiment: string): Promise<ExperimentReport> {
  const known = await knownExperiment(store, homeAt(home), experiment)
  return reportOn(await measureRuns(store, known.statement), known)
}

async function card(): Promise<ResultCard> {
  const known = await knownExperiment(store, homeAt(home), 'several')
  const made = { perdure: 'this one', folder: home }
  return cardOf(store, known.statement, await reported('several'), made)
}

/** Grades a card as one that was read from a file. */
async function grade(given: ResultCard) {
  const file = join(home, 'several.card.json')
  writeFileSync(file, JSON.stringify(given))
  return gradeCard(
    readCard(file),
    () => openWatched(definition, {}),
    () => undefined,
  )
}

describe('an experiment', () => {
  const stated = tinyExperiment('several')
  const gate = createGate()
  let report: ExperimentReport

  // [EXPERIMENT-3]
  it('begins runs together, but of those with the same warm start one first', async () => {
    held = gate
    expect(await session.beginExperiment(stated, { parallel: 4 })).toEqual({ isNew: true })
    // The engine of either of the first two is held: then the run with that seed of the other arm does not begin.
    const begun = await eventually('three runs to begin', async () => {
      const found = await statuses('several')
      return found.filter((status) => status !== undefined).length === 3 ? found : undefined
    })
    const first = (await store.runs.version(runId('several.one.1'))) === undefined ? 0 : 1
    expect(begun[2 * first]).toBe('running')
    expect(begun[2 * first + 1]).toBeUndefined()
  }, 60_000)

  // [REPORT-3]
  it('says of its claims that they are open while runs are missing', async () => {
    const [claim] = (await reported('several')).hypotheses
    expect(claim).toMatchObject({ verdict: 'not shown', p: 1 })
    expect(claim?.missing.length).toBeGreaterThan(0)
  })

  // [EXPERIMENT-1]
  it('does every run once, with the configuration of its arm and its own seed', async () => {
    gate.open()
    const endings = await session.experimentResult('several')
    expect(endings).toEqual(runsOf('several').map((run) => ({ run, status: 'done' })))
    for (const [at, run] of runsOf('several').entries()) {
      const config = (await store.runs.get(run))?.config
      expect(config).toMatchObject({ seed: at < 2 ? 1 : 2, training: { updates: 1 + (at % 2) } })
      expect(await store.updates.list(run)).toHaveLength(1 + (at % 2))
    }
    report = await reported('several')
  }, 120_000)

  // [EXPERIMENTS-1] [EXPERIMENT-START-1]
  it('keeps the statement that it began with, and refuses another one of its name', async () => {
    const before = await store.experiments.get(experimentName('several'))
    const changed = { ...stated, source: { ...stated.source, sha256: '1'.repeat(64) } }
    const [claim] = stated.hypotheses
    await expect(
      session.beginExperiment(
        { ...changed, hypotheses: [{ ...claim, by: 0.1 } as NonNullable<typeof claim>], seeds: [1, 2, 3] },
        { parallel: 1 },
      ),
    ).rejects.toMatchObject({
      kind: 'experiment_changed',
      message: expect.stringMatching(/seeds, hypotheses/),
    })
    // Other comments, say: it states the same.
    expect(await session.beginExperiment(changed, { parallel: 1 })).toEqual({ isNew: false })
    expect(await session.experimentResult('several')).toHaveLength(4)
    expect(
      await store.experiments.insert({ name: experimentName('several'), statement: {}, created: 1 }),
    ).toBe('already')
    expect(await store.experiments.get(experimentName('several'))).toEqual(before)
  })

  it('takes no run over that is not its own', async () => {
    await session.start('foreign.two.2', tinyConfig({ training: { updates: 0 } }))
    await expect(session.beginExperiment(tinyExperiment('foreign'), { parallel: 1 })).rejects.toMatchObject({
      kind: 'run_exists',
      message: expect.stringContaining('foreign.two.2'),
    })
    expect(await store.experiments.get(experimentName('foreign'))).toBeUndefined()
    await session.result('foreign.two.2')
  })

  // [REPORT-1] [REPORT-2]
  it('reports all arms, seeds and claims, the same each time', async () => {
    // Processor time is counted now and then.
    const withoutTime = (text: string) => text.replaceAll(/"cpuSeconds":[\d.e-]+/g, '')
    const again = await reported('several')
    expect(withoutTime(JSON.stringify(again))).toBe(withoutTime(JSON.stringify(report)))
    expect(report.arms.map(({ arm }) => arm)).toEqual(['one', 'two'])
    // The first episode of each suite says yes, and no other.
    for (const { suites } of report.arms)
      expect(suites).toEqual([
        { suite: 'few', value: { mean: 1 / 3, low: 1 / 3, high: 1 / 3, seeds: 2 }, seeds: [1 / 3, 1 / 3] },
      ])
    expect(report.hypotheses).toMatchObject([
      {
        name: 'two over one',
        difference: 0,
        seeds: [0, 0],
        p: 1,
        missing: [],
        instances: 3,
        verdict: 'not shown',
        byKind: [
          { kind: 'first', instances: 1, difference: 0, low: 0, high: 0 },
          { kind: 'later', instances: 2, difference: 0, low: 0, high: 0 },
        ],
      },
    ])
    expect(report.curves.map(({ points }) => points.map(({ version }) => version))).toEqual([
      [0, 1],
      [0, 2],
    ])
    for (const { cost } of report.runs) {
      // 2·2 and 4·2 training episodes, and two evaluations of three.
      expect([4 + 6, 8 + 6]).toContain(cost?.episodes)
      expect(cost?.seconds).toBeGreaterThan(0)
    }
  })

  // [REPORT-FILES-1]
  // [CARD-1]
  it('has a card with what became of the episodes of each arm', async () => {
    const { arms, runs, panels } = await card()
    expect(arms.map(({ arm, evaluation, training }) => [arm, evaluation, training])).toMatchObject([
      ['one', { planned: 12, played: 12, lost: {} }, { cutOff: 0, timedOut: 0, retried: 0, lost: {} }],
      ['two', { planned: 12, played: 12, lost: {} }, { cutOff: 0, timedOut: 0, retried: 0, lost: {} }],
    ])
    for (const { training } of arms) expect(training.played).toBeGreaterThan(0)
    expect(panels).toMatchObject([{ suite: 'few', task: 'echo' }])
    expect(runs.flatMap(({ evaluations }) => evaluations.map(({ n }) => n))).toEqual(Array(8).fill(3))
  })

  // [GRADING-1]
  it('is graded again from its card alone, and refused by the name of what was changed', async () => {
    const whole = await card()
    expect(await grade(whole)).toEqual({ episodes: 24, figures: 8, claims: whole.claims.length })
    const change = async (edit: (card: ResultCard) => void) => {
      const changed = structuredClone(whole)
      edit(changed)
      return await grade(changed)
    }
    const [run] = whole.runs
    const [evaluation] = run?.evaluations ?? []
    const place = evaluation?.episodes.instances[2] ?? 0
    const subject = `${run?.run} v${evaluation?.version} on few, episode 3 (instance ${whole.panels[0]?.instances[place]})`
    const column = (of: ResultCard) => of.runs[0]?.evaluations[0]?.episodes
    const isWon = column(whole)?.rewards[2] === 1
    await expect(change((of) => column(of)?.rewards.splice(2, 1, isWon ? 0 : 1))).rejects.toMatchObject({
      kind: 'changed_card',
      message: expect.stringContaining(`${subject} earned`),
    })
    await expect(change((of) => column(of)?.outcomes.splice(2, 1, 'turn_limit'))).rejects.toThrow(
      `${subject} ended as turn_limit`,
    )
    await expect(
      change((of) => Object.assign(of.runs[0]?.evaluations[0] ?? {}, { success: 0.9 })),
    ).rejects.toThrow(/on few has the success 0.9, and its episodes give/)
    await expect(change((of) => of.panels[0]?.instances.reverse())).rejects.toThrow('panel few')
    await expect(change((of) => Object.assign(of.claims[0] ?? {}, { p: 0.001 }))).rejects.toThrow(
      `the claim ${whole.claims[0]?.name}`,
    )
  })

  it('is written as JSON, CSV and SVG, without a folder of the machine', () => {
    const folder = join(home, 'results')
    const files = writeReport(report, folder)
    expect(readdirSync(folder).toSorted()).toEqual(['several-few.svg', 'several.csv', 'several.json'])
    const [json = '', csv = ''] = files.map((file) => readFileSync(file, 'utf8'))
    expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(report)))
    // Two versions of each of four runs.
    expect(csv.trimEnd().split('\r\n')).toHaveLength(1 + 8)
    expect(csv).toContain('two,2,several.two.2,done,few,2,true,0.3333333333333333,3')
    for (const file of files) expect(readFileSync(file, 'utf8')).not.toContain(home)
    expect(existsSync(join(folder, 'several.json.part'))).toBe(false)
  })
})

describe('an experiment of which some runs were done elsewhere', () => {
  // [OUTCOMES-1] [WRITTEN-2]
  it('reports them as they were measured, from the report that was written there', async () => {
    const known = await knownExperiment(store, homeAt(home), 'several')
    const { statement } = known
    const measured = await measureRuns(store, statement)
    const report = await reportOn(measured, known)
    const outcomes = await outcomesOf(statement.suites, measured)
    const [json = ''] = writeReport({ ...report, outcomes }, join(home, 'written'))
    const { runs, began } = readReports([json, json], statement)
    expect(began).toBe(known.created)
    const again = await reportOn(completedBy(notBegun(statement), runs), known)
    const { arms, hypotheses, curves } = JSON.parse(JSON.stringify(report))
    expect(JSON.parse(JSON.stringify(again))).toMatchObject({ arms, hypotheses, curves })
    expect(again.runs.map(({ machine }) => machine)).toEqual(again.runs.map(() => report.machine))
  })

  // [WRITTEN-1]
  it('refuses a report of other files, and what is none', async () => {
    const { statement } = await knownExperiment(store, homeAt(home), 'several')
    const file = join(home, 'written', 'several.json')
    const other = { ...statement, source: { ...statement.source, sha256: '2'.repeat(64) } }
    expect(() => readReports([file], other)).toThrow(/other files state/)
    expect(() => readReports([file], { ...statement, name: 'others' })).toThrow(
      /report of experiment several/,
    )
    writeFileSync(join(home, 'written', 'half.json'), readFileSync(file, 'utf8').slice(0, 99))
    expect(() => readReports([join(home, 'written', 'half.json')], statement)).toThrow(/it is no JSON/)
    expect(() => readReports([join(home, 'results', 'several.json')], statement)).toThrow(/outcomes/)
    expect(() => readReports([join(home, 'none.json')], statement)).toThrow(/cannot be read/)
  })

  it('does the others alone', async () => {
    const runs = runsOf('partly')
    const elsewhere = runs.slice(0, 3)
    await session.beginExperiment(tinyExperiment('partly'), { parallel: 2, elsewhere })
    expect(await session.experimentResult('partly', elsewhere)).toEqual([{ run: runs[3], status: 'done' }])
    expect(await statuses('partly')).toEqual([undefined, undefined, undefined, 'done'])
    // Without them, they are done here too.
    await session.beginExperiment(tinyExperiment('partly'), { parallel: 2 })
    expect(await session.experimentResult('partly')).toHaveLength(4)
    expect(await statuses('partly')).toEqual(['done', 'done', 'done', 'done'])
  }, 120_000)
})

describe('an experiment of which a run is stopped', () => {
  const runs = runsOf('one-by-one')

  // [EXPERIMENT-2]
  it('does the others, one at a time, though its workflow begins again meanwhile', async () => {
    const gate = createGate()
    held = gate
    await session.beginExperiment(tinyExperiment('one-by-one'), { parallel: 1 })
    await eventually('the first run to be held', () => held === undefined || undefined)
    await session.stop(runs[0] ?? '')
    const ended = session.experimentResult('one-by-one')
    // As a takeover does with a history that does not replay: the next execution takes in what there is.
    await restart(home, 'one-by-one/experiment')
    gate.open()
    const endings = await ended
    expect(endings.map(({ status }) => status)).toEqual(['stopped', 'done', 'done', 'done'])
    const records = await Promise.all(runs.map((run) => store.runs.get(run)))
    for (const [at, record] of records.slice(1).entries())
      expect(record?.created).toBeGreaterThanOrEqual(records[at]?.ended ?? Number.POSITIVE_INFINITY)
  }, 120_000)

  // [EXPERIMENT-START-2]
  it('resumes it when it is begun again, and leaves those that are done', async () => {
    const before = await store.runs.get(runs[1] ?? runId('none'))
    expect(await session.beginExperiment(tinyExperiment('one-by-one'), { parallel: 2 })).toEqual({
      isNew: false,
    })
    const endings = await session.experimentResult('one-by-one')
    expect(endings.map(({ status }) => status)).toEqual(['done', 'done', 'done', 'done'])
    expect(await store.runs.get(runs[1] ?? runId('none'))).toEqual(before)
    expect((await store.experiments.get(experimentName('one-by-one')))?.ended).toBeGreaterThan(0)
  }, 120_000)

  // [EXPERIMENT-2]
  it('has those that were stopped go on one at a time too', async () => {
    const stated = tinyExperiment('halted')
    const runs = runsOf('halted')
    const halted = runs.slice(0, 2)
    const gates = halted.map(() => createGate())
    held = gates[0]
    await session.beginExperiment(stated, { parallel: 1 })
    for (const [at, run] of halted.entries()) {
      await eventually(`run ${run} to be held`, () => (held === undefined ? true : undefined))
      await session.stop(run)
      held = gates[at + 1]
      gates[at]?.open()
    }
    const endings = await session.experimentResult('halted')
    expect(endings.map(({ status }) => status)).toEqual(['stopped', 'stopped', 'done', 'done'])
    await session.beginExperiment(stated, { parallel: 1 })
    await eventually('all runs to be done', async () => {
      const found = await statuses('halted')
      expect(found.filter((status) => status === 'running').length).toBeLessThanOrEqual(1)
      return found.every((status) => status === 'done') || undefined
    })
    for (const [at, run] of halted.entries()) expect(await store.updates.list(run)).toHaveLength(1 + (at % 2))
  }, 120_000)

  it('is watched run by run', async () => {
    const courses = await session.experimentCourse('one-by-one')
    expect(courses).toEqual(
      runs.map((run, at) => ({
        run,
        arm: at % 2 === 0 ? 'one' : 'two',
        seed: at < 2 ? 1 : 2,
        status: 'done',
      })),
    )
    await expect(session.experimentCourse('none')).rejects.toMatchObject({ kind: 'unknown_experiment' })
  })
})

/** Begins an execution again with its input, in place of the one that there is. */
async function restart(directory: string, workflowId: string): Promise<void> {
  await withClient(directory, async (client) => {
    const { events } = await client.workflow.getHandle(workflowId).fetchHistory()
    const begun = events?.[0]?.workflowExecutionStartedEventAttributes
    const [plan] = (begun?.input?.payloads ?? []).map(({ data }) =>
      JSON.parse(Buffer.from(data ?? []).toString()),
    )
    await client.workflow.start('experiment', {
      workflowId,
      taskQueue: begun?.taskQueue?.name ?? '',
      args: [plan],
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    })
  })
}

// [LOST-EPISODES-1] [REPORT-4]
it('an experiment leaves out an evaluation that lost episodes, and plays those when it is asked for again', async () => {
  const { arms, ...stated } = tinyExperiment('lossy', { seeds: [1] })
  const once = arms.map((arm) => ({
    ...arm,
    config: { ...arm.config, rollout: { ...arm.config.rollout, maxAttempts: 1 } },
  }))
  isLost = (episode) => /^lossy\.two\.1\/e-few-v2-1\/s[12]\//.test(episode)
  await session.beginExperiment({ ...stated, arms: once }, { parallel: 2 })
  await session.experimentResult('lossy')
  const { hypotheses, runs } = await reported('lossy')
  expect(hypotheses.map(({ missing }) => missing)).toEqual([[1]])
  const lost = { suite: 'few', version: 2, n: 1, planned: 3 }
  expect(runs.flatMap(({ incomplete = [] }) => incomplete)).toMatchObject([lost])

  isLost = () => false
  await session.playLostEpisodes('lossy')
  const again = await reported('lossy')
  expect(again.hypotheses.map(({ missing }) => missing)).toEqual([[]])
  expect(again.runs.flatMap(({ incomplete = [] }) => incomplete)).toEqual([])
}, 120_000)

it('every execution replays', async () => {
  const histories = await fetchHistories(home)
  expect(new Set(histories.map(({ type }) => type))).toContain('experiment')
  expect(await replay(histories)).toEqual([])
}, 120_000)
