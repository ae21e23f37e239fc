/**
 * The files on which a trainer's program is checked, and the updates in which it must agree with the embedded trainer.
 *
 * Invariants
 * - Ratios reach from e^−2 to e^2, on both sides of every clip and on none of its edges.
 * - The batch has what batches have: episodes of several lengths, one without a counted token, weights, stale turns, versions.
 */
import { join } from 'node:path'
import { uniforms } from '../../identity/identity.ts'
import { parseArchitecture, renderArchitecture } from '../../policy/checkpoints/architecture-config.ts'
import { publishCheckpoint, readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { copyCheckpoint } from '../../policy/checkpoints/copying.ts'
import { manifestFile, readManifest, renderManifest } from '../../policy/checkpoints/manifest.ts'
import { writeDurably } from '../../policy/files/durable-file.ts'
import type { UpdateBatch } from '../../policy/trainer/batch.ts'
import { writeUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { initializeAdapter } from '../../policy/trainer/initial-checkpoint.ts'
import type { ObjectiveSettings, Trainer, UpdateRequest } from '../../policy/trainer/trainer.ts'
import { type AdapterShape, adapterSpecs } from '../../policy/transformer/adapter.ts'
import { type Architecture, elementCount } from '../../policy/transformer/architecture.ts'
import { initialWeights } from '../../policy/transformer/initialization.ts'
import { architecture, families, paddedTokenizer } from './trainer-check-models.ts'

/** Input of the checked trainer. */
export interface TrainerFixture {
  readonly folder: string
  /** An update that everything else varies. */
  readonly request: UpdateRequest
  /** A batch with tokens that the policy does not have. */
  readonly strangeBatchFile: string
}

/** An update that both trainers make. */
export interface CheckedCase {
  readonly name: string
  readonly changes: (request: UpdateRequest) => Partial<UpdateRequest>
}

const objective: ObjectiveSettings = {
  kind: 'policy',
  loss: 'clipped',
  clipLow: 0.2,
  clipHigh: 0.3,
  dualClip: 3,
  klCoefficient: 0.05,
  entropyCoefficient: 0,
  temperature: 0.8,
}

/** Log ratios on both sides of every clip. */
const logRatios = [0, 0.1, -0.1, 0.5, -0.5, 1, -1, 1.5, -1.5, 2, -2]

const ofFamily =
  (name: string): CheckedCase['changes'] =>
  (request) => ({
    ...changing({ klCoefficient: 0 })(request),
    referenceCheckpointDir: undefined,
    fromCheckpointDir: join(request.toCheckpointDir, '..', name),
    batchFile: join(request.toCheckpointDir, '..', `${name}-batch`),
  })

const changing =
  (changes: Partial<ObjectiveSettings>): CheckedCase['changes'] =>
  (request) => ({
    objective: { ...request.objective, ...changes },
  })

/** The updates to compare, each with its particular setting. */
export const checkedCases: readonly CheckedCase[] = [
  { name: 'clipped', changes: () => ({}) },
  { name: 'cispo', changes: changing({ loss: 'cispo' }) },
  { name: 'gspo', changes: changing({ loss: 'gspo' }) },
  {
    name: 'gspo, with an advantage for each turn',
    changes: (request) => ({
      ...changing({ loss: 'gspo' })(request),
      batchFile: join(request.toCheckpointDir, '..', 'turns-batch'),
    }),
  },
  { name: 'distillation', changes: changing({ loss: 'distillation', klCoefficient: 0 }) },
  { name: 'entropy bonus', changes: changing({ entropyCoefficient: 0.02 }) },
  {
    name: 'no reference',
    changes: (request) => ({ ...changing({ klCoefficient: 0 })(request), referenceCheckpointDir: undefined }),
  },
  { name: 'supervised', changes: changing({ kind: 'supervised' }) },
  {
    name: 'gradient clip and weight decay',
    changes: ({ optimizer }) => ({ optimizer: { ...optimizer, gradientClip: 0.01, weightDecay: 0.1 } }),
  },
  {
    name: 'decoupled from the policy that sampled',
    changes: (request) => ({
      ...changing({ decoupled: { importanceLimit: 2 } })(request),
      division: { minibatches: 2, passes: 2, seed: 7 },
    }),
  },
  {
    name: 'two tasks, one clipped and one by gspo',
    changes: (request) => ({
      ...changing({ loss: undefined, losses: ['clipped', 'gspo'] })(request),
      batchFile: join(request.toCheckpointDir, '..', 'tasks-batch'),
    }),
  },
  {
    name: 'two tasks, one by cispo and one clipped, decoupled',
    changes: (request) => ({
      ...changing({ loss: undefined, losses: ['cispo', 'clipped'], decoupled: { importanceLimit: 2 } })(
        request,
      ),
      batchFile: join(request.toCheckpointDir, '..', 'tasks-batch'),
      division: { minibatches: 2, passes: 1, seed: 7 },
    }),
  },
  {
    name: 'imitation beside the policy loss',
    changes: ({ toCheckpointDir }) => ({
      batchFile: join(toCheckpointDir, '..', 'imitation-batch'),
      division: { minibatches: 2, passes: 1, seed: 7 },
    }),
  },
  {
    name: 'what was read beside the policy loss, of whole episodes',
    changes: ({ toCheckpointDir, objective }) => ({
      objective: { ...objective, loss: 'gspo' },
      batchFile: join(toCheckpointDir, '..', 'observations-batch'),
      division: { minibatches: 2, passes: 1, seed: 7 },
    }),
  },
  {
    name: 'an episode that is imitated and was not sampled, in a step by itself',
    changes: ({ toCheckpointDir, objective }) => ({
      objective: { ...objective, loss: 'gspo' },
      batchFile: join(toCheckpointDir, '..', 'example-batch'),
      division: { minibatches: 7, passes: 1, seed: 7 },
    }),
  },
  {
    name: 'an adapter',
    changes: ({ toCheckpointDir }) => ({ fromCheckpointDir: join(toCheckpointDir, '..', 'adapted') }),
  },
  {
    name: 'an adapter, its norm clipped, in several steps',
    changes: ({ toCheckpointDir, optimizer }) => ({
      fromCheckpointDir: join(toCheckpointDir, '..', 'adapted'),
      division: { minibatches: 2, passes: 2, seed: 5 },
      optimizer: { ...optimizer, gradientClip: 0.05 },
    }),
  },
  { name: 'Llama 3: scaled positions, a head of its own', changes: ofFamily('llama3') },
  { name: 'Qwen2: biases, positions scaled by YaRN', changes: ofFamily('qwen2') },
  { name: 'Qwen3: norms of heads, linear positions, a window', changes: ofFamily('qwen3') },
  {
    name: 'a vocabulary with ids that no token has, with an entropy bonus',
    changes: (request) => ({
      ...ofFamily('padded')(request),
      objective: { ...request.objective, klCoefficient: 0, entropyCoefficient: 0.02 },
    }),
  },
  { name: 'minibatches and passes', changes: () => ({ division: { minibatches: 3, passes: 2, seed: 20 } }) },
  {
    name: 'two tasks, one by epo, whose entropies are below, within and above its bounds',
    changes: (request) => ({
      ...changing({
        ...{ loss: undefined, losses: ['epo', 'clipped'], entropyCoefficient: 0.05 },
        entropyBand: { low: 2.5, high: 2.8, pull: 1.5 },
      })(request),
      batchFile: join(request.toCheckpointDir, '..', 'tasks-batch'),
    }),
  },
  {
    name: 'turn_ppo, whose values are fitted',
    changes: ({ toCheckpointDir, objective }) => ({
      objective: { ...objective, loss: 'turn_ppo' },
      batchFile: join(toCheckpointDir, '..', 'values-batch'),
    }),
  },
  {
    name: 'dgg',
    changes: (request) => ({
      ...changing({ loss: 'dgg' })(request),
      division: { minibatches: 3, passes: 3, seed: 12 },
    }),
  },
  {
    name: 'ended within its first pass, at a target of divergence',
    changes: () => ({ division: { minibatches: 3, passes: 2, seed: 20, targetKl: 1e-6 } }),
  },
  {
    name: 'continuing with moments',
    changes: ({ toCheckpointDir }) => ({
      fromCheckpointDir: join(toCheckpointDir, '..', 'trained'),
      version: 3,
    }),
  },
  {
    name: 'moments of another objective are dropped',
    changes: ({ toCheckpointDir }) => ({
      fromCheckpointDir: join(toCheckpointDir, '..', 'imitated'),
      version: 3,
    }),
  },
]

/** Writes checkpoints and batches. */
export async function fixtureIn(folder: string, embedded: Trainer): Promise<TrainerFixture> {
  const at = (name: string): string => join(folder, name)
  const policies: readonly (readonly [string, number, Architecture])[] = [
    ['begin', 1, architecture],
    ['reference', 2, architecture],
    ...Object.entries(families).map(([name, family]) => [name, 1, family] as const),
  ]
  for (const [name, seed, of] of policies)
    await publishCheckpoint(at(name), {
      // As it is read back: what is trained from it is written in the same order.
      architecture: parseArchitecture(renderArchitecture(of), name),
      weights: lively(of, seed),
      tokenizer: name === 'padded' ? paddedTokenizer : '{}\n',
      state: { version: 1, step: 0, chat: 'compact', facts: {} },
    })
  await publishAdapter(folder)
  await leaveFiles(at('begin'), at('others'))
  const plain = batchOf()
  const batch = await sampledBy(at('begin'), plain, embedded)
  for (const name of Object.keys(families))
    await writeUpdateBatch(at(`${name}-batch`), await sampledBy(at(name), plain, embedded))
  await writeUpdateBatch(at('batch'), batch)
  const imitation = batch.lossMask.map((counts, i) => (counts === 1 && i % 4 === 0 ? 1 : 0))
  await writeUpdateBatch(at('imitation-batch'), {
    ...batch,
    imitation: Float32Array.from(imitation, (each) => each / 100),
  })
  await writeUpdateBatch(at('observations-batch'), {
    ...batch,
    imitation: Float32Array.from(batch.lossMask, (counts, i) => {
      const [begin = 0, end = 0] = [
        batch.offsets[episodeAt(batch.offsets, i)],
        batch.offsets[episodeAt(batch.offsets, i) + 1],
      ]
      return counts === 0 && i > begin && batch.lossMask.lastIndexOf(1, end - 1) > i ? 0.004 : 0
    }),
  })
  // The episode without a counted token, up to its last one.
  await writeUpdateBatch(at('example-batch'), {
    ...batch,
    imitation: Float32Array.from(batch.lossMask, (_, i) =>
      episodeAt(batch.offsets, i) === 2 && i > (batch.offsets[2] ?? 0) ? 0.01 : 0,
    ),
  })
  await writeUpdateBatch(at('tasks-batch'), {
    ...batch,
    losses: batch.lossMask.map((counts, i) => (counts === 1 ? episodeAt(batch.offsets, i) % 2 : 0)),
  })
  const turnStarts = batch.lossMask.map((counts, i) => (counts > (batch.lossMask[i - 1] ?? 1) ? 1 : 0))
  const valueTargets = batch.advantages.map((_, i) => Math.sin(i) * (turnStarts[i] ?? 0))
  await writeUpdateBatch(at('values-batch'), { ...batch, turnStarts, valueTargets })
  await writeUpdateBatch(at('turns-batch'), {
    ...batch,
    advantages: batch.advantages.map(
      (advantage, i) => advantage * ([1, -0.5, 2][Math.floor(i / 5) % 3] ?? 0),
    ),
  })
  await writeUpdateBatch(at('strange-batch'), { ...batch, tokens: batch.tokens.map((token) => token + 50) })
  const request: UpdateRequest = {
    batchFile: at('batch'),
    fromCheckpointDir: at('begin'),
    toCheckpointDir: at('result'),
    version: 2,
    referenceCheckpointDir: at('reference'),
    objective,
    optimizer: {
      learningRate: 0.001,
      beta1: 0.9,
      beta2: 0.95,
      epsilon: 1e-8,
      weightDecay: 0,
      gradientClip: 1000,
    },
    microBatchTokens: 128,
  }
  await embedded.update({ ...request, toCheckpointDir: at('trained') })
  const supervised: ObjectiveSettings = { ...objective, kind: 'supervised' }
  await embedded.update({ ...request, objective: supervised, toCheckpointDir: at('imitated') })
  return { folder, request, strangeBatchFile: at('strange-batch') }
}

/** The batch as a policy sampled it that is a known ratio away from the checkpoint's. */
async function sampledBy(checkpointDir: string, batch: UpdateBatch, embedded: Trainer): Promise<UpdateBatch> {
  const { tokens, offsets, lossMask } = batch
  const logprobs = await embedded.logprobs({
    ...{ checkpointDir, tokens, offsets, lossMask },
    temperature: objective.temperature,
    microBatchTokens: 128,
  })
  const behaviourLogprobs = logprobs.map((logprob, i) =>
    lossMask[i] === 1 ? logprob - (logRatios[i % logRatios.length] ?? 0) : 0,
  )
  return { ...batch, behaviourLogprobs }
}

/** A checkpoint as a trainer leaves it that keeps a part of its state in a file of its own. */
async function leaveFiles(from: string, to: string): Promise<void> {
  const name = 'optimizer-0-of-2.safetensors'
  await copyCheckpoint(from, to)
  const { files, ...manifest } = await readManifest(to)
  const written = await writeDurably(join(to, name), ['of another trainer'])
  await writeDurably(join(to, manifestFile), [
    renderManifest({ ...manifest, files: { ...files, [name]: written } }),
  ])
}

/** An adapter over the first checkpoint, with B away from 0, where the gradient of A would be 0. */
async function publishAdapter(folder: string): Promise<void> {
  const [fresh, baseDir] = [join(folder, 'fresh-adapter'), join(folder, 'begin')]
  const shape: AdapterShape = {
    rank: 3,
    alpha: 6,
    targets: ['q_proj', 'v_proj', 'o_proj', 'up_proj', 'down_proj'],
  }
  await initializeAdapter(fresh, { baseDir, shape, seed: 3 })
  const { adapter, ...content } = await readCheckpoint(fresh)
  const next = uniforms(9)
  const weights = new Map(
    adapterSpecs(architecture, shape).map(({ name, shape: dims }) => [
      name,
      Float32Array.from({ length: elementCount(dims) }, () => 0.2 * (next() - 0.5)),
    ]),
  )
  await publishCheckpoint(join(folder, 'adapted'), {
    ...content,
    adapter: adapter && { ...adapter, weights },
    state: { ...content.state, version: 1 },
  })
}

/** Weights large enough that every part matters, norms away from one and biases from none. */
function lively(of: Architecture, seed: number): Map<string, Float32Array> {
  const next = uniforms(seed)
  const weights = initialWeights(of, seed)
  for (const [name, weight] of weights) {
    if (name.includes('norm'))
      weights.set(
        name,
        weight.map(() => 0.7 + 0.6 * next()),
      )
    if (name.includes('embed') || name.startsWith('lm_head'))
      weights.set(
        name,
        weight.map((value) => value * 12),
      )
    if (name.endsWith('.bias'))
      weights.set(
        name,
        weight.map(() => next() - 0.5),
      )
  }
  return weights
}

/** The episode of a token. */
function episodeAt(offsets: Int32Array, token: number): number {
  return offsets.findIndex((end) => end > token) - 1
}

/** Seven episodes of 6 … 60 tokens, one without a counted token. */
function batchOf(): UpdateBatch {
  const next = uniforms(5)
  const lengths = [23, 60, 6, 41, 17, 9, 34]
  const offsets = new Int32Array(lengths.length + 1)
  for (const [episode, length] of lengths.entries()) offsets[episode + 1] = (offsets[episode] ?? 0) + length
  const n = offsets[lengths.length] ?? 0
  const lossMask = new Uint8Array(n)
  for (const [episode, length] of lengths.entries())
    for (let i = 2; i < length - 1; i++)
      if (episode !== 2 && i % 5 !== 0) lossMask[(offsets[episode] ?? 0) + i] = 1
  const chosen = (value: (i: number) => number): number[] =>
    Array.from(lossMask, (counts, i) => (counts === 1 ? value(i) : 0))
  const episodeOf = (i: number): number => episodeAt(offsets, i)
  // Episodes have equal weight, so a token's weight follows from the length of its episode.
  const counted = lengths.map(
    (length, episode) =>
      lossMask.subarray(offsets[episode], (offsets[episode] ?? 0) + length).filter((each) => each === 1)
        .length,
  )
  const useful = counted.filter((count) => count > 0).length
  return {
    tokens: Int32Array.from({ length: n }, () => Math.floor(next() * architecture.vocab_size)),
    offsets,
    lossMask,
    behaviourLogprobs: new Float32Array(n),
    versions: Int32Array.from(lossMask, (counts, i) => (counts === 1 ? i % 2 : -1)),
    // One advantage for an episode, as groups give it.
    advantages: Float32Array.from(chosen((i) => [1.5, -0.7, 0.4, -1.2, 0.9, -0.3, 1.1][episodeOf(i)] ?? 0)),
    weights: Float32Array.from(chosen((i) => 1 / (useful * (counted[episodeOf(i)] ?? 1)))),
    stale: Uint8Array.from(chosen((i) => (i % 3 === 0 ? 1 : 0))),
  }
}
