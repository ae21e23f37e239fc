/**
 * Every combination of how an update learns that a configuration may name, and the gradient that a trainer computes for it beside
 * that of the plain calculation.
 *
 * Invariants
 * - Combinations come from the schema: a loss of an algorithm, a proximal policy or an aggregation that is added is among them.
 * - An update goes the way that a run's goes: configuration, played groups, batch file, trainer, checkpoint.
 */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { updatePolicy } from '../../activities/update/policy-update.ts'
import { learningSchema } from '../../config/schema/learning-schema.ts'
import { type ConfigInput, configSchema, type RunConfig } from '../../config/schema/schema.ts'
import {
  type EpisodeId,
  episodeId,
  type GroupId,
  groupId,
  runId,
  seedOf,
  uniforms,
} from '../../identity/identity.ts'
import {
  algorithmNames,
  algorithms,
  isAlgorithmName,
  lossName,
} from '../../learning/algorithms/algorithms.ts'
import { publishCheckpoint, readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import type { Trainer } from '../../policy/trainer/trainer.ts'
import { type Architecture, elementCount, weightSpecs } from '../../policy/transformer/architecture.ts'
import { homeAt } from '../../storage/disk/home.ts'
import type { StoredGroup } from '../../storage/records/groups.ts'
import type { StoredUpdate } from '../../storage/records/updates.ts'
import { nothingAsked } from '../../storage/trajectories/answers.ts'
import type { SealedEpisode } from '../../storage/trajectories/episode.ts'
import type { Trajectory } from '../../storage/trajectories/trajectory.ts'
import { shape } from './plain-policy.ts'
import {
  logprobsOf,
  type PlainEpisode,
  type PlainRules,
  type PlainWeights,
  plainHead,
  plainUpdate,
} from './plain-update.ts'

const run = runId('gradient')
const tasks = ['short', 'long'] as const
const temperature = 0.8
/** The update, after one whose entropy bounds those of tokens where the algorithm smooths them. */
const step = 2
const entropyBefore = 1.2

/** A combination as a test is named. */
export interface Combination {
  readonly name: string
  readonly config: RunConfig
}

/** One algorithm of each loss. */
const ofEachLoss = algorithmNames.filter(
  (name) =>
    name === 'imitation' ||
    algorithmNames.find((other) => lossName(algorithms[other]) === lossName(algorithms[name])) === name,
)

/** Ends updates of four steps after one to three. */
const endingKl = 0.05

/** All combinations that the configuration does not refuse. @param custom path of a module with an algorithm */
export function combinations(custom: string): Combination[] {
  const { proximal, lossAggregation } = learningSchema.shape
  const found: Combination[] = []
  for (const algorithm of [...ofEachLoss, custom])
    for (const stepWeight of [0, 0.7])
      for (const policy of proximal.unwrap().options)
        for (const aggregation of lossAggregation.unwrap().options)
          for (const [minibatches, passes, targetKl] of [
            [1, 1, 0],
            [2, 2, 0],
            [2, 2, endingKl],
          ] as const) {
            const { success, data } = configSchema.safeParse(
              given({
                algorithm,
                stepGroups: { weight: stepWeight },
                proximal: policy,
                lossAggregation: aggregation,
                minibatches,
                passes,
                targetKl,
              }),
            )
            const shown = algorithm === custom ? 'an algorithm of a module' : algorithm
            const name = `${shown}, advantages by ${stepWeight > 0 ? 'turn' : 'episode'}, ratios to ${policy}, alike by ${aggregation}, ${minibatches * passes} step(s)${targetKl > 0 ? ' at most' : ''}`
            if (success) found.push({ name, config: data })
          }
  return found
}

function given(learning: NonNullable<ConfigInput['learning']>): ConfigInput {
  return {
    seed: 5,
    tasks: tasks.map((task) => ({ task, from: './env' })),
    rollout: { groupSize: 3, groupsPerUpdate: 2, temperature },
    learning: {
      ...learning,
      taskNormalization: 'none',
      klCoefficient: 0.05,
      entropyCoefficient: 0.02,
      clipHigh: 0.3,
      importanceLimit: 1.5,
      learningRate: 0.03,
      // Without a first moment that of the checkpoint is the gradient of the last step.
      beta1: 0,
      epsilon: 0.1,
      gradientClip: 1_000_000,
      gradientLimit: 1_000_000,
      microBatchTokens: 64,
    },
    evaluation: { every: 0, suites: [] },
  }
}

/** Episodes that all combinations learn from. */
export interface Ground {
  readonly home: string
  readonly start: PlainWeights
  readonly reference: PlainWeights
  /** In the place of the reference where a policy is distilled. */
  readonly teacher: PlainWeights
  readonly episodes: readonly PlainEpisode[]
}

const architecture: Architecture = {
  vocab_size: shape.vocabulary,
  hidden_size: shape.width,
  intermediate_size: shape.inner,
  num_hidden_layers: 1,
  num_attention_heads: shape.heads,
  num_key_value_heads: 1,
  head_dim: shape.headDim,
  rope_theta: shape.theta,
  rms_norm_eps: shape.epsilon,
  tie_word_embeddings: true,
  max_position_embeddings: 64,
}

/** Publishes versions 0 and 1 of a policy, and 2 as a teacher, and draws what version 1 has played. */
export async function preparedIn(home: string): Promise<Ground> {
  const directory = homeAt(home).run(run)
  await mkdir(directory.checkpointsDir, { recursive: true })
  await mkdir(directory.batchesDir, { recursive: true })
  const [reference, start, teacher] = await Promise.all(
    [0, 1, 2].map(async (version) => {
      const next = uniforms(40 + version)
      const weights = new Map(
        weightSpecs(architecture).map(({ name, shape: dims }) => [
          name,
          Float32Array.from({ length: elementCount(dims) }, () => {
            const drawn = 2 * next() - 1
            return name.includes('norm') ? 1 + 0.3 * drawn : 0.6 * drawn
          }),
        ]),
      )
      await publishCheckpoint(version === 2 ? teacherIn(home) : directory.checkpointDir(version), {
        architecture,
        weights,
        tokenizer: '{}\n',
        state: { version, step: 0, chat: 'compact', facts: { valueHead: headOf(weights) } },
      })
      return new Map([...weights].map(([name, weight]) => [name, Float64Array.from(weight)]))
    }),
  )
  if (start === undefined || reference === undefined || teacher === undefined)
    throw new RangeError('three versions are published')
  return { home, start, reference, teacher, episodes: playedBy(start) }
}

/** As `plainHead` says: the features of a head are h/√d. */
function headOf(weights: ReadonlyMap<string, Float32Array>): number[] {
  const begin = plainHead.token * shape.width
  const row = weights.get('model.embed_tokens.weight')?.subarray(begin, begin + shape.width) ?? []
  return [...Array.from(row, (value) => value * Math.sqrt(shape.width)), plainHead.more]
}

function teacherIn(home: string): string {
  return join(home, 'teacher')
}

/** Two groups of three episodes, each with a won one; how far their tokens are from the policy differs by episode and token. */
function playedBy(start: PlainWeights): PlainEpisode[] {
  const next = uniforms(8)
  return tasks.flatMap((task, group) =>
    [1, 0, 0.25].map((reward, sample) => {
      const lengths = [3, 2 + sample, 4 - group].slice(0, 2 + ((sample + group) % 2))
      const tokens = [Math.floor(next() * shape.vocabulary)]
      const turns = lengths.map((length, turn) => {
        const begin = tokens.length + 1
        for (let i = 0; i <= length; i++) tokens.push(Math.floor(next() * shape.vocabulary))
        return { begin, end: begin + length, state: `${turn % 2}`, paid: turn === 1 ? reward : 0.1 * sample }
      })
      const away = [0.05, 0.5, -0.4, 0.12, -0.1, 0.3][3 * group + sample] ?? 0
      const logprobs = logprobsOf(start, tokens, { temperature })
      const behaviour = logprobs.map((logprob, i) =>
        Math.fround(logprob - away - ([0, 0.4, -0.4, 1.2, -1.2][i % 5] ?? 0)),
      )
      return { task, group, reward, tokens, behaviour, turns }
    }),
  )
}

/** How far the gradient of a trainer is from the plain one, relative to that. */
export async function gradientError(
  combination: Combination,
  ground: Ground,
  trainer: Trainer,
): Promise<number> {
  const { config } = combination
  const { start, episodes, teacher } = ground
  const reference = isTaught(config) ? teacher : ground.reference
  const { optimizer } = await updated(combination, ground, trainer, (dir) =>
    readCheckpoint(dir, { optimizer: true }),
  )
  const { gradient } = plainUpdate(episodes, { start, reference }, rulesOf(config))
  let [difference, size] = [0, 0]
  for (const [name, values] of gradient)
    for (const [i, value] of values.entries()) {
      difference += ((optimizer?.first.get(name)?.[i] ?? Number.NaN) - value) ** 2
      size += value ** 2
    }
  return Math.sqrt(difference / size)
}

/** Makes the update of a combination, and removes it once it was read. @param read gets the folder of the checkpoint */
export async function updated<Found>(
  { config }: Combination,
  { home, episodes }: Ground,
  trainer: Trainer,
  read: (checkpointDir: string) => Promise<Found>,
): Promise<Found> {
  const directory = homeAt(home).run(run)
  const { store, groups } = storeOf(episodes)
  const ofTeacher = isTaught(config)
    ? { ...config, learning: { ...config.learning, teacher: teacherIn(home) } }
    : config
  const refuse = () => Promise.reject(new RangeError('no environment is needed'))
  try {
    await updatePolicy(
      {
        run,
        step,
        version: 1,
        groups: groups.map((group) => ({ group, version: 1 })),
        skipped: [],
        learning: {},
        taskWeights: config.tasks.map(({ weight }) => weight),
        waitedSeconds: 0,
      },
      { run, config: ofTeacher, directory, task: refuse, demonstrationTask: refuse },
      { store, trainerOf: () => trainer, onProgress: () => undefined, log: () => undefined },
    )
    return await read(directory.checkpointDir(2))
  } finally {
    await rm(directory.checkpointDir(2), { recursive: true, force: true })
  }
}

function isTaught({ learning }: RunConfig): boolean {
  return learning.algorithm === 'distillation'
}

function rulesOf({ seed, learning, rollout }: RunConfig): PlainRules {
  const { algorithm } = learning
  return {
    ...learning,
    algorithm: isAlgorithmName(algorithm) ? algorithm : 'own',
    stepWeight: learning.stepGroups.weight,
    stepDiscount: learning.stepGroups.discount,
    temperature: rollout.temperature,
    seed: seedOf(seed, step, 'minibatches'),
    // A half and one and a half times the entropy before, and by how much: 2·β of the second of sixty updates.
    entropyBand: {
      low: entropyBefore / 2,
      high: 1.5 * entropyBefore,
      pull: 2 * (0.8 + 0.2 * Math.exp(-4 / 60)),
    },
  }
}

/** The part of the store that an update reads. */
function storeOf(episodes: readonly PlainEpisode[]) {
  const played = new Map<EpisodeId, Trajectory>()
  const groups = new Map<GroupId, StoredGroup>()
  for (const [number, task] of tasks.entries()) {
    const id = groupId(run, number)
    const own = episodes.filter(({ group }) => group === number)
    const names = own.map((_, sample) => episodeId(id, sample, 1))
    for (const [sample, name] of names.entries()) {
      const episode = own[sample]
      if (episode !== undefined) played.set(name, trajectoryOf(name, episode))
    }
    groups.set(id, { id, task, version: 1, result: { episodes: names } } as unknown as StoredGroup)
  }
  const list = () => Promise.resolve([...groups.values()])
  const before = { statistics: { gradientNorm: 1, entropy: entropyBefore } } as unknown as StoredUpdate
  const store = {
    groups: { get: (id: GroupId) => Promise.resolve(groups.get(id)), list, consume: async () => undefined },
    episodes: { trajectory: (id: EpisodeId) => Promise.resolve(played.get(id) as Trajectory) },
    updates: {
      get: async (_: unknown, at: number) => (at < step ? before : undefined),
      put: async () => 'first' as const,
    },
    answers: { totals: async () => nothingAsked },
    flushed: async () => undefined,
  }
  return { store, groups: [...groups.keys()] }
}

function trajectoryOf(id: EpisodeId, { task, reward, tokens, behaviour, turns }: PlainEpisode): Trajectory {
  const isSampled = (place: number) => turns.some(({ begin, end }) => place >= begin && place < end)
  const actionTokens = tokens.filter((_, place) => isSampled(place)).length
  const seal = {
    outcome: 'completed',
    reward,
    turns: turns.length,
    tokens: tokens.length,
    actionTokens,
    ended: 2,
  }
  return {
    episode: { id, task, created: 1, seal } as unknown as SealedEpisode,
    tokens: Int32Array.from(tokens),
    lossMask: Uint8Array.from(tokens, (_, place) => (isSampled(place) ? 1 : 0)),
    logprobs: Float32Array.from(behaviour, (logprob, place) => (isSampled(place) ? logprob : 0)),
    versions: Int32Array.from(tokens, (_, place) => (isSampled(place) ? 1 : -1)),
    turns: turns.map((turn) => ({ ...turn, version: 1 })),
    paid: reward,
    unusable: 0,
    cutOff: 0,
    messages: [],
  }
}
