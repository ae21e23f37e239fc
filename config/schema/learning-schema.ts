/**
 * The sections of the configuration that say how is learnt: whose turns, by which algorithm and optimizer.
 *
 * Invariants
 * - Every field has a default, bounds and a description.
 */
import { z } from 'zod'
import { imitationKinds } from '../../learning/algorithms/imitation.ts'
import { learntBranches } from '../../learning/rollout/learnt-branches.ts'
import { amount, count, liveLearning, positive, probability, text, whole } from './bounded-field.ts'

const decay = z.number().min(0).lt(1)

/** Sampling of turns from older checkpoints. */
export const crossPolicySchema = z.strictObject({
  staleShare: probability
    .default(0.25)
    .describe('Probability that a turn is sampled from the pool of older checkpoints.'),
  poolSize: amount(16)
    .default(1)
    .describe('Older checkpoints in the pool, which begins with version 0; 0 turns it off.'),
  refreshEvery: count(1_000_000)
    .default(24)
    .describe(
      'Versions that the newest member of the pool is behind at most; then the one before the current one joins.',
    ),
  weighting: z
    .enum(['equal', 'adaptive'])
    .default('equal')
    .describe(
      '`equal`: members of the pool are taken equally often; `adaptive`: less often the more they diverge and the less they win, `staleShare` being the largest share.',
    ),
})

const stepGroupsSchema = z.strictObject({
  weight: z
    .number()
    .min(0)
    .max(100)
    .default(0)
    .describe(
      "Weight ω of a step's advantage beside that of its episode, where environments name exact states.",
    ),
  discount: probability
    .default(0.95)
    .describe('Discount γ of what is paid later, in the return from a turn.'),
})

const replaySchema = z.strictObject({
  share: z
    .number()
    .min(0)
    .max(8)
    .default(0)
    .describe(
      'Groups of earlier updates that an update learns from too, at most this many times `rollout.groupsPerUpdate`.',
    ),
  maxAge: count(64).default(4).describe('Latest updates whose groups may be read once more.'),
  weight: z.number().gt(0).max(1).default(0.5).describe('Weight of a token of a replayed group, beside 1.'),
})

const imitationSchema = z.strictObject({
  coefficient: z
    .number()
    .min(0)
    .max(100)
    .default(0)
    .describe(
      'Weight of the negative log-likelihood of what imitated episodes did, beside the policy loss (self-imitation).',
    ),
  by: z
    .enum(imitationKinds)
    .default('win')
    .describe(
      'Imitated episodes: `win`, successes; `best`, the best of each group whose rewards differ; `reward`, those with a positive reward, by its size.',
    ),
})

/** Algorithm and optimizer. */
export const learningSchema = z.strictObject({
  algorithm: text
    .default('grpo')
    .describe(
      'How a run learns: `grpo`, `dr_grpo`, `rloo`, `reinforce_pp`, `gspo` (with `lossAggregation: episode`), `cispo`, `dgg`, `epo`, `hgpo`, `graph_gpo`, `gagpo`, `critic`, `turn_ppo`, `imitation`, or `distillation` ([equations](algorithms.md#advantage)). Or a module of your own by path (`./my-algorithm`) or package.',
    ),
  teacher: text
    .optional()
    .describe(
      'Checkpoint of a run with the tokenizer of `policy.from`: the reference instead of the warm-started policy. `distillation` learns from it.',
    ),
  negativeWeight: probability.default(1).describe('Factor of negative advantages, after normalization.'),
  taskNormalization: z
    .enum(['none', 'per_task', 'per_task_published'])
    .default('per_task')
    .describe(
      'Advantages are normalized over the action tokens of a task; `per_task_published` gives groups of equal rewards some too.',
    ),
  taskWeighting: z
    .enum(['none', 'equal'])
    .default('none')
    .describe(
      "A task's share of the gradient: `none`, as lengths and advantages have it; `equal`, its `weight` among the tasks with a preference.",
    ),
  lossAggregation: z
    .enum(['token', 'episode', 'task'])
    .default('token')
    .describe('Units of equal weight in the loss: action tokens, episodes, or tasks.'),
  proximal: z
    .enum(['behaviour', 'start'])
    .default('behaviour')
    .describe(
      'Policy that ratios are to: `behaviour`, the one that sampled (as published), or `start`, the one that the update starts from (decoupled PPO).',
    ),
  importanceLimit: positive(1000).default(5).describe('Largest weight of a token with `proximal: start`.'),
  stepGroups: stepGroupsSchema
    .prefault({})
    .describe('Credit within an episode: steps of a group in the same state are compared with one another.'),
  replay: replaySchema.prefault({}).describe('Learning once more from groups of the last updates.'),
  imitation: imitationSchema.prefault({}).describe('Learning what was won, beside the policy loss.'),
  branches: z
    .enum(learntBranches)
    .default('all')
    .describe(
      "Branches of an agent's episode that are learnt from ([bias](foreign-environments.md#agents)): `all`, or the `last` alone.",
    ),
  observationWeight: z
    .number()
    .min(0)
    .max(100)
    .default(0)
    .describe('Weight of the negative log-likelihood of what agents read, in all episodes; 0: none.'),
  ...liveLearning(),
  entropyTarget: positive(100)
    .optional()
    .describe(
      'Entropy in nats per token that `entropyCoefficient` follows, which is that of the first update then.',
    ),
  entropyStep: positive(10).default(0.0001).describe('Largest change of it from update to update.'),
  entropyMost: positive(10).default(0.01).describe('Largest coefficient with a target.'),
  notCompletedPenalty: z
    .number()
    .min(-1000)
    .max(0)
    .default(-0.2)
    .describe('Reward of an episode that did not complete.'),
  warmUpUpdates: amount(1_000_000)
    .default(0)
    .describe('Updates over which the learning rate rises to its peak.'),
  finalLearningRateShare: probability
    .default(1)
    .describe('Learning rate at the last update, as a share of the peak; the decay is linear.'),
  beta1: decay.default(0.9).describe('First moment decay of AdamW.'),
  beta2: decay.default(0.95).describe('Second moment decay of AdamW.'),
  epsilon: positive(0.1).default(1e-8).describe('Denominator floor of AdamW.'),
  microBatchTokens: whole(64, 16_777_216)
    .default(4096)
    .describe('Tokens of one micro-batch; it bounds memory and changes results only by rounding.'),
})
