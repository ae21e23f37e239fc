/**
 * The cost of durability: an update of the default run as it is trained, beside the same work in one process without
 * Temporal and without a store.
 *
 * Invariants
 * - Both start from the same warm-started policy, play the same task with the same engine and learn with the same
 *   trainer from batches of the same size, by the same rule of overlapping. Neither evaluates.
 * - The first updates of each are not counted: code is compiled, caches fill, and the pipeline with them.
 * - An update is read at its end: wall clock, and CPU time of this process and of Temporal's server.
 * - They take turns; a figure is the mean over the updates of all turns.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareWarmStart } from '../activities/warm-start/warm-start.ts'
import { openSession } from '../client/session/training-session.ts'
import { loadConfig } from '../config/files/loader.ts'
import type { RunConfig } from '../config/schema/schema.ts'
import { packageRoot } from '../machine/files/folder.ts'
import { createTrainer } from '../policy/trainer/embedded.ts'
import { inspectTemporal } from '../temporal/server/server.ts'
import type { Figure } from './figure.ts'
import { trainInOneProcess } from './learning/in-one-process.ts'
import { sharesOfMainThread } from './learning/main-thread.ts'
import { openRun, warmStart } from './learning/opened-run.ts'
import { lineOf, perUpdate, type Span, sumOf, type Taken, watchUpdates } from './learning/update-watch.ts'
import type { CpuTime } from './measured/cpu-time.ts'

/** `--updates` and `--skip` of each turn, `--turns`, other `--demonstrations` of the warm start or `--from` a checkpoint. */
export interface Options {
  readonly updates?: number
  readonly skip?: number
  readonly turns?: number
  readonly demonstrations?: number
  readonly from?: string
}

/** More than are ever made. */
const manyUpdates = 1000

/** Runs the benchmark, some minutes. */
export async function bench(options: Options): Promise<readonly Figure[]> {
  const { updates = 4, skip = 2, turns = 2 } = options
  if (skip < 1 || updates < 1) throw new RangeError('--skip and --updates are at least 1')
  const directory = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  try {
    const config = await warmStarted(directory, options)
    const durable: Taken[] = []
    const inOneProcess: Taken[] = []
    let shares: ReadonlyMap<string, number> = new Map()
    for (let turn = 1; turn <= turns; turn++) {
      const home = (name: string) => join(directory, `${name}-${turn}`)
      const alone = await measureInOneProcess(home('one-process'), config, { updates, skip })
      inOneProcess.push(alone)
      console.error(`turn ${turn}, in one process: ${lineOf(alone)}`)
      const measured = await measureDurable(home('durable'), config, {
        updates,
        skip,
        profiled: turn === turns,
      })
      durable.push(measured.taken)
      shares = measured.shares
      console.error(`turn ${turn}, durable: ${lineOf(measured.taken)}`)
    }
    return figuresOf(sumOf(durable), sumOf(inOneProcess), shares)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Makes the policy that both start from. @returns the default run, without its warm start and evaluations */
async function warmStarted(directory: string, { demonstrations, from }: Options): Promise<RunConfig> {
  const file = join(packageRoot, 'examples', 'household.yaml')
  const fewer = demonstrations === undefined ? [] : [`warmStart.demonstrations=${demonstrations}`]
  const config = loadConfig({ file, set: [...fewer, 'rollout.refill=0'] })
  return {
    ...config,
    policy: { ...config.policy, from: from ?? (await warmStart(join(directory, 'warm-start'), config)) },
    warmStart: { ...config.warmStart, demonstrations: 0 },
    training: { ...config.training, updates: manyUpdates },
    evaluation: { ...config.evaluation, every: 0, suites: [] },
  }
}

async function measureInOneProcess(directory: string, config: RunConfig, span: Span): Promise<Taken> {
  await using run = await openRun(directory, config)
  await prepareWarmStart(run.opened, () => undefined, new AbortController().signal)
  const watch = watchUpdates(() => undefined)
  const trainer = watch.trainer(createTrainer({ threads: config.policy.threads }))
  try {
    await trainInOneProcess({
      ...run,
      createEngine: watch.createEngine,
      trainer,
      until: span.skip + span.updates,
      log: (line) => console.error(line),
    })
    return watch.taken(span)
  } finally {
    await trainer.close()
  }
}

async function measureDurable(
  home: string,
  config: RunConfig,
  { updates, skip, profiled }: Span & { readonly profiled: boolean },
): Promise<{ readonly taken: Taken; readonly shares: ReadonlyMap<string, number> }> {
  let server: number | undefined
  const watch = watchUpdates(() => server)
  const session = await openSession({
    home,
    roles: 'all',
    log: (line) => console.error(line),
    createEngine: watch.createEngine,
    createTrainer: ({ threads }) => watch.trainer(createTrainer({ threads })),
  })
  try {
    server = (await inspectTemporal(home))?.record.pid
    const run = 'learning'
    await session.start(run, config)
    const ended = session.result(run).then(({ phase, message }) => {
      throw new Error(`the run ended: ${phase} ${message ?? ''}`)
    })
    ended.catch(() => undefined)
    await Promise.race([watch.reached(skip + updates), ended])
    const taken = watch.taken({ skip, updates })
    // Samples are of updates after the counted ones: taking samples costs time too.
    const shares = profiled
      ? await sharesOfMainThread(() => Promise.race([watch.reached(skip + 2 * updates), ended]))
      : new Map<string, number>()
    await session.stop(run, { now: true })
    return { taken, shares }
  } finally {
    await session.close()
  }
}

function figuresOf(
  durable: Taken,
  inOneProcess: Taken,
  mainThread: ReadonlyMap<string, number>,
): readonly Figure[] {
  const [value, reference] = [perUpdate(durable), perUpdate(inOneProcess)]
  const beside = (name: string, unit: string, of: keyof typeof value): Figure => ({
    name,
    value: value[of],
    unit,
    reference: reference[of],
    ratio: value[of] / reference[of],
  })
  const share = (arm: string, of: Taken, layer: string, seconds: number): Figure => ({
    name: `${arm}: ${layer}`,
    value: seconds / of.updates,
    unit: 's',
    reference: perUpdate(of).cpu,
    ratio: seconds / of.updates / perUpdate(of).cpu,
  })
  return [
    beside('update', 's', 'seconds'),
    beside('update cpu', 's', 'cpu'),
    beside('update turns', 'turns', 'turns'),
    beside('update sampled tokens', 'tokens', 'tokens'),
    ...layersOf(durable.cpu, mainThread).map((each) => share('durable', durable, ...each)),
    ...layersOf(inOneProcess.cpu, new Map()).map((each) => share('in one process', inOneProcess, ...each)),
  ]
}

/** Threads of this process by their names: the system keeps fifteen letters of each. */
const threadLayers: readonly (readonly [layer: string, name: RegExp])[] = [
  ['engine', /^policy engine/],
  ['trainer', /^(trainer|gradient)/],
  ['workflow threads', /^WorkerThread|^workflow/],
  ["Temporal's core", /^(tokio|temporal)/],
  ['main thread', /^(MainThread|node)/],
  ["V8's threads", /^(V8Worker|DelayedTask)/],
]

/** CPU seconds by layer, the largest first; those of the main thread by what it computed. */
function layersOf(
  cpu: CpuTime,
  mainThread: ReadonlyMap<string, number>,
): readonly (readonly [layer: string, seconds: number])[] {
  const seconds = new Map<string, number>([["Temporal's server", cpu.server]])
  const add = (layer: string, more: number) => seconds.set(layer, (seconds.get(layer) ?? 0) + more)
  let known = 0
  for (const [name, time] of cpu.threads) {
    const layer = threadLayers.find(([, pattern]) => pattern.test(name))?.[0] ?? 'other threads'
    known += time
    if (layer !== 'main thread' || mainThread.size === 0) add(layer, time)
    else for (const [part, share] of mainThread) add(`main thread, ${part}`, time * share)
  }
  add('other threads', cpu.process - known)
  return [...seconds].filter(([, time]) => time > 0).sort(([, a], [, b]) => b - a)
}
