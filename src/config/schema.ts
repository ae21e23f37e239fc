/**
 * The configuration of a run: one schema, which is also its documentation.
 *
 * Invariants
 * - Every field has a default, bounds and a description; an empty configuration is a valid one.
 * - Unknown keys are errors.
 * - A resolved configuration is plain JSON.
 */
import { z } from 'zod'

const probability = z.number().min(0).max(1)
const positiveInteger = z.int().min(1)

const taskSchema = z.strictObject({
  task: z.string().default('alfworld').describe('Name of a task; `perdure env list` shows them.'),
  weight: z.number().positive().default(1).describe('Share of the groups, relative to the other tasks.'),
  data: z
    .string()
    .optional()
    .describe('Folder with official data; without it the built-in generator is used.'),
  split: z.string().default('train').describe('Split that training instances are drawn from.'),
  turnLimit: positiveInteger.optional().describe("Turns of an episode; the task's own limit by default."),
  settings: z.record(z.string(), z.json()).default({}).describe("The task's own settings."),
})

const suiteSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9_]+$/)
    .default('held_out')
    .describe('Name of the suite in results and commands.'),
  task: z.string().default('alfworld').describe('Name of a task that the run configures.'),
  split: z.string().default('test').describe('Split that the episodes come from.'),
  episodes: positiveInteger.default(200).describe('Number of instances, the first of the split.'),
  temperature: z.number().min(0).default(0).describe('0 is greedy.'),
})

/** The schema of a configuration file. */
export const configSchema = z.strictObject({
  seed: z.int().min(0).max(4294967295).default(1).describe('All randomness of the run derives from it.'),
  tasks: z.array(taskSchema).min(1).prefault([{}]).describe('The task mix.'),
  rollout: z
    .strictObject({
      groupSize: z.int().min(2).default(8).describe('Episodes of one instance (G).'),
      groupsPerUpdate: positiveInteger.default(16).describe('Groups that one update consumes (B).'),
      maxStaleness: z
        .int()
        .min(0)
        .default(1)
        .describe('Updates a group may be behind (η); 0 is synchronous.'),
      temperature: z.number().positive().default(0.8).describe('Sampling temperature.'),
      maxTokensPerTurn: positiveInteger.default(48).describe('Tokens of one action at most.'),
      groupTimeoutSeconds: z
        .number()
        .positive()
        .default(900)
        .describe('After it a group ends at its quorum.'),
      quorum: z
        .int()
        .min(2)
        .optional()
        .describe('Episodes that make a group after its timeout; all by default.'),
      maxAttempts: positiveInteger
        .default(5)
        .describe('Attempts of one episode that meets infrastructure failures.'),
      invalidActionLimit: positiveInteger
        .default(3)
        .describe('Unusable actions in a row that end an episode.'),
    })
    .prefault({}),
  crossPolicy: z
    .strictObject({
      staleShare: probability.default(0.25).describe('Probability that a turn is sampled from the pool.'),
      poolSize: z.int().min(0).default(2).describe('Older checkpoints kept for sampling; 0 turns it off.'),
      refreshEvery: positiveInteger.default(25).describe('Updates between two refreshes of the pool.'),
    })
    .prefault({}),
  learning: z
    .strictObject({
      advantage: z
        .enum(['grpo', 'dr_grpo', 'rloo', 'reinforce_pp'])
        .default('grpo')
        .describe('Group advantage.'),
      taskNormalization: z
        .enum(['none', 'per_task', 'per_task_published'])
        .default('per_task')
        .describe('Task advantage normalization; `published` reproduces the published arithmetic.'),
      clipLow: z.number().positive().max(1).default(0.2).describe('ε below.'),
      clipHigh: z.number().positive().default(0.2).describe('ε above.'),
      dualClip: z.number().min(1).default(3).describe('Bound of the loss for negative advantages.'),
      klCoefficient: z
        .number()
        .min(0)
        .default(0.0001)
        .describe('β of the k3 term to the warm-started policy.'),
      entropyCoefficient: z.number().min(0).default(0).describe('Weight of the entropy bonus.'),
      notCompletedPenalty: z
        .number()
        .max(0)
        .default(-0.2)
        .describe('Reward of an episode that did not complete.'),
      learningRate: z.number().positive().default(0.0003).describe('Learning rate of AdamW.'),
      beta1: probability.default(0.9).describe('First moment decay.'),
      beta2: probability.default(0.95).describe('Second moment decay.'),
      epsilon: z.number().positive().default(1e-8).describe('Denominator floor of AdamW.'),
      weightDecay: z.number().min(0).default(0).describe('Decoupled weight decay.'),
      gradientClip: z.number().positive().default(1).describe('Largest global gradient norm.'),
      microBatchTokens: z.int().min(64).default(4096).describe('Tokens of one micro-batch; bounds memory.'),
    })
    .prefault({}),
  policy: z
    .strictObject({
      engine: z.enum(['embedded']).default('embedded').describe('Where actions are sampled.'),
      from: z.string().optional().describe('Folder with a Hugging Face checkpoint to start from.'),
      hiddenSize: positiveInteger.default(128).describe('Width of the policy.'),
      layers: positiveInteger.default(4).describe('Decoder layers.'),
      heads: positiveInteger.default(4).describe('Attention heads.'),
      keyValueHeads: positiveInteger.default(4).describe('Key and value heads.'),
      intermediateSize: positiveInteger.default(384).describe('Width of the feed-forward part.'),
      vocabularySize: z.int().min(300).default(768).describe('Tokens of a tokenizer made from scratch.'),
      contextLength: z.int().min(64).default(1024).describe('Tokens of an episode at most.'),
      threads: positiveInteger.default(2).describe('Threads of the policy engine and of the trainer.'),
    })
    .prefault({}),
  warmStart: z
    .strictObject({
      demonstrations: z
        .int()
        .min(0)
        .default(600)
        .describe('Expert episodes to imitate; 0 skips the warm start.'),
      epochs: positiveInteger.default(2).describe('Passes over the demonstrations.'),
      batchTokens: z.int().min(256).default(4096).describe('Tokens of one supervised step.'),
      learningRate: z.number().positive().default(0.002).describe('Peak learning rate.'),
      chunks: positiveInteger.default(4).describe('Durable parts of the warm start.'),
    })
    .prefault({}),
  training: z
    .strictObject({
      updates: z.int().min(0).default(60).describe('Updates of the run.'),
      keepCheckpoints: z.int().min(2).default(3).describe('Latest checkpoints kept, beside those in use.'),
    })
    .prefault({}),
  evaluation: z
    .strictObject({
      every: z.int().min(0).default(20).describe('Updates between two evaluations; 0: only first and last.'),
      suites: z.array(suiteSchema).prefault([{}]).describe('What is evaluated.'),
    })
    .prefault({}),
  orchestration: z
    .strictObject({
      dispatch: z
        .enum(['local', 'server'])
        .default('local')
        .describe('`local` where all roles share a process, `server` where they do not.'),
      maxCachedWorkflows: positiveInteger.default(600).describe('Workflows kept in memory.'),
    })
    .prefault({}),
})

/** A configuration with all defaults filled in. */
export type RunConfig = z.output<typeof configSchema>
/** A configuration as a file may give it. */
export type RunConfigInput = z.input<typeof configSchema>
