/**
 * The gain of asynchronous training where environments answer late: turns per second beside those of synchronous training, and
 * beside the bound that the slower of sampler and environments sets.
 *
 * Invariants
 * - Latencies are log-normal, with a median of 50 ms and a 99th percentile of 2 s; episodes have 3 to 20 turns. Both follow from
 *   the identity of the instance and what was chosen in it.
 * - Policy, engine, trainer, workflows, store and server are those of every run. The two differ in the staleness bound alone.
 * - The bound of the environments is what as many sessions as are admitted at once answer when no one else is waited for; that of the
 *   sampler is measured with environments that answer at once, without workflows, store and training; that of the processor is all
 *   cores busy with what a turn costs in the asynchronous run, training and server included.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServing } from '../activities/play/serving.ts'
import { prepareWarmStart } from '../activities/warm-start/warm-start.ts'
import { openSession } from '../client/session/training-session.ts'
import { configSchema, type RunConfig } from '../config/schema/schema.ts'
import { episodeId, groupId } from '../identity/identity.ts'
import { createTrainer } from '../policy/trainer/embedded.ts'
import { inspectTemporal } from '../temporal/server/server.ts'
import { latencyTask, meanLatencyMs } from './async/latency-task.ts'
import type { Figure } from './figure.ts'
import { openRun, warmStart } from './learning/opened-run.ts'
import { playEpisode } from './learning/played-episode.ts'
import { lineOf, perUpdate, type Span, type Taken, watchUpdates } from './learning/update-watch.ts'

/** `--updates` that are counted, after the first `--skip`; `--staleness` of the asynchronous run. */
export interface Options {
  readonly updates?: number
  readonly skip?: number
  readonly staleness?: number
}

const groupSize = 8
const groupsPerUpdate = 16
const groupsInFlight = 2 * groupsPerUpdate
type Arm = 'asynchronous' | 'synchronous'

/** The default run's shape; its learning rate is so small that episodes stay as they are. */
const base = {
  tasks: [{ task: 'latency' }],
  policy: { vocabularySize: 320, contextLength: 1024 },
  learning: { learningRate: 1e-6 },
  training: { updates: 1000 },
  evaluation: { every: 0, suites: [] },
}

/** Runs the benchmark, some minutes. */
export async function bench({ updates = 6, skip = 2, staleness = 4 }: Options): Promise<readonly Figure[]> {
  if (skip < 1 || updates < 1) throw new RangeError('--skip and --updates are at least 1')
  const directory = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  try {
    const imitating = configSchema.parse({
      ...base,
      warmStart: { demonstrations: 100, epochs: 4, batchTokens: 1024 },
    })
    const from = await warmStart(join(directory, 'warm-start'), imitating, () => latencyTask(false))
    const configOf = (arm: Arm): RunConfig =>
      configSchema.parse({
        ...base,
        policy: { ...base.policy, from },
        warmStart: { demonstrations: 0 },
        rollout: {
          groupSize,
          groupsPerUpdate,
          groupsInFlight,
          refill: 0, // updates of equal work
          maxStaleness: arm === 'synchronous' ? 0 : staleness,
          temperature: 1,
          maxTokensPerTurn: 24,
        },
      })
    const sampler = await measureSampler(join(directory, 'sampler'), configOf('asynchronous'))
    console.error(`the sampler alone: ${sampler.toFixed(0)} turns/s`)
    const measured = {} as Record<Arm, Taken>
    for (const arm of ['synchronous', 'asynchronous'] as const) {
      measured[arm] = await measure(join(directory, arm), configOf(arm), { updates, skip })
      console.error(`${arm}: ${lineOf(measured[arm])}`)
    }
    return figuresOf(measured, sampler)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Turns per second of all episodes that are admitted at once, with environments that answer at once. */
async function measureSampler(directory: string, config: RunConfig): Promise<number> {
  await using run = await openRun(directory, config, () => latencyTask(false))
  const { opened, runs } = run
  await prepareWarmStart(opened, () => undefined, new AbortController().signal)
  const { createEngine } = watchUpdates(() => undefined)
  const serving = createServing({ runs, createEngine, log: (line) => console.error(line) })
  try {
    await serving.prepare(opened.run, 0)
    const playing = { opened, serving, version: () => 0, pool: [] }
    const play = async (group: number) => {
      const episodes = Array.from({ length: groupSize }, (_, sample) =>
        playEpisode(episodeId(groupId(opened.run, group), sample, 1), group, playing),
      )
      return (await Promise.all(episodes)).reduce((sum, { episode }) => sum + episode.seal.turns, 0)
    }
    const groups = (first: number) =>
      Array.from({ length: groupsInFlight }, (_, index) => play(first + index))
    await Promise.all(groups(0))
    const since = performance.now()
    const turns = await Promise.all(groups(groupsInFlight))
    return (1000 * turns.reduce((sum, each) => sum + each, 0)) / (performance.now() - since)
  } finally {
    await serving.closeAll()
  }
}

async function measure(home: string, config: RunConfig, span: Span): Promise<Taken> {
  let server: number | undefined
  const watch = watchUpdates(() => server)
  const session = await openSession({
    home,
    roles: 'all',
    log: (line) => console.error(line),
    findEnvironment: () => latencyTask(true),
    createEngine: watch.createEngine,
    createTrainer: ({ threads }) => watch.trainer(createTrainer({ threads })),
  })
  try {
    server = (await inspectTemporal(home))?.record.pid
    await session.start('async', config)
    const ended = session.result('async').then(({ phase, message }) => {
      throw new Error(`the run ended: ${phase} ${message ?? ''}`)
    })
    ended.catch(() => undefined)
    await Promise.race([watch.reached(span.skip + span.updates), ended])
    const taken = watch.taken(span)
    await session.stop('async', { now: true })
    return taken
  } finally {
    await session.close()
  }
}

function figuresOf(measured: Readonly<Record<Arm, Taken>>, sampler: number): readonly Figure[] {
  const rateOf = (arm: Arm) => perUpdate(measured[arm]).turns / perUpdate(measured[arm]).seconds
  const [value, reference] = [rateOf('asynchronous'), rateOf('synchronous')]
  const environments = (1000 * groupsInFlight * groupSize) / meanLatencyMs
  const bound = Math.min(sampler, environments)
  const { cpu, turns } = perUpdate(measured.asynchronous)
  const machine = (availableParallelism() * turns) / cpu
  return [
    { name: 'asynchronous', value, unit: 'turns/s', reference, ratio: value / reference },
    { name: 'asynchronous, of the bound', value, unit: 'turns/s', reference: bound, ratio: value / bound },
    {
      name: 'asynchronous, of the processor',
      value,
      unit: 'turns/s',
      reference: machine,
      ratio: value / machine,
    },
    { name: 'bound of the sampler', value: sampler, unit: 'turns/s' },
    { name: 'bound of the environments', value: environments, unit: 'turns/s' },
    { name: 'synchronous update', value: perUpdate(measured.synchronous).seconds, unit: 's' },
    { name: 'asynchronous update', value: perUpdate(measured.asynchronous).seconds, unit: 's' },
    { name: 'synchronous cpu', value: perUpdate(measured.synchronous).cpu, unit: 's/update' },
    { name: 'asynchronous cpu', value: perUpdate(measured.asynchronous).cpu, unit: 's/update' },
  ]
}
