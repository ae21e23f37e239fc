/**
 * Upgrade in mid-run, on the real server with real workers: builds of the workflows side by side, and one that takes
 * over from another that is gone; and histories that do not replay on the build that wrote them.
 */
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { parseEpisodeId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { type Execution, fetchHistories } from '../support/executions.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import {
  createCopyingTrainer,
  createGate,
  createSpeakingEngine,
  type Gate,
  sayYesOrNo,
  tinyConfig,
} from '../support/tiny-run.ts'
import { breaking, compatible, incompatible, workflowCopies } from '../support/workflow-builds.ts'

const home = temporaryHome()
const copies = workflowCopies()
const folders = {
  compatible: copies.changed('compatible', compatible),
  incompatible: copies.changed('incompatible', incompatible),
  breaking: copies.changed('breaking', breaking),
}
const updates = 3
/** Episodes of the groups of the next two updates: two groups of two for each. */
const held = 8
const { definition } = createEchoTask()
/** Turns of groups after the first update wait for the gate of their run. */
const gates = new Map<string, Gate>()
const sampled: string[] = []
/** Episodes that wait for a gate. */
const waiting = new Set<string>()
const learningRates = new Map<string, number[]>()
const open = new Set<Process>()

/** A process with all roles and a build of the workflows. */
interface Process {
  readonly session: TrainingSession
  readonly said: readonly string[]
  /** As Ctrl-C does: turns in progress are left. */
  end(): Promise<void>
}

interface StartOptions {
  readonly shared: boolean
  readonly workflows?: string
  readonly takeoverLookMs?: number
}

async function start(options: StartOptions): Promise<Process> {
  const said: string[] = []
  const leaving = createGate()
  let left = false
  const session = await openSession({
    ...options,
    home,
    roles: 'all',
    log: (line) => said.push(line),
    createEngine: () =>
      Promise.resolve(
        createSpeakingEngine(async (request) => {
          const gate = gateOf(request.cacheKey)
          if (gate !== undefined) {
            waiting.add(request.cacheKey)
            await Promise.race([leaving.passed, gate.passed])
          }
          if (left) throw new RangeError('the process ends')
          sampled.push(`${request.cacheKey} ${request.context.length}`)
          return sayYesOrNo(request)
        }),
      ),
    createTrainer: () =>
      createCopyingTrainer(async ({ toCheckpointDir, optimizer }) => {
        const [, run = ''] = /runs\/([^/]+)\//.exec(toCheckpointDir) ?? []
        learningRates.set(run, [...(learningRates.get(run) ?? []), optimizer.learningRate])
      }),
    findEnvironment: () => definition,
  })
  const process: Process = {
    session,
    said,
    async end() {
      open.delete(process)
      left = true
      leaving.open()
      await session.close()
    },
  }
  open.add(process)
  return process
}

/** Groups of the first update play on; so do first turns, that what waits is in the middle of its episode. */
function gateOf(episode: string): Gate | undefined {
  const [, run = '', group = ''] = /^(.*)\/g(\d+)\/s\d+\/a\d+$/.exec(episode) ?? []
  const isFirst = !sampled.some((turn) => turn.startsWith(`${episode} `))
  return Number(group) < 2 || isFirst ? undefined : gates.get(run)
}

/** Starts a run that waits after its first update, in the middle of the episodes of the next. */
async function startHeld(
  session: TrainingSession,
  run: string,
  dispatch: 'local' | 'server' = 'local',
): Promise<Gate> {
  const gate = createGate()
  gates.set(run, gate)
  const rollout = { maxStaleness: 1 }
  await session.start(run, tinyConfig({ training: { updates }, rollout, orchestration: { dispatch } }))
  await eventually(`run ${run} to wait in all its episodes`, () =>
    waitingOf(run) === held ? true : undefined,
  )
  return gate
}

function waitingOf(run: string): number {
  return [...waiting].filter((episode) => episode.startsWith(`${run}/`)).length
}

async function says(process: Process, words: RegExp): Promise<string> {
  return eventually(String(words), () => process.said.find((line) => words.test(line)))
}

/** Builds that completed a task of any workflow of a run, and how often one failed. */
async function tasksOf(run: string) {
  const executions = (await fetchHistories(home)).filter(
    ({ workflowId }) => workflowId === run || workflowId.startsWith(`${run}/`),
  )
  const builds = new Set(executions.flatMap(buildsOf))
  const failed = executions.filter(({ history }) => eventsOf(history).some(isFailedTask))
  return { builds: [...builds], failed: failed.map(({ workflowId }) => workflowId), executions }
}

type Event = Awaited<ReturnType<typeof eventsOf>>[number]

function eventsOf(history: Execution['history']) {
  return history.events ?? []
}

function isFailedTask({ workflowTaskFailedEventAttributes }: Event): boolean {
  return workflowTaskFailedEventAttributes != null
}

function buildsOf({ history }: Execution): readonly string[] {
  return eventsOf(history).flatMap(
    ({ workflowTaskCompletedEventAttributes: done }) => done?.deploymentVersion?.buildId ?? [],
  )
}

/** Every update once with groups of its own, and nothing sampled again that had been before. */
async function expectWhole(run: string, before: readonly string[] = []): Promise<void> {
  await using store = await openStore(homeAt(home).storeFile)
  const done = await store.updates.list(runId(run))
  expect(done.map(({ step }) => step)).toEqual([1, 2, 3])
  const consumed = done.flatMap(({ groups }) => groups)
  expect(new Set(consumed).size).toBe(2 * updates)
  expect(sampled.slice(before.length).filter((turn) => before.includes(turn))).toEqual([])
  for (const group of consumed) {
    const episodes = await store.episodes.list(group)
    expect(episodes.every(({ id }) => parseEpisodeId(id).attempt === 0)).toBe(true)
  }
}

afterEach(async () => {
  for (const process of open) await process.end()
})

afterAll(() => {
  copies[Symbol.dispose]()
  removeHome(home)
})

describe('builds side by side', () => {
  it('running workflows finish on theirs, new ones start on the new, after a compatible and an incompatible change', async () => {
    const old = await start({ shared: true })
    const first = await startHeld(old.session, 'first', 'server')
    const next = await start({ shared: true, workflows: folders.compatible })
    await says(next, /^new workflows start on build/)
    const second = await startHeld(next.session, 'second', 'server')
    // A person's process takes over what was left; here nothing is.
    const newest = await start({ shared: false, workflows: folders.incompatible })
    await says(newest, /^new workflows start on build/)
    const third = await startHeld(newest.session, 'third', 'server')

    for (const gate of [first, second, third]) gate.open()
    const runs = ['first', 'second', 'third']
    for (const run of runs)
      expect(await old.session.result(run)).toMatchObject({ phase: 'done', step: updates })
    const tasks = await Promise.all(runs.map(tasksOf))
    for (const { builds, failed } of tasks) {
      expect(builds).toHaveLength(1)
      expect(failed).toEqual([])
    }
    expect(new Set(tasks.flatMap(({ builds }) => builds)).size).toBe(3)
    for (const run of runs) await expectWhole(run)
  }, 300_000)
})

describe('a build that is gone', () => {
  it('what replays continues at its last step, on the build of workers that find no others', async () => {
    const old = await start({ shared: false })
    const gate = await startHeld(old.session, 'mover')
    await old.end()
    const before = [...sampled]
    const next = await start({ shared: true, workflows: folders.compatible, takeoverLookMs: 500 })
    gate.open()
    expect(await next.session.result('mover')).toMatchObject({ phase: 'done', step: updates })
    await says(next, /continues what build .* began: mover/)
    const { builds, failed, executions } = await tasksOf('mover')
    expect(builds).toHaveLength(2)
    expect(failed).toEqual([])
    expect(executions.filter(({ workflowId }) => workflowId === 'mover')).toHaveLength(1)
    await expectWhole('mover', before)
  }, 300_000)

  it('what does not replay begins again when it is resumed, and does nothing twice; orders since the last publication hold', async () => {
    const old = await start({ shared: false })
    const gate = await startHeld(old.session, 'changed')
    await old.session.change('changed', { 'learning.learningRate': 0.25 })
    await old.end()
    const before = [...sampled]
    const next = await start({ shared: false, workflows: folders.incompatible })
    await next.session.resume('changed')
    gate.open()
    expect(await next.session.result('changed')).toMatchObject({ phase: 'done', step: updates })
    await says(next, /cannot replay what build .* began/)
    const { executions } = await tasksOf('changed')
    const own = executions.filter(({ workflowId }) => workflowId === 'changed')
    expect(own.map((execution) => new Set(buildsOf(execution)).size)).toEqual([1, 1])
    await expectWhole('changed', before)
    expect(learningRates.get('changed')?.slice(1)).toEqual([0.25, 0.25])
  }, 300_000)
})

describe('a history that does not replay on the build that wrote it', () => {
  // [TAKEOVER-1] [RESULT-1]
  it('heals itself: the run continues from its last publication, does nothing twice, and the audit trail says so', async () => {
    const options = { shared: false, workflows: folders.breaking, takeoverLookMs: 500 }
    const first = await start(options)
    const gate = await startHeld(first.session, 'broken')
    await first.session.change('broken', { 'learning.learningRate': 0.25 })
    await first.end()
    const before = [...sampled]
    const next = await start(options)
    const ended = next.session.result('broken')
    gate.open()
    await says(next, /broken.*: its history does not replay on the build that wrote it/)
    expect(await ended).toMatchObject({ phase: 'done', step: updates })
    const { executions } = await tasksOf('broken')
    const own = executions.filter(({ workflowId }) => workflowId === 'broken')
    expect(own.flatMap(({ history }) => eventsOf(history)).some(isFailedTask)).toBe(true)
    await expectWhole('broken', before)
    expect(learningRates.get('broken')?.slice(1)).toEqual([0.25, 0.25])
    const restarts = (await next.session.audit('broken')).filter(({ what }) => what === 'restart')
    expect(restarts).toMatchObject([{ by: 'takeover', reason: expect.stringContaining('does not replay') }])
  }, 300_000)
})
