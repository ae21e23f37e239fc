/** The mean objective of a small batch in plain arithmetic, and the same by the graphs, for tests of gradients. */
import { uniforms } from '../../../identity/identity.ts'
import { tokenLoss } from '../../../learning/loss/objective.ts'
import type { Architecture } from '../../transformer/architecture.ts'
import { initialWeights } from '../../transformer/initialization.ts'
import { type PlainWeights, plainLogits, plainLogSoftmax } from '../../transformer/plain-decoder.testing.ts'
import { smallArchitecture } from '../../transformer/small-architecture.testing.ts'
import type { UpdateBatch } from '../batch.ts'
import { GradientSum } from '../graphs/gradient-sum.ts'
import { weightFeeds } from '../graphs/graph-sessions.ts'
import type { PolicyGraphs } from '../graphs/policy-graphs.ts'
import type { ObjectiveSettings } from '../trainer.ts'
import { batchGradient } from './update.ts'

/** Keys and values shared, embeddings too. */
export const tied: Architecture = { ...smallArchitecture, vocab_size: 19 }
export const untied: Architecture = { ...tied, num_key_value_heads: 4, tie_word_embeddings: false }

export const supervised: ObjectiveSettings = {
  kind: 'supervised',
  clipLow: 0.2,
  clipHigh: 0.3,
  dualClip: 3,
  klCoefficient: 0,
  entropyCoefficient: 0,
  temperature: 1,
}
export const policy: ObjectiveSettings = {
  ...supervised,
  kind: 'policy',
  klCoefficient: 0.05,
  entropyCoefficient: 0.02,
  temperature: 0.8,
}

/** Weights large enough that every part matters, norms away from one. */
export function lively(architecture: Architecture, seed: number): Map<string, Float32Array> {
  const next = uniforms(seed)
  const weights = initialWeights(architecture, seed)
  for (const [name, weight] of weights) {
    if (name.includes('norm'))
      weight.forEach((_, i) => {
        weight[i] = 0.7 + 0.6 * next()
      })
    if (name.endsWith('.bias'))
      weight.forEach((_, i) => {
        weight[i] = 0.6 * next() - 0.3
      })
    if (name.includes('embed'))
      weight.forEach((value, i) => {
        weight[i] = value * 12
      })
  }
  return weights
}

/** Five episodes of 3 … 21 tokens, one without a counted token; the ends do not count. */
function batchOf(architecture: Architecture): UpdateBatch {
  const next = uniforms(5)
  const lengths = [9, 21, 3, 14, 6]
  const offsets = Int32Array.from([
    0,
    ...lengths.map((_, i) => lengths.slice(0, i + 1).reduce((a, b) => a + b)),
  ])
  const n = offsets.at(-1) as number
  const tokens = Int32Array.from({ length: n }, () => Math.floor(next() * architecture.vocab_size))
  const lossMask = new Uint8Array(n)
  for (const [episode, length] of lengths.entries())
    for (let i = 2; i < length - 2; i++)
      if (episode !== 4 && i % 3 !== 0) lossMask[(offsets[episode] as number) + i] = 1
  const chosen = (value: (i: number) => number, otherwise = 0): number[] =>
    Array.from(lossMask, (counts, i) => (counts === 1 ? value(i) : otherwise))
  return {
    tokens,
    offsets,
    lossMask,
    versions: Int32Array.from(chosen(() => 1, -1)),
    advantages: Float32Array.from(chosen((i) => [1.5, -0.7, 0.4, -1.2][i % 4] as number)),
    behaviourLogprobs: new Float32Array(n),
  }
}

/** Log ratios that meet every branch, none within a finite difference of a kink (1.3, 0.8, 3). */
export const logRatios = [0, 0.1, -0.1, 0.5, -0.5, 1.5, -1.5]

/** A batch with the policy and the reference of its objective. */
export interface Case {
  readonly architecture: Architecture
  readonly weights: Map<string, Float32Array>
  readonly plain: Map<string, Float64Array>
  readonly reference: Map<string, Float32Array>
  readonly batch: UpdateBatch
}

/** The case of an architecture. */
export function caseOf(architecture: Architecture): Case {
  const weights = lively(architecture, 1)
  const plain = new Map([...weights].map(([name, weight]) => [name, Float64Array.from(weight)]))
  const batch = batchOf(architecture)
  const logprobs = plainLogprobs(architecture, plain, batch, policy.temperature)
  const behaviourLogprobs = Float32Array.from(batch.lossMask, (counts, i) =>
    counts === 1 ? (logprobs[i]?.logprob ?? 0) - (logRatios[i % logRatios.length] as number) : 0,
  )
  return {
    architecture,
    weights,
    plain,
    reference: lively(architecture, 2),
    batch: { ...batch, behaviourLogprobs },
  }
}

/** Logprob and entropy of every counted token, and of those that were read and are imitated, sparse over the batch. */
export function plainLogprobs(
  architecture: Architecture,
  weights: PlainWeights,
  { tokens, offsets, lossMask, imitation }: UpdateBatch,
  temperature: number,
): { logprob: number; entropy: number }[] {
  const found: { logprob: number; entropy: number }[] = []
  for (let episode = 0; episode + 1 < offsets.length; episode++) {
    const begin = offsets[episode] as number
    const logits = plainLogits(architecture, weights, [...tokens.slice(begin, offsets[episode + 1])])
    for (const [position, row] of logits.entries()) {
      const next = begin + position + 1
      if (position + 1 >= logits.length || (lossMask[next] !== 1 && !((imitation?.[next] ?? 0) > 0))) continue
      const all = plainLogSoftmax(row, temperature)
      const entropy = -all.reduce((sum, logp) => sum + Math.exp(logp) * logp, 0)
      found[next] = { logprob: all[tokens[next] as number] as number, entropy }
    }
  }
  return found
}

/** The batch's mean objective, from the rules in `learning/` and the plain decoder. */
export function plainObjective(given: Case, weights: PlainWeights, objective: ObjectiveSettings): number {
  const { architecture, batch } = given
  const reference = plainLogprobs(architecture, doubled(given.reference), batch, objective.temperature)
  const losses = plainLogprobs(architecture, weights, batch, objective.temperature).map((token, i) => {
    if (objective.kind === 'supervised') return -token.logprob
    const { loss } = tokenLoss(
      {
        ...token,
        behaviourLogprob: batch.behaviourLogprobs[i] as number,
        advantage: batch.advantages[i] as number,
        referenceLogprob: reference[i]?.logprob as number,
      },
      objective,
    )
    return loss
  })
  const counted = Object.values(losses)
  return counted.reduce((a, b) => a + b, 0) / counted.length
}

/** The same weights in double precision. */
export function doubled(weights: ReadonlyMap<string, Float32Array>): Map<string, Float64Array> {
  return new Map([...weights].map(([name, weight]) => [name, Float64Array.from(weight)]))
}

/** Gradient and statistics of a case, by the graphs. */
export async function graphGradient(
  graphs: PolicyGraphs,
  given: Case,
  objective: ObjectiveSettings,
  microBatchTokens = 4096,
) {
  const { architecture, weights, reference, batch } = given
  const gradient = new GradientSum(architecture)
  const statistics = await batchGradient(
    graphs,
    { architecture, feeds: weightFeeds(architecture, weights), gradient },
    objective.kind === 'policy' ? { architecture, feeds: weightFeeds(architecture, reference) } : undefined,
    batch,
    { objective, microBatchTokens },
  )
  return { statistics, gradients: gradient.gradients }
}

/**
 * How far a weight's gradient is from a finite difference of the objective, relative to that: along the gradient, plus as
 * much of a random direction, so that an error across it shows too.
 */
export function directionalError(
  name: string,
  gradient: Float32Array,
  plain: PlainWeights,
  of: { readonly next: () => number; readonly objectiveOf: (weights: PlainWeights) => number },
): number {
  const norm = Math.hypot(...gradient)
  const random = Float64Array.from(gradient, () => of.next() - 0.5)
  const length = Math.hypot(...random)
  const direction = random.map((value, i) => value / length + (gradient[i] as number) / norm)
  const expected = direction.reduce((sum, value, i) => sum + value * (gradient[i] as number), 0)
  const moved = (step: number): number => {
    const weights = new Map(plain)
    weights.set(
      name,
      (weights.get(name) as Float64Array).map((w, i) => w + step * (direction[i] as number)),
    )
    return of.objectiveOf(weights)
  }
  const step = 1e-5
  const difference = (moved(step) - moved(-step)) / (2 * step)
  return Math.abs(difference - expected) / Math.abs(difference)
}
