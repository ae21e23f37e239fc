/**
 * The cost of a scheduled evaluation for training: whether it fires on time, and how much slower training is meanwhile.
 *
 * Invariants
 * - Nothing is replaced: the embedded policy samples for both; turns are counted where they are asked for.
 * - Training is compared with itself in the same run, in the times with and without an evaluation in flight.
 * - The reference is what the evaluation's own share of the turns leaves to training.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openSession, type TrainingSession } from '../client/training-session.ts'
import { configSchema, type RunConfig } from '../config/schema.ts'
import { runId } from '../identity/identity.ts'
import { createEmbeddedEngine } from '../policy/engines/embedded.ts'
import type { Engine } from '../policy/engines/engine.ts'
import { openClient } from '../test/executions.ts'
import type { Figure } from './figure.ts'

const run = runId('scheduled')
const everySeconds = 60
const firings = 5
const episodes = 120
/** Updates before the first firing counts: caches are filled and episodes out of step. */
const updatesBefore = 3

/** When a turn was sampled, and for whom. */
interface Turn {
  readonly at: number
  readonly kind: 'training' | 'evaluation'
}

/** An evaluation of the schedule; milliseconds since the epoch. */
interface Firing {
  readonly scheduled: number
  readonly began: number
  readonly ended: number
}

/** Runs the benchmark, about ten minutes. */
export async function bench(): Promise<Figure[]> {
  const directory = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  const turns: Turn[] = []
  try {
    const session = await openSession({
      home: directory,
      roles: 'all',
      log: (line) => console.error(line),
      createEngine: async ({ policy: { threads, contextLength } }) =>
        counting(await createEmbeddedEngine({ threads, contextLength, maxBatch: 64, exact: false }), turns),
    })
    try {
      await session.start(run, config())
      await until(async () => (await trained(session)) >= updatesBefore)
      const from = Date.now()
      await session.schedule(run, { timing: { every: `${everySeconds}s` } })
      const fired = await watch(session, directory)
      await session.stop(run, { now: true })
      return figures(
        turns.filter(({ at }) => at >= from),
        fired,
      )
    } finally {
      await session.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/**
 * Easy games, most of which are won after a short warm start, and some are not: so each update makes a version to
 * evaluate. The learning rate is so small that episodes stay as long as they are.
 */
function config(): RunConfig {
  const settings = { difficulty: 'easy', tasks: ['place'], objects: { min: 2, max: 2 } }
  return configSchema.parse({
    tasks: [{ task: 'alfworld', turnLimit: 10, settings }],
    rollout: { groupSize: 8, groupsPerUpdate: 16, refill: 0, maxTokensPerTurn: 24 },
    policy: { hiddenSize: 64, layers: 2, intermediateSize: 192, vocabularySize: 512, contextLength: 512 },
    warmStart: {
      demonstrations: 120,
      epochs: 24,
      batchTokens: 1024,
      learningRate: 0.005,
      observationWeight: 0.3,
    },
    learning: { learningRate: 1e-6, microBatchTokens: 2048 },
    training: { updates: 10_000 },
    evaluation: { every: 0, suites: [{ name: 'held_out', task: 'alfworld', split: 'test', episodes }] },
  })
}

function counting(engine: Engine, turns: Turn[]): Engine {
  return {
    capabilities: engine.capabilities,
    load: (version, directory) => engine.load(version, directory),
    unload: (version) => engine.unload(version),
    get versions() {
      return engine.versions
    },
    async sample(request, signal) {
      const sampled = await engine.sample(request, signal)
      turns.push({ at: Date.now(), kind: request.background === true ? 'evaluation' : 'training' })
      return sampled
    },
    release: (key) => engine.release(key),
    statistics: () => engine.statistics(),
    close: () => engine.close(),
  }
}

/** @throws Error the run failed */
async function trained(session: TrainingSession): Promise<number> {
  const progress = await session.progress(run)
  if (progress.phase === 'failed') throw new Error(`the run failed: ${progress.message}`)
  return progress.step
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(200)
}

/** Waits until the schedule has fired often enough and all that it began has ended. */
async function watch(session: TrainingSession, directory: string): Promise<readonly Firing[]> {
  const { client, close } = await openClient(directory)
  try {
    const [schedule] = await session.schedules(run)
    if (schedule === undefined) throw new Error('the schedule is gone')
    const handle = client.schedule.getHandle(schedule.schedule)
    for (;;) {
      await trained(session)
      const { recentActions } = (await handle.describe()).info
      if (recentActions.length >= firings) {
        await session.pauseSchedule(run, schedule.name)
        const fired: Firing[] = []
        for (const { scheduledAt, action } of recentActions.slice(0, firings)) {
          const evaluation = client.workflow.getHandle(action.workflow.workflowId)
          if ((await evaluation.result()) === null)
            throw new Error(`${action.workflow.workflowId} found no new version: nothing was evaluated`)
          const { startTime, closeTime } = await evaluation.describe()
          fired.push({
            scheduled: scheduledAt.getTime(),
            began: startTime.getTime(),
            ended: closeTime?.getTime() ?? Date.now(),
          })
        }
        return fired
      }
      await delay(500)
    }
  } finally {
    await close()
  }
}

function figures(turns: readonly Turn[], fired: readonly Firing[]): Figure[] {
  const late = fired.map(({ scheduled, began }) => (began - scheduled) / 1000)
  const isMeanwhile = (at: number) => fired.some(({ began, ended }) => began <= at && at < ended)
  const first = turns[0]?.at ?? 0
  const last = Math.max(...fired.map(({ ended }) => ended))
  const seconds = fired.reduce((sum, { began, ended }) => sum + (ended - began) / 1000, 0)
  const secondsAlone = (last - first) / 1000 - seconds
  const counted = { meanwhile: 0, alone: 0, evaluation: 0 }
  for (const { at, kind } of turns) {
    if (at > last) continue
    if (kind === 'evaluation') counted.evaluation++
    else counted[isMeanwhile(at) ? 'meanwhile' : 'alone']++
  }
  const alone = counted.alone / secondsAlone
  const meanwhile = counted.meanwhile / seconds
  const share = counted.evaluation / (counted.evaluation + counted.meanwhile)
  const left = alone * (1 - share)
  return [
    { name: 'evaluations', value: fired.length, unit: 'evaluations' },
    { name: 'latest firing', value: Math.max(...late), unit: 's' },
    { name: 'one evaluation', value: seconds / fired.length, unit: 's' },
    { name: 'training alone', value: alone, unit: 'turns/s' },
    { name: 'evaluation', value: counted.evaluation / seconds, unit: 'turns/s' },
    { name: 'its share of the turns', value: share, unit: 'of 1' },
    {
      name: 'training meanwhile, beside what the share leaves',
      value: meanwhile,
      unit: 'turns/s',
      reference: left,
      ratio: meanwhile / left,
    },
  ]
}
