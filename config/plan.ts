/**
 * The plan of a run: how much it will do and what it needs, worked out from its configuration alone.
 *
 * Invariants
 * - Pure arithmetic; each figure is a bound or an exact count, and says which in its comment.
 * - Every figure of memory follows from the shapes, 4 bytes a number; 2 where the trainer computes in bfloat16.
 */

import { admissible } from '../learning/rollout/admission.ts'
import { mostSkipped } from '../learning/rollout/refill.ts'
import type { RunConfig } from './schema/schema.ts'

/** The facts that a plan needs beyond the configuration. */
export interface PlanFacts {
  readonly parameters: number
  /** Numbers of an adapter; 0 where all weights are trained. */
  readonly adapterParameters: number
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

/** The rates of a user's machines. */
export interface PlanRates {
  /** Useful operations a second of all that trains. */
  readonly operationsPerSecond?: number | undefined
  /** Tokens a second that all servers sample together. */
  readonly tokensPerSecond?: number | undefined
  /** The price of all machines together, in any currency. */
  readonly pricePerHour?: number | undefined
}

/** Bytes by use, wherever they are. */
interface MemoryPlan {
  /** Weights of the versions that are sampled from. */
  readonly policy: number
  /** Keys and values of all episodes of training in flight at full length: an upper bound. */
  readonly keyValueCache: number
  /** Weights, sums of gradients, both moments and the reference while an update runs. */
  readonly training: number
  /** Activations of one micro-batch: an estimate. */
  readonly activations: number
  readonly total: number
  /** The share of engine servers, together: the policy, keys and values; 0 with the embedded engine. */
  readonly servers: number
  /** The share of a trainer in another process, over all its ranks; 0 with the embedded one. */
  readonly trainer: number
}

export interface RunPlan {
  readonly parameters: number
  readonly updates: number
  /** Groups and episodes that updates train on: exact. */
  readonly groups: number
  readonly episodes: number
  /** Episodes that are played beside them because groups teach nothing: an upper bound. */
  readonly skippedEpisodes: number
  /** Episodes of training in flight at once: an upper bound. */
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
  /** Multiplications and additions, attention left out: upper bounds. */
  readonly operations: { readonly sampling: number; readonly training: number }
  readonly checkpoints: { readonly kept: number; readonly bytes: number }
  readonly memory: MemoryPlan
  /** At the given rates, evaluations included: upper bounds, except for work that has no rate. */
  readonly hours: { readonly sampling?: number; readonly training?: number }
  /** The cost of all hours one after the other: an upper bound. Undefined where a rate is not given. */
  readonly cost?: number
}

const bytesPerNumber = 4

/** The settings of Perdure's trainer in PyTorch, read from its arguments; other programs' are unknown. */
interface TrainerHabits {
  /** Bytes of a number that the model computes with; weights and moments have 4. */
  readonly computedBytes: number
  /** Activations are computed again in the backward pass. */
  readonly isRecomputing: boolean
}

function habitsOf({ trainer }: RunConfig['policy']): TrainerHabits {
  const words = typeof trainer === 'string' ? [] : trainer
  const isOurs = words.includes('perdure_trainer')
  const at = words.indexOf('--dtype')
  const isShort = words.includes('--dtype=bfloat16') || (at >= 0 && words[at + 1] === 'bfloat16')
  return {
    computedBytes: isOurs && isShort ? 2 : bytesPerNumber,
    isRecomputing: isOurs && words.includes('--checkpoint-activations'),
  }
}

/** @example planOf(loadConfig({}), facts).episodes // updates × groupsPerUpdate × groupSize */
export function planOf(config: RunConfig, facts: PlanFacts, rates: PlanRates = {}): RunPlan {
  const { rollout, training, evaluation, warmStart } = config
  const groups = training.updates * rollout.groupsPerUpdate
  const episodes = groups * rollout.groupSize
  const skippedEpisodes = training.updates * mostSkipped(rollout) * rollout.groupSize
  const nothingPlayed = { outstanding: 0, inFlight: 0, updatesLeft: Number.POSITIVE_INFINITY }
  const episodesInFlight = admissible(rollout, nothingPlayed) * rollout.groupSize
  const rounds = evaluationRounds(training.updates, evaluation.every)
  const evaluationEpisodes = rounds * evaluation.suites.reduce((sum, suite) => sum + suite.episodes, 0)
  const sampledPerEpisode = meanSampledTokens(config, facts)
  const trained = facts.adapterParameters || facts.parameters
  const tokens = {
    sampled: Math.round((episodes + skippedEpisodes) * sampledPerEpisode),
    trained: episodes * config.policy.contextLength,
    evaluated: evaluationEpisodes * config.policy.contextLength,
  }
  const operations = operationsOf(config, facts, { played: episodes + skippedEpisodes, episodes })
  return {
    parameters: facts.parameters,
    updates: training.updates,
    groups,
    episodes,
    skippedEpisodes,
    episodesInFlight,
    demonstrations: warmStart.demonstrations,
    evaluations: rounds * evaluation.suites.length,
    evaluationEpisodes,
    tokens,
    operations,
    // Weights and both moments of what is trained.
    checkpoints: { kept: training.keepCheckpoints, bytes: 3 * trained * bytesPerNumber },
    memory: memoryOf(config, facts, episodesInFlight),
    ...timeOf(tokens.sampled + tokens.evaluated, operations.training, rates),
  }
}

function timeOf(
  tokens: number,
  operations: number,
  { operationsPerSecond, tokensPerSecond, pricePerHour }: PlanRates,
): Pick<RunPlan, 'hours' | 'cost'> {
  const sampling = tokensPerSecond === undefined ? undefined : tokens / tokensPerSecond / 3600
  const training = operationsPerSecond === undefined ? undefined : operations / operationsPerSecond / 3600
  return {
    hours: {
      ...(sampling === undefined ? {} : { sampling }),
      ...(training === undefined ? {} : { training }),
    },
    ...(pricePerHour === undefined || sampling === undefined || training === undefined
      ? {}
      : { cost: (sampling + training) * pricePerHour }),
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

/** A token takes 2 operations per weight forward and 4 back; 2 of those where the weights themselves have no gradient. */
function operationsOf(
  { policy, learning }: RunConfig,
  { parameters, adapterParameters }: PlanFacts,
  { played, episodes }: { readonly played: number; readonly episodes: number },
): RunPlan['operations'] {
  const forward = 2 * parameters * policy.contextLength
  // The embedded trainer takes an adapter's gradient from that of the whole weights.
  const back = adapterParameters > 0 && policy.trainer !== 'embedded' ? 1 : 2
  const again = habitsOf(policy).isRecomputing ? 1 : 0
  const reference = learning.klCoefficient > 0 ? 1 : 0
  return { sampling: played * forward, training: episodes * forward * (1 + again + back + reference) }
}

function memoryOf(config: RunConfig, facts: PlanFacts, episodesInFlight: number): MemoryPlan {
  const { learning, policy: settings } = config
  const policy = policyMemory(config, facts)
  const keysAndValues = 2 * facts.layers * facts.keyValueHeads * facts.headDim * bytesPerNumber
  const keyValueCache = episodesInFlight * settings.contextLength * keysAndValues
  const training = trainingMemory(config, facts)
  const activations = learning.microBatchTokens * activationBytes(settings, facts)
  return {
    policy,
    keyValueCache,
    training,
    activations,
    total: policy + keyValueCache + training + activations,
    servers: settings.engine === 'embedded' ? 0 : policy + keyValueCache,
    trainer: settings.trainer === 'embedded' ? 0 : training + activations,
  }
}

/**
 * Bytes of a token that are kept for the backward pass: per layer about 12 rows of the width and 4 of the feed-forward part, and once logits with
 * their gradient, which are long numbers always. Where they are computed again it is a row of each layer, and one whole layer.
 */
function activationBytes(settings: RunConfig['policy'], facts: PlanFacts): number {
  const { computedBytes, isRecomputing } = habitsOf(settings)
  const ofLayer = 12 * facts.hiddenSize + 4 * facts.intermediateSize
  const kept = isRecomputing ? facts.layers * facts.hiddenSize + ofLayer : facts.layers * ofLayer
  return kept * computedBytes + 3 * facts.vocabularySize * bytesPerNumber
}

/** The embedded engine merges an adapter with the base for each version; servers hold the base once. */
function policyMemory({ crossPolicy, policy }: RunConfig, facts: PlanFacts): number {
  const versions = 1 + (crossPolicy.staleShare > 0 ? crossPolicy.poolSize : 0)
  const numbers =
    facts.adapterParameters > 0 && policy.engine !== 'embedded'
      ? facts.parameters + versions * facts.adapterParameters
      : versions * facts.parameters
  return numbers * bytesPerNumber
}

function trainingMemory({ learning, policy }: RunConfig, facts: PlanFacts): number {
  const { parameters, adapterParameters } = facts
  const sums = facts.isSummedApart && policy.trainer === 'embedded' ? policy.threads : 1
  const reference = learning.klCoefficient > 0 ? parameters : 0
  // Weights, sums of gradients, both moments.
  if (adapterParameters === 0) return ((3 + sums) * parameters + reference) * bytesPerNumber
  // The base and four of the adapter; the embedded trainer has merged weights and their gradients besides.
  const merged = policy.trainer === 'embedded' ? (1 + sums) * parameters : 0
  return (parameters + merged + 4 * adapterParameters + reference) * bytesPerNumber
}
