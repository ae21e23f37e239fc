/**
 * The plan of a run: how much it will do and what it needs, worked out from its configuration alone.
 *
 * Invariants
 * - Pure arithmetic; each figure is a bound or an exact count, and says which in its comment.
 * - Every figure of memory follows from the shapes, 4 bytes a number.
 */
import type { RunConfig } from './schema.ts'

/** What a plan needs to know beyond the configuration. */
export interface PlanFacts {
  readonly parameters: number
  /** Each thread of the trainer has a sum of gradients of its own; otherwise there is one. */
  readonly isSummedApart: boolean
  readonly layers: number
  readonly keyValueHeads: number
  readonly headDim: number
  readonly hiddenSize: number
  readonly intermediateSize: number
  readonly vocabularySize: number
  /** Turns of an episode of a task, where the configuration gives none. */
  turnLimit(task: string): number
}

/** Bytes by use. */
interface MemoryPlan {
  /** Weights of the versions that are sampled from. */
  readonly policy: number
  /** Keys and values of all episodes in flight at full length: an upper bound. */
  readonly keyValueCache: number
  /** Weights, sums of gradients and both moments while an update runs. */
  readonly training: number
  /** Activations of one micro-batch: an estimate. */
  readonly activations: number
  readonly total: number
}

export interface RunPlan {
  readonly parameters: number
  readonly updates: number
  /** Groups and episodes that updates consume: exact. */
  readonly groups: number
  readonly episodes: number
  readonly episodesInFlight: number
  readonly demonstrations: number
  readonly evaluations: number
  readonly evaluationEpisodes: number
  readonly tokens: {
    /** Sampled tokens of training episodes: an upper bound. */
    readonly sampled: number
    /** Tokens that updates read: an upper bound. */
    readonly trained: number
    /** Tokens of evaluation episodes: an upper bound. */
    readonly evaluated: number
  }
  readonly checkpoints: { readonly kept: number; readonly bytes: number }
  readonly memory: MemoryPlan
}

const bytesPerNumber = 4

/** @example planOf(loadConfig({}), facts).episodes // updates × groupsPerUpdate × groupSize */
export function planOf(config: RunConfig, facts: PlanFacts): RunPlan {
  const { rollout, training, evaluation, warmStart } = config
  const groups = training.updates * rollout.groupsPerUpdate
  const episodes = groups * rollout.groupSize
  const episodesInFlight = (rollout.maxStaleness + 1) * rollout.groupsPerUpdate * rollout.groupSize
  const rounds = evaluationRounds(training.updates, evaluation.every)
  const evaluationEpisodes = rounds * evaluation.suites.reduce((sum, suite) => sum + suite.episodes, 0)
  const sampledPerEpisode = meanSampledTokens(config, facts)
  const model = facts.parameters * bytesPerNumber
  return {
    parameters: facts.parameters,
    updates: training.updates,
    groups,
    episodes,
    episodesInFlight,
    demonstrations: warmStart.demonstrations,
    evaluations: rounds * evaluation.suites.length,
    evaluationEpisodes,
    tokens: {
      sampled: Math.round(episodes * sampledPerEpisode),
      trained: episodes * config.policy.contextLength,
      evaluated: evaluationEpisodes * config.policy.contextLength,
    },
    // Weights and both moments.
    checkpoints: { kept: training.keepCheckpoints, bytes: 3 * model },
    memory: memoryOf(config, facts, episodesInFlight),
  }
}

/** Evaluations of one suite: before the first update, every so many updates, after the last. */
function evaluationRounds(updates: number, every: number): number {
  if (updates === 0) return 1
  const between = every === 0 ? 0 : Math.ceil(updates / every) - 1
  return 2 + between
}

/** Sampled tokens of an episode at most, as a mean over the task mix. */
function meanSampledTokens({ tasks, rollout, policy }: RunConfig, facts: PlanFacts): number {
  const weights = tasks.reduce((sum, { weight }) => sum + weight, 0)
  return tasks.reduce((mean, { task, weight, turnLimit }) => {
    const turns = turnLimit ?? facts.turnLimit(task)
    return mean + (weight / weights) * Math.min(policy.contextLength, turns * rollout.maxTokensPerTurn)
  }, 0)
}

function memoryOf(config: RunConfig, facts: PlanFacts, episodesInFlight: number): MemoryPlan {
  const { crossPolicy, learning, policy: settings } = config
  const model = facts.parameters * bytesPerNumber
  const pool = crossPolicy.staleShare > 0 ? crossPolicy.poolSize : 0
  const policy = model * (1 + pool)
  const keysAndValues = 2 * facts.layers * facts.keyValueHeads * facts.headDim * bytesPerNumber
  const keyValueCache = episodesInFlight * settings.contextLength * keysAndValues
  const reference = learning.klCoefficient > 0 ? model : 0
  const sums = facts.isSummedApart ? settings.threads : 1
  const training = (3 + sums) * model + reference
  // Per token and layer: about 12 rows of the width and 4 of the feed-forward part are kept for the
  // backward pass, and once logits with their gradient.
  const perToken =
    facts.layers * (12 * facts.hiddenSize + 4 * facts.intermediateSize) + 3 * facts.vocabularySize
  const activations = learning.microBatchTokens * perToken * bytesPerNumber
  return {
    policy,
    keyValueCache,
    training,
    activations,
    total: policy + keyValueCache + training + activations,
  }
}
