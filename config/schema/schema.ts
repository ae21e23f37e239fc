/**
 * The configuration of a run: one schema, which is also its documentation.
 *
 * Invariants
 * - Every field has a default or says what holds without it, has bounds and a description; an empty
 *   configuration is a valid one.
 * - Unknown keys are errors.
 * - A resolved configuration is plain JSON.
 * - Fields that must fit each other are checked together, and the complaint names one of them.
 */
import { z } from 'zod'
import { metricName } from '../../learning/evaluation/measure.ts'
import { adapterTargets } from '../../learning/loss/adapter-targets.ts'
import { amount, count, live, positive, probability, text, whole } from './bounded-field.ts'
import { contradictions } from './consistency.ts'
import { crossPolicySchema, learningSchema } from './learning-schema.ts'
import { taskSchema } from './task-schema.ts'

const megabytes = z.number().min(0).max(1_000_000_000)

const suiteSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9_]{1,40}$/)
    .default('held_out')
    .describe('Name of the suite in results and commands: lower-case letters, digits and `_`.'),
  task: text.default('alfworld').describe('Name of a task that the run configures.'),
  split: text
    .default('test')
    .describe(
      'Split that the episodes come from. Several names may be joined by `|`: the first that the data has is used.',
    ),
  episodes: count(100_000).default(200).describe('Number of instances, the first of the split.'),
  samples: count(1024)
    .default(1)
    .describe(
      'Episodes of each instance. With several, pass@k is measured too, and the temperature must be above 0.',
    ),
  temperature: z.number().min(0).max(10).default(0).describe('Sampling temperature; 0 is greedy.'),
  measure: z
    .strictObject({
      of: z
        .string()
        .regex(metricName)
        .default('success')
        .describe('Measure that decides: `success`, `reward`, `turns`, `tokens`, or a metric of the task.'),
    })
    .prefault({})
    .describe('The judgement of the suite.'),
})

const gateSchema = z.strictObject({
  suite: text.describe('Name of a suite of this run.'),
  drop: live('evaluation.gates.N.drop'),
  confidence: z
    .number()
    .gt(0.5)
    .lt(1)
    .default(0.95)
    .describe('Confidence with which the loss must exceed `drop`.'),
  against: z
    .enum(['best', 'last'])
    .default('best')
    .describe('Compare a version with the best version before it, or with the one evaluated last.'),
  action: z
    .enum(['pause', 'rollback'])
    .default('pause')
    .describe('`pause` waits for a person, `rollback` continues from the best version.'),
})

const rolloutSchema = z.strictObject({
  groupSize: whole(2, 1024).default(8).describe('Episodes of one instance (G).'),
  groupsPerUpdate: count(4096).default(16).describe('Groups that one update learns from (B).'),
  maxStaleness: live('rollout.maxStaleness'),
  refill: z
    .number()
    .min(0)
    .max(16)
    .default(2)
    .describe(
      'Groups that teach nothing are replaced by others, for one update at most this many times `groupsPerUpdate`; further ones, and all with 0, take places of a batch.',
    ),
  groupsInFlight: live('rollout.groupsInFlight'),
  temperature: positive(10).default(0.8).describe('Sampling temperature in training.'),
  maxTokensPerTurn: count(32_768).default(48).describe('Largest number of tokens of one action.'),
  groupTimeoutSeconds: positive(604_800)
    .default(900)
    .describe('Seconds after which a group may end at its quorum.'),
  quorum: whole(2, 1024)
    .optional()
    .describe('Episodes that are enough for a group after its timeout; all of them by default.'),
  maxAttempts: count(100)
    .default(5)
    .describe('Attempts at one episode after infrastructure failures; a failed attempt has no reward.'),
  invalidActionLimit: count(1000).default(3).describe('Unusable actions in a row that end an episode.'),
})

const serverAddress = z.string().regex(/^https?:\/\/[^\s/]+\S*$/)

const loraSchema = z.strictObject({
  rank: count(1024).default(16).describe('Rank of the adapter; servers have a limit of their own.'),
  alpha: positive(65_536).default(32).describe('Scale of the adapter, divided by its rank.'),
  targets: z
    .array(z.enum(adapterTargets))
    .min(1)
    .max(adapterTargets.length)
    .default([...adapterTargets])
    .describe(`Matrices that have an adapter in each layer, of ${adapterTargets.join(', ')}.`),
})

const policySchema = z.strictObject({
  engine: text
    .default('embedded')
    .describe(
      'Where actions are sampled: `embedded` is the engine in the policy worker; `llama.cpp`, `vllm` and `sglang` are servers; a custom engine is a module by path (`./my-engine`) or package ([engines.md](engines.md)).',
    ),
  engineUrl: z
    .union([serverAddress, z.array(serverAddress).min(1).max(64)])
    .optional()
    .describe('Address of the server of the engine, or a list of several that serve the same.'),
  engineApiKey: text
    .optional()
    .describe(
      'Bearer token for the servers, as a reference to a secret ([keep-secrets.md](keep-secrets.md)).',
    ),
  engineTimeoutSeconds: positive(86_400)
    .default(300)
    .describe('Seconds that a server, or the engine in the policy worker, may take for one action.'),
  trainer: z
    .union([text, z.array(text).min(1).max(64)])
    .default('embedded')
    .describe(
      'Trainer: `embedded`, a [module](trainers.md#a-module) by path or package, or a command with its arguments, e.g. `[python3, -m, perdure_trainer]`. Words that begin with `./` or `../` are paths.',
    ),
  trainerStallSeconds: positive(86_400)
    .default(900)
    .describe(
      'Seconds of silence in its work after which the command is ended and started again, and a custom algorithm is refused.',
    ),
  from: text
    .optional()
    .describe(
      'Folder to start from: a checkpoint of a run, or a [Hugging Face folder](train-a-real-model.md#which-models-load). Its shape and tokenizer replace the settings below.',
    ),
  lora: loraSchema
    .optional()
    .describe(
      'Where it is given, even empty, updates train a low-rank adapter instead of all weights, and a version is the adapter over a base that is stored once. The warm start trains the base. See [trainers.md](trainers.md#adapters).',
    ),
  hiddenSize: whole(8, 16_384).default(128).describe('Width of the policy; a multiple of `heads`.'),
  layers: count(128).default(4).describe('Decoder layers.'),
  heads: count(256).default(4).describe('Attention heads; hiddenSize / heads must be even.'),
  keyValueHeads: count(256)
    .default(2)
    .describe('Key and value heads, a divisor of `heads`. Fewer decode faster.'),
  intermediateSize: whole(8, 65_536).default(384).describe('Width of the feed-forward part.'),
  vocabularySize: whole(300, 262_144)
    .default(768)
    .describe('Tokens of the tokenizer made from the environments’ text; all 256 bytes are among them.'),
  contextLength: whole(64, 1_048_576).default(1024).describe('Largest number of tokens of an episode.'),
  initialization: z
    .enum(['random', 'copying'])
    .default('random')
    .describe(
      'First weights of a policy made from scratch: `copying` has heads that raise the logit of what followed the present token before, so that fewer demonstrations teach to repeat what was read.',
    ),
  threads: count(256).default(2).describe('Threads of the policy engine and of the trainer.'),
})

const warmStartSchema = z.strictObject({
  demonstrations: amount(1_000_000)
    .default(600)
    .describe('Expert episodes to imitate; 0 skips the warm start.'),
  epochs: count(1000).default(2).describe('Passes over the demonstrations.'),
  batchTokens: whole(256, 16_777_216).default(4096).describe('Tokens of one supervised step.'),
  learningRate: positive(1).default(0.002).describe('Peak learning rate.'),
  observationWeight: probability
    .default(0)
    .describe('Weight of an observation token in the loss; an action token has weight 1.'),
  weighting: z
    .enum(['none', 'reward'])
    .default('none')
    .describe(
      'Weight of a demonstration: all alike, or by its `reward`; then one that earns nothing is left out.',
    ),
  instances: z
    .enum(['first', 'last'])
    .default('first')
    .describe(
      'Instances of a split that are demonstrated: the `first`, which training plays first too, or the `last`.',
    ),
  chunks: count(10_000).default(4).describe('Durable parts of the warm start; a crash repeats at most one.'),
  corrections: amount(9_999)
    .default(0)
    .describe(
      'How many of the last parts correct the policy: it plays with the expert, whose words are imitated (DAgger, arXiv 1011.0686). An expert that cannot join demonstrates instead.',
    ),
})

const stopSchema = z.strictObject({
  episodes: count(1_000_000_000).optional().describe('Training episodes.'),
  tokens: count(1_000_000_000_000).optional().describe('Tokens sampled in them.'),
  seconds: positive(1_000_000_000).optional().describe('Seconds since version 0, breaks included.'),
  cpuSeconds: positive(1_000_000_000).optional().describe('CPU time of workers since version 0.'),
})

const trainingSchema = z.strictObject({
  updates: amount(1_000_000).default(60).describe('Updates of the run.'),
  stop: stopSchema.optional().describe('A budget: the run ends with the update that reaches one of these.'),
  keepCheckpoints: whole(2, 1_000_000).default(3).describe('Latest checkpoints kept, beside those in use.'),
})

const evaluationSchema = z.strictObject({
  every: amount(1_000_000)
    .default(20)
    .describe('Updates between two evaluations; 0: only before the first update and after the last.'),
  suites: z.array(suiteSchema).max(64).prefault([{}]).describe('Suites to evaluate.'),
  blocking: z
    .boolean()
    .default(false)
    .describe(
      'Whether an update waits until the evaluations of its version have ended, as an engine of one version needs.',
    ),
  gates: z
    .array(gateSchema)
    .max(64)
    .default([])
    .describe('Rules that stop a run that gets worse; each is checked after an evaluation of its suite.'),
})

const orchestrationSchema = z.strictObject({
  dispatch: z
    .enum(['local', 'server'])
    .default('local')
    .describe('`local` if all roles share one process, `server` if they do not.'),
  maxCachedWorkflows: whole(10, 100_000)
    .default(600)
    .describe('Workflows kept in memory by the orchestrator.'),
  dashboardUrl: z
    .union([
      z.literal(''),
      z.url({ protocol: /^https?$/ }).regex(/^[^\s()[\]|]*$/, 'no blank and no bracket'),
    ])
    .default('http://127.0.0.1:8450/')
    .describe(
      'Address at which `npx perdure ui` serves the page of the home: what the Temporal UI says of each workflow links there. Empty: no links.',
    ),
  historyEvents: whole(100, 20_000)
    .default(2000)
    .describe('Events after which a run continues as new, unless the server suggests it earlier.'),
})

const retentionSchema = z.strictObject({
  everyCheckpoint: amount(1_000_000)
    .default(0)
    .describe('Every n-th version is kept too; 0: only the latest, the best and those in use.'),
  bestCheckpoints: count(1000).default(1).describe('Best versions of each suite that are kept.'),
  batches: count(1_000_000)
    .default(20)
    .describe('Latest batch files that are kept, so that an update can be repeated alone.'),
  trajectoryDays: positive(36_500)
    .optional()
    .describe('Days after which trajectories that no update needs are deleted; they are kept by default.'),
  trajectoryMegabytes: positive(1_000_000_000)
    .default(20_000)
    .describe("Megabytes of the run's trajectories; above this the oldest that no update needs are deleted."),
  historyDays: positive(36_500)
    .default(30)
    .describe('Days after which Temporal forgets the history of a workflow that has ended.'),
  logMegabytes: positive(1_000_000)
    .default(64)
    .describe('Largest size of one log file in megabytes; only the end of a larger one is kept.'),
  warnFreeMegabytes: megabytes
    .default(2000)
    .describe(
      'The run warns if the disk has less free space than this, in megabytes, and less than `warnFreeShare`.',
    ),
  warnFreeShare: probability
    .default(0.05)
    .describe('The run warns if a smaller share of the disk is free, and less than `warnFreeMegabytes`.'),
  pauseFreeMegabytes: megabytes
    .default(300)
    .describe(
      'The run pauses if the disk has less free space than this, in megabytes, and less than `pauseFreeShare`.',
    ),
  pauseFreeShare: probability
    .default(0.01)
    .describe(
      'The run pauses if a smaller share of the disk is free, and less than `pauseFreeMegabytes`; 0: never.',
    ),
})

const fleetSchema = z.strictObject({ share: live('fleet.share') })

const trackersSchema = z.strictObject({
  tensorboard: text
    .optional()
    .describe("Folder for TensorBoard's event files, one folder in it for each run; absent: none."),
  wandb: text
    .optional()
    .describe('Folder for offline runs of Weights & Biases, which `wandb sync` uploads; absent: none.'),
  mlflow: text
    .optional()
    .describe(
      'Address of an MLflow tracking server, e.g. `http://127.0.0.1:5000`, or folder of a file store, e.g. `mlruns`; absent: none.',
    ),
})

/** The schema of a configuration file. */
export const configSchema = z
  .strictObject({
    seed: amount(4_294_967_295).default(1).describe('Seed of all randomness of the run.'),
    tasks: z.array(taskSchema).min(1).max(64).prefault([{}]).describe('The task mix.'),
    rollout: rolloutSchema.prefault({}).describe('How episodes are collected.'),
    crossPolicy: crossPolicySchema.prefault({}).describe('Sampling of turns from older checkpoints.'),
    learning: learningSchema.prefault({}).describe('Algorithm and optimizer.'),
    policy: policySchema.prefault({}).describe('The language model that acts and learns.'),
    warmStart: warmStartSchema.prefault({}).describe('Supervised start from demonstrations.'),
    training: trainingSchema.prefault({}).describe('Length of the run and what it keeps.'),
    evaluation: evaluationSchema.prefault({}).describe('Measurements on held-out instances.'),
    retention: retentionSchema
      .prefault({})
      .describe('How long data is kept, and when a run pauses because the disk is almost full.'),
    trackers: trackersSchema
      .prefault({})
      .describe(
        'Where experiment trackers find the figures of the run ([observe-a-run.md](observe-a-run.md#experiment-trackers)).',
      ),
    fleet: fleetSchema.prefault({}).describe("The run's part of workers that several runs use."),
    orchestration: orchestrationSchema.prefault({}).describe('How work is dispatched to workers.'),
  })
  .superRefine((config, context) => {
    for (const { path, value, message } of contradictions(config)) {
      context.addIssue({ code: 'custom', path: [...path], input: value, message })
    }
  })

/** A configuration as it is written: everything has a default. */
export type ConfigInput = z.input<typeof configSchema>
/** A configuration with all defaults filled in. */
export type RunConfig = z.output<typeof configSchema>
