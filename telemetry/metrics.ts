/**
 * Metrics: the figures of this process and of the runs that it orchestrates, for Prometheus.
 *
 * Invariants
 * - Counters count what this process did; the sum over all processes is what was done.
 * - Figures of a run come from its workflow when they are asked for, and only where the run is orchestrated.
 * - Labels are runs, tasks, outcomes, phases and suites: never episodes, whose number is without bound.
 * - Nothing of this is loaded unless a metrics port is asked for.
 */
import type { Registry } from 'prom-client'
import type { RunProgress } from '../contract/messages.ts'
import { isComplete } from '../learning/evaluation/evaluation-completeness.ts'
import { type FinishedWork, fieldOf, type Observer } from './observation.ts'

export interface Metrics {
  readonly observe: Observer
  /** The figures in Prometheus' text format. */
  text(): Promise<string>
  readonly contentType: string
}

/** The progress of the runs that are orchestrated here; empty where none is. */
export type ReadProgress = () => Promise<readonly RunProgress[]>

/** Updates take from seconds to hours. */
const updateSeconds = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400]
/** Turns take from milliseconds to minutes. */
const turnSeconds = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300]

/** Starts to count. */
export async function createMetrics(readProgress: ReadProgress): Promise<Metrics> {
  const prometheus = await import('prom-client')
  const registry = new prometheus.Registry()
  prometheus.collectDefaultMetrics({ register: registry })
  const counters = createCounters(prometheus, registry)
  const gauges = createGauges(prometheus, registry)
  return {
    observe: (finished) =>
      finished.kind === 'workflow' ? countEnding(counters, finished) : countActivity(counters, finished),
    async text() {
      for (const progress of await readProgress()) show(gauges, progress)
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}

type Prometheus = typeof import('prom-client')
type Counters = ReturnType<typeof createCounters>
type Gauges = ReturnType<typeof createGauges>

/** Counters of this process's own work. */
function createCounters({ Counter, Histogram }: Prometheus, registry: Registry) {
  function counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]) {
    return new Counter<Label>({
      name: `perdure_${name}_total`,
      help,
      labelNames: [...labelNames],
      registers: [registry],
    })
  }
  const histogram = (name: string, help: string, part: string, buckets: number[]) =>
    new Histogram({
      name: `perdure_${name}_seconds`,
      help,
      labelNames: ['run', part],
      buckets,
      registers: [registry],
    })
  return {
    episodes: counter('episodes', 'Episodes that ended, by outcome and task.', ['run', 'task', 'outcome']),
    groups: counter('groups', 'Rollout groups that ended, by task.', ['run', 'task', 'ending']),
    turns: counter('turns', 'Turns that were stepped in an environment.', ['run']),
    sampledTokens: counter('sampled_tokens', 'Tokens that the policy sampled.', ['run']),
    turnParts: histogram('turn', 'Seconds of a turn, by part.', 'part', turnSeconds),
    updates: histogram(
      'update',
      'Seconds of an update, by phase: waiting for groups, training, publishing.',
      'phase',
      updateSeconds,
    ),
    failures: counter('activity_failures', 'Attempts of activities that failed.', [
      'run',
      'activity',
      'failure',
    ]),
  }
}

/** Gauges that runs report. */
function createGauges({ Gauge }: Prometheus, registry: Registry) {
  function gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[]) {
    return new Gauge<Label>({
      name: `perdure_run_${name}`,
      help,
      labelNames: [...labelNames],
      registers: [registry],
    })
  }
  return {
    groups: gauge('groups', 'Rollout groups, by state: in flight or ready.', ['run', 'state']),
    inFlight: gauge('episodes_in_flight', 'Episodes being played.', ['run']),
    warmStartFound: gauge('warm_start_found', 'Whether the warm start was found in the cache.', ['run']),
    version: gauge('version', 'Version of the policy that turns are sampled from.', ['run']),
    step: gauge('updates', 'Updates done.', ['run']),
    planned: gauge('updates_planned', 'Updates of the whole run.', ['run']),
    trained: gauge('trained_tokens', 'Tokens of the episodes that updates consumed.', ['run']),
    consumed: gauge('trained_episodes', 'Episodes that updates consumed.', ['run']),
    staleness: gauge('staleness', "Mean staleness of the last update's groups, in versions.", ['run']),
    empty: gauge('empty_updates', 'Updates in a row that had nothing to learn from.', ['run']),
    success: gauge('success', 'Share of successful episodes in the last update.', ['run', 'task']),
    reward: gauge('reward', 'Mean reward in the last update.', ['run', 'task']),
    evaluated: gauge('evaluation_success', 'Success of the last evaluation of a suite.', ['run', 'suite']),
  }
}

function show(gauges: Gauges, progress: RunProgress): void {
  const { run } = progress
  gauges.groups.set({ run, state: 'in_flight' }, progress.groupsInFlight)
  gauges.groups.set({ run, state: 'ready' }, progress.groupsReady)
  gauges.inFlight.set({ run }, progress.episodesInFlight)
  gauges.warmStartFound.set({ run }, progress.warmStart?.found ? 1 : 0)
  gauges.version.set({ run }, progress.version)
  gauges.step.set({ run }, progress.step)
  gauges.planned.set({ run }, progress.updates)
  gauges.trained.set({ run }, progress.tokens)
  gauges.consumed.set({ run }, progress.episodes)
  gauges.staleness.set({ run }, progress.staleness)
  gauges.empty.set({ run }, progress.nothingLearnt?.updates ?? 0)
  for (const [task, share] of Object.entries(progress.success)) gauges.success.set({ run, task }, share)
  for (const [task, mean] of Object.entries(progress.reward)) gauges.reward.set({ run, task }, mean)
  for (const { suite, success: share } of progress.evaluations.filter(isComplete))
    gauges.evaluated.set({ run, suite }, share)
}

function countEnding(counters: Counters, { name, work: { run = '' }, argument, result }: FinishedWork): void {
  if (name === 'episode')
    counters.episodes.inc({ run, task: text(argument, 'task'), outcome: text(result, 'outcome') || 'failed' })
  if (name === 'rolloutGroup')
    counters.groups.inc({
      run,
      task: text(fieldOf(argument, 'episode'), 'task'),
      ending: Array.isArray(result) && result.length > 0 ? 'complete' : 'failed',
    })
}

function countActivity(counters: Counters, finished: FinishedWork): void {
  const { name, work, argument, result, failure, startedAt, endedAt } = finished
  const run = work.run ?? ''
  if (failure !== undefined) {
    counters.failures.inc({ run, activity: name, failure: failure.name })
    return
  }
  const seconds = (endedAt - startedAt) / 1000
  if (name === 'stepEnvironment') {
    counters.turns.inc({ run })
    counters.turnParts.observe({ run, part: 'step' }, seconds)
  }
  if (name === 'sampleAction') {
    counters.sampledTokens.inc({ run }, number(result, 'tokens'))
    counters.turnParts.observe({ run, part: 'sample' }, seconds)
  }
  if (name === 'updatePolicy') {
    counters.updates.observe({ run, phase: 'train' }, seconds)
    counters.updates.observe({ run, phase: 'wait' }, number(argument, 'waitedSeconds'))
  }
  if (name === 'publishVersion' && number(argument, 'step') > 0)
    counters.updates.observe({ run, phase: 'publish' }, seconds)
}

function text(value: unknown, name: string): string {
  const found = fieldOf(value, name)
  return typeof found === 'string' ? found : ''
}

function number(value: unknown, name: string): number {
  const found = fieldOf(value, name)
  return typeof found === 'number' && Number.isFinite(found) ? found : 0
}
