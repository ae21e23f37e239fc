/**
 * The learning of a run, in one process without Temporal and without a store: success and reward of its suites over updates, those of
 * the household games by default, for settings that are only tried.
 *
 * Invariants
 * - Engine, environment, update and the rules of overlapping are those of a run. Figures are of one seed: two tries differ by some
 *   three points where nothing else does.
 * - Evaluated games are played at the temperature of their suite, and are not learnt from.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine } from '../activities/play/engines.ts'
import type { Serving } from '../activities/play/serving.ts'
import { prepareWarmStart } from '../activities/warm-start/warm-start.ts'
import { loadConfig } from '../config/files/loader.ts'
import type { RunConfig } from '../config/schema/schema.ts'
import { episodeId, groupId } from '../identity/identity.ts'
import { packageRoot } from '../machine/files/folder.ts'
import { createTrainer } from '../policy/trainer/embedded.ts'
import type { Figure } from './figure.ts'
import { trainInOneProcess } from './learning/in-one-process.ts'
import { type OpenedRun, openRun, warmStart } from './learning/opened-run.ts'
import { playEpisode } from './learning/played-episode.ts'

/** The run in place of the default one, its settings as `key=value`, the checkpoint to start from, and when how many games are played. */
export interface Options {
  /** A configuration file. */
  readonly config?: string
  readonly set?: readonly string[]
  readonly from?: string
  readonly seed?: number
  readonly updates?: number
  /** Updates between two measurements. */
  readonly every?: number
  /** The number of games of each suite. */
  readonly games?: number
}

/** Measured games that are played at once. */
const gamesAtOnce = 64

/** Groups of measured games begin here: no training run has as many. */
const firstMeasuredGroup = 1_000_000

interface Measurement {
  readonly run: OpenedRun
  readonly serving: Serving
  readonly version: number
  readonly games: number
}

/** Trains and measures; a line of progress for every update. */
export async function bench({ updates = 20, every = 10, games = 300, ...given }: Options): Promise<Figure[]> {
  if (updates < 1 || every < 1 || games < 1)
    throw new RangeError('--updates, --every and --games are at least 1')
  const wanted = wantedConfig(updates, given)
  const directory = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  const trainer = createTrainer({ threads: wanted.policy.threads })
  const figures: Figure[] = []
  try {
    const config = await startedConfig(directory, wanted, given.from)
    await using run = await openRun(join(directory, 'run'), config)
    await prepareWarmStart(run.opened, () => undefined, new AbortController().signal)
    const createEngine = (settings: RunConfig, id: OpenedRun['opened']['run']) =>
      openEngine(settings, id, () => undefined)
    await trainInOneProcess({
      ...run,
      createEngine,
      trainer,
      until: updates,
      log: (line) => console.error(line),
      async onVersion({ step, version, serving }) {
        if (step % every === 0 || step === updates)
          figures.push(...(await measured({ run, serving, version, games })))
      },
    })
    return figures
  } finally {
    await trainer.close()
    await rm(directory, { recursive: true, force: true })
  }
}

/** The settings that are tried, with suites that can be measured. */
function wantedConfig(
  updates: number,
  {
    config: file = join(packageRoot, 'examples', 'household.yaml'),
    set = [],
    seed = 1,
  }: Pick<Options, 'config' | 'set' | 'seed'>,
): RunConfig {
  const config = loadConfig({
    file,
    set: ['policy.threads=1', `seed=${seed}`, `training.updates=${updates}`, ...set],
  })
  const trained = config.tasks[0]?.task
  const other = config.evaluation.suites.find(({ task }) => task !== trained)
  if (other !== undefined)
    throw new RangeError(
      `suite ${other.name} is of ${other.task}; only ${trained}, the first task, is measured`,
    )
  return config
}

/** The run from a warm start that none of the settings of learning changes. */
async function startedConfig(
  directory: string,
  config: RunConfig,
  from: string | undefined,
): Promise<RunConfig> {
  return {
    ...config,
    policy: { ...config.policy, from: from ?? (await warmStart(join(directory, 'warm-start'), config)) },
    warmStart: { ...config.warmStart, demonstrations: 0 },
  }
}

/** Success and mean reward of each suite of the configuration. */
async function measured({ run, serving, version, games }: Measurement): Promise<readonly Figure[]> {
  const { opened } = run
  const figures: Figure[] = []
  for (const [index, suite] of opened.config.evaluation.suites.entries()) {
    const { name } = suite
    let [next, won, earned] = [0, 0, 0]
    const playOn = async (): Promise<void> => {
      while (next < games) {
        const position = next++
        const group = groupId(opened.run, firstMeasuredGroup * (index + 1) + position)
        const playing = { opened, serving, version: () => version, pool: [], measuredIn: suite }
        const { episode } = await playEpisode(episodeId(group, version, 1), position, playing)
        if (episode.seal.success) won += 1
        earned += episode.seal.reward ?? 0
      }
    }
    await Promise.all(Array.from({ length: gamesAtOnce }, playOn))
    const reward = earned / games
    console.error(
      `version ${version}: ${won} of ${games} games of ${name} won, mean reward ${reward.toFixed(3)}, after ${Math.round(process.cpuUsage().user / 1e6)} s of processors`,
    )
    figures.push({ name: `${name}_after_${version}`, value: won / games, unit: 'success' })
    figures.push({ name: `${name}_reward_after_${version}`, value: reward, unit: 'reward' })
  }
  return figures
}
