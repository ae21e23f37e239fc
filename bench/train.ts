/**
 * Training tokens per second of the two small policies, beside what the machine's matrix products allow.
 *
 * Invariants
 * - A step is the gradient of the clipped objective over a whole batch and one step of AdamW; files are not
 *   in it.
 * - The limit is the peak of the same run divided by the arithmetic that the gradient needs, without
 *   padding, without what causality and the choice of counted tokens spare.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { uniforms } from '../identity/identity.ts'
import type { UpdateBatch } from '../policy/trainer/batch.ts'
import { PolicyGraphs } from '../policy/trainer/graphs/policy-graphs.ts'
import { initializeCheckpoint } from '../policy/trainer/initial-checkpoint.ts'
import type { ObjectiveSettings, OptimizerSettings } from '../policy/trainer/trainer.ts'
import { spanOf } from '../policy/trainer/update/micro-batch.ts'
import { TrainingPolicy } from '../policy/trainer/update/training-policy.ts'
import { batchGradient } from '../policy/trainer/update/update.ts'
import type { Architecture } from '../policy/transformer/architecture.ts'
import type { Figure } from './figure.ts'
import { gemmPeak } from './gemm-peak.ts'
import { shapes } from './shapes.ts'

const objective: ObjectiveSettings = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klCoefficient: 0,
  entropyCoefficient: 0,
  temperature: 0.8,
}
const optimizer: OptimizerSettings = {
  learningRate: 1e-5,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.01,
  gradientClip: 1,
}
const microBatchTokens = 4096

/** Rounds of peak and step, taken in turns so that both meet the same neighbours on the machine. */
const rounds = 8

/** Episodes as reinforcement learning makes them: 200–500 tokens, turns of 40 of which 8 were sampled. */
function episodes(count: number, vocabulary: number): UpdateBatch {
  const next = uniforms(1)
  const lengths = Array.from({ length: count }, () => 40 * (5 + Math.floor(8 * next())))
  const offsets = Int32Array.from([0, ...lengths])
  for (let i = 1; i <= count; i++) offsets[i]! += offsets[i - 1]!
  const n = offsets[count]!
  const lossMask = Uint8Array.from({ length: n }, (_, i) => (i % 40 >= 32 ? 1 : 0))
  return {
    tokens: Int32Array.from({ length: n }, () => Math.floor(vocabulary * next())),
    offsets,
    lossMask,
    behaviourLogprobs: Float32Array.from(lossMask, (counts) => counts * -Math.log(vocabulary)),
    versions: Int32Array.from(lossMask, (counts) => counts - 1),
    advantages: Float32Array.from(lossMask, (counts) => counts * (next() - 0.5)),
  }
}

/** Floating-point operations of the gradient: three times those of the forward pass. */
function gradientOperations(architecture: Architecture, batch: UpdateBatch): number {
  const { hidden_size: width, num_hidden_layers: layers, head_dim: headDim } = architecture
  const queries = architecture.num_attention_heads * headDim
  const projections = width * (queries + 2 * architecture.num_key_value_heads * headDim)
  const rest = queries * width + 3 * width * architecture.intermediate_size
  const counted = batch.lossMask.reduce((sum, counts) => sum + counts, 0)
  let forward = 2 * counted * (rest + width * architecture.vocab_size)
  for (let episode = 0; episode + 1 < batch.offsets.length; episode++) {
    const { length } = spanOf(batch, episode)
    forward += 2 * length * (projections * layers + rest * (layers - 1))
    forward += 2 * length * (length + 1) * queries * layers // scores and their use, for the keys before
  }
  return 3 * forward
}

/** Runs the benchmark. */
export async function bench(): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [name, architecture] of Object.entries(shapes))
    figures.push(...(await measure(name, architecture, name === 'd128' ? 24 : 8)))
  return figures
}

async function measure(name: string, architecture: Architecture, count: number): Promise<Figure[]> {
  const dir = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  const threads = availableParallelism()
  const graphs = new PolicyGraphs(threads)
  try {
    await initializeCheckpoint(join(dir, '0'), { architecture, tokenizer: '{}', chat: 'compact', seed: 1 })
    const policy = await TrainingPolicy.read(join(dir, '0'), 'policy')
    const startedAt = performance.now()
    await graphs.session(architecture, 'policy')
    const startSeconds = (performance.now() - startedAt) / 1000
    const batch = episodes(count, architecture.vocab_size)
    let peak = 0
    let seconds = Number.POSITIVE_INFINITY
    for (let round = 0; round <= rounds; round++) {
      peak = Math.max(peak, await gemmPeak(threads, 250))
      const begin = performance.now()
      await batchGradient(graphs, policy, undefined, batch, { objective, microBatchTokens })
      await policy.step(graphs, optimizer, optimizer.learningRate)
      if (round > 0) seconds = Math.min(seconds, (performance.now() - begin) / 1000) // the first one warms up
    }
    const value = batch.tokens.length / seconds
    const reference = (peak * 1e9 * batch.tokens.length) / gradientOperations(architecture, batch)
    return [
      { name, value, unit: 'tokens/s', reference, ratio: value / reference },
      { name: `${name} start`, value: startSeconds, unit: 's' },
    ]
  } finally {
    await graphs.release()
    await rm(dir, { recursive: true, force: true })
  }
}
