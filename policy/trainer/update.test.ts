import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { boundedK3, tokenLoss } from '../../learning/objective.ts'
import { ratioSums } from '../../learning/ratio-statistics.ts'
import { type Architecture, weightSpecs } from '../transformer/architecture.ts'
import { initialWeights } from '../transformer/initialization.ts'
import { type PlainWeights, plainLogits, plainLogSoftmax } from '../transformer/plain-decoder.testing.ts'
import { globalNorm } from './adamw.ts'
import type { UpdateBatch } from './batch.ts'
import { GradientSum } from './gradient-sum.ts'
import { weightFeeds } from './graph-sessions.ts'
import { microBatches } from './micro-batch.ts'
import { PolicyGraphs } from './policy-graphs.ts'
import type { ObjectiveSettings } from './trainer.ts'
import { batchGradient, evaluate } from './update.ts'

const tied: Architecture = {
  vocab_size: 19,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 4,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 64,
}
const untied: Architecture = { ...tied, num_key_value_heads: 4, tie_word_embeddings: false }

const supervised: ObjectiveSettings = {
  kind: 'supervised',
  clipLow: 0.2,
  clipHigh: 0.3,
  dualClip: 3,
  klCoefficient: 0,
  entropyCoefficient: 0,
  temperature: 1,
}
const policy: ObjectiveSettings = {
  ...supervised,
  kind: 'policy',
  klCoefficient: 0.05,
  entropyCoefficient: 0.02,
  temperature: 0.8,
}

const graphs = new PolicyGraphs(1)
afterAll(() => graphs.release())

/** Weights large enough that every part matters, norms away from one. */
function lively(architecture: Architecture, seed: number): Map<string, Float32Array> {
  const next = uniforms(seed)
  const weights = initialWeights(architecture, seed)
  for (const [name, weight] of weights) {
    if (name.includes('norm'))
      weight.forEach((_, i) => {
        weight[i] = 0.7 + 0.6 * next()
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
const logRatios = [0, 0.1, -0.1, 0.5, -0.5, 1.5, -1.5]

interface Case {
  readonly architecture: Architecture
  readonly weights: Map<string, Float32Array>
  readonly plain: Map<string, Float64Array>
  readonly reference: Map<string, Float32Array>
  readonly batch: UpdateBatch
}

function caseOf(architecture: Architecture): Case {
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

/** Logprob and entropy of every counted token, sparse over the batch. */
function plainLogprobs(
  architecture: Architecture,
  weights: PlainWeights,
  { tokens, offsets, lossMask }: UpdateBatch,
  temperature: number,
): { logprob: number; entropy: number }[] {
  const found: { logprob: number; entropy: number }[] = []
  for (let episode = 0; episode + 1 < offsets.length; episode++) {
    const begin = offsets[episode] as number
    const logits = plainLogits(architecture, weights, [...tokens.slice(begin, offsets[episode + 1])])
    for (const [position, row] of logits.entries()) {
      const next = begin + position + 1
      if (position + 1 >= logits.length || lossMask[next] !== 1) continue
      const all = plainLogSoftmax(row, temperature)
      const entropy = -all.reduce((sum, logp) => sum + Math.exp(logp) * logp, 0)
      found[next] = { logprob: all[tokens[next] as number] as number, entropy }
    }
  }
  return found
}

/** The batch's mean objective, from the rules in `learning/` and the plain decoder. */
function plainObjective(given: Case, weights: PlainWeights, objective: ObjectiveSettings): number {
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

/**
 * CISPO and GSPO written down once more, apart from the rules: r and s clipped to [0.8, 1.3], CISPO's weight from the given
 * weights, where it is a constant.
 */
function ownObjective(given: Case, weights: PlainWeights, objective: ObjectiveSettings): number {
  const { architecture, batch, plain } = given
  const at = (of: PlainWeights) => plainLogprobs(architecture, of, batch, objective.temperature)
  const [now, base, reference] = [at(weights), at(plain), at(doubled(given.reference))]
  const clip = (ratio: number) => Math.min(Math.max(ratio, 0.8), 1.3)
  let [sum, counted] = [0, 0]
  for (let episode = 0; episode + 1 < batch.offsets.length; episode++) {
    const places = Object.keys(now)
      .map(Number)
      .filter((i) => i >= (batch.offsets[episode] as number) && i < (batch.offsets[episode + 1] as number))
    const [first] = places
    if (first === undefined) continue
    counted += places.length
    const logp = (i: number) => now[i]?.logprob as number
    const behind = (i: number) => batch.behaviourLogprobs[i] as number
    const advantage = batch.advantages[first] as number
    if (objective.loss === 'gspo') {
      const mean = places.reduce((total, i) => total + logp(i) - behind(i), 0) / places.length
      const s = Math.exp(mean)
      sum -= places.length * Math.min(s * advantage, clip(s) * advantage)
    } else
      for (const i of places)
        sum -= clip(Math.exp((base[i]?.logprob as number) - behind(i))) * advantage * logp(i)
    for (const i of places) {
      const x = (reference[i]?.logprob as number) - logp(i)
      const k3 = x <= Math.LN2 ? Math.exp(x) - x - 1 : x + 1 - 2 * Math.LN2
      sum += objective.klCoefficient * k3 - objective.entropyCoefficient * (now[i]?.entropy as number)
    }
  }
  return sum / counted
}

function doubled(weights: ReadonlyMap<string, Float32Array>): Map<string, Float64Array> {
  return new Map([...weights].map(([name, weight]) => [name, Float64Array.from(weight)]))
}

async function graphGradient(given: Case, objective: ObjectiveSettings, microBatchTokens = 4096) {
  const { architecture, weights, reference, batch } = given
  const gradient = new GradientSum(architecture)
  const statistics = await batchGradient(
    graphs,
    { architecture, feeds: weightFeeds(architecture, weights), gradient },
    objective.kind === 'policy' ? { architecture, feeds: weightFeeds(architecture, reference) } : undefined,
    batch,
    { objective, microBatchTokens },
    () => {},
  )
  return { statistics, gradients: gradient.gradients }
}

describe.each([
  ['tied embeddings, shared keys', tied],
  ['untied embeddings, a key per head', untied],
])('%s', (_, architecture) => {
  let given: Case
  beforeAll(() => {
    given = caseOf(architecture)
  })

  test.each([
    ['policy', policy],
    ['policy without entropy bonus', { ...policy, entropyCoefficient: 0 }],
    ['supervised', supervised],
  ])(
    'the gradient of the %s objective agrees with finite differences in every weight',
    async (_, objective) => {
      const { gradients } = await graphGradient(given, objective)
      const next = uniforms(9)
      for (const { name } of weightSpecs(architecture)) {
        const gradient = gradients.get(name) as Float32Array
        const norm = Math.hypot(...gradient)
        expect(norm, name).toBeGreaterThan(0)
        // Along the gradient, plus as much of a random direction, so that an error across it shows too.
        const random = Float64Array.from(gradient, () => next() - 0.5)
        const length = Math.hypot(...random)
        const direction = random.map((value, i) => value / length + (gradient[i] as number) / norm)
        const expected = direction.reduce((sum, value, i) => sum + value * (gradient[i] as number), 0)
        const moved = (step: number): number => {
          const weights = new Map(given.plain)
          weights.set(
            name,
            (weights.get(name) as Float64Array).map((w, i) => w + step * (direction[i] as number)),
          )
          return plainObjective(given, weights, objective)
        }
        const step = 1e-5
        const difference = (moved(step) - moved(-step)) / (2 * step)
        expect(Math.abs(difference - expected) / Math.abs(difference), name).toBeLessThan(1e-3)
      }
    },
  )

  // [SURROGATE-1]
  test.each(['cispo', 'gspo'] as const)(
    'the gradient of the %s loss agrees with finite differences of its own arithmetic in every weight, to 1e-4',
    async (loss) => {
      // One advantage for an episode, as groups give them; log ratios from −2 to 2.
      const { lossMask, offsets } = given.batch
      const episodeOf = (i: number) => offsets.findIndex((end, place) => place > 0 && i < end) - 1
      const base = plainLogprobs(architecture, given.plain, given.batch, policy.temperature)
      const away = (i: number) =>
        loss === 'gspo' ? ([0.1, 0.5, -0.4, -2][episodeOf(i)] ?? 0) : (i % 9) / 2 - 2
      const of = {
        ...given,
        batch: {
          ...given.batch,
          advantages: Float32Array.from(lossMask, (counts, i) =>
            counts === 1 ? ([1.5, 0.4, -0.7, 1.2][episodeOf(i)] ?? 0) : 0,
          ),
          behaviourLogprobs: Float32Array.from(lossMask, (counts, i) =>
            counts === 1 ? (base[i]?.logprob ?? 0) - away(i) : 0,
          ),
        },
      }
      const objective: ObjectiveSettings = { ...policy, loss }
      const { gradients, statistics } = await graphGradient(of, objective)
      expect(statistics.loss).toBeCloseTo(ownObjective(of, of.plain, objective), 4)
      const next = uniforms(13)
      for (const { name } of weightSpecs(architecture)) {
        const gradient = gradients.get(name) as Float32Array
        const norm = Math.hypot(...gradient)
        const random = Float64Array.from(gradient, () => next() - 0.5)
        const length = Math.hypot(...random)
        const direction = random.map((value, i) => value / length + (gradient[i] as number) / norm)
        const expected = direction.reduce((sum, value, i) => sum + value * (gradient[i] as number), 0)
        const moved = (step: number): number => {
          const weights = new Map(of.plain)
          weights.set(
            name,
            (weights.get(name) as Float64Array).map((w, i) => w + step * (direction[i] as number)),
          )
          return ownObjective(of, weights, objective)
        }
        const step = 1e-5
        const difference = (moved(step) - moved(-step)) / (2 * step)
        expect(Math.abs(difference - expected) / Math.abs(difference), name).toBeLessThan(1e-4)
      }
    },
  )

  test('the statistics are those of the rules in plain arithmetic', async () => {
    const { statistics } = await graphGradient(given, policy)
    expect(statistics.loss).toBeCloseTo(plainObjective(given, given.plain, policy), 5)
    const counted = given.batch.lossMask.reduce((sum, counts) => sum + counts, 0)
    expect(statistics.actionTokens).toBe(counted)
    expect(statistics.tokens).toBe(given.batch.tokens.length)
    const places = [...given.batch.lossMask.keys()].filter((i) => given.batch.lossMask[i] === 1)
    const divergence = places.map((i) => boundedK3(logRatios[i % logRatios.length] as number).value)
    expect(statistics.kl).toBeCloseTo(divergence.reduce((a, b) => a + b) / counted, 4)
  })

  test('each origin of tokens has its own ratios, and together they are those of the batch', async () => {
    const { lossMask, versions } = given.batch
    const stale = Uint8Array.from(lossMask, (counts, i) => (counts === 1 && i % 4 === 0 ? 1 : 0))
    const of = {
      ...given,
      batch: { ...given.batch, versions: versions.map((version, i) => version - stale[i]!), stale },
    }
    const { statistics } = await graphGradient(of, policy, 16)
    const places = [...lossMask.keys()].filter((i) => lossMask[i] === 1)
    const expected = (isStale: number) =>
      ratioSums(
        places.filter((i) => stale[i] === isStale).map((i) => logRatios[i % logRatios.length] as number),
      )
    expect(statistics.origins.map(({ version, stale }) => [version, stale])).toEqual([
      [0, true],
      [1, false],
    ])
    for (const [index, isStale] of [1, 0].entries()) {
      const origin = statistics.origins[index]
      const { tokens, divergence, ratios, squares, histogram } = expected(isStale)
      expect(origin).toMatchObject({ tokens, histogram })
      expect(origin?.divergence).toBeCloseTo(divergence, 3)
      expect(origin?.ratios).toBeCloseTo(ratios, 3)
      expect(origin?.squares).toBeCloseTo(squares, 2)
    }
    expect(
      statistics.origins.reduce((sum, { divergence }) => sum + divergence, 0) / places.length,
    ).toBeCloseTo(statistics.kl, 6)
  })

  test('weights of the tokens change gradient and loss as they say', async () => {
    // Twice the batch: once with weights that leave only every second counted token, once without the others.
    const { lossMask, advantages, behaviourLogprobs, versions } = given.batch
    const places = [...lossMask.keys()].filter((i) => lossMask[i] === 1)
    const kept = new Set(places.filter((_, index) => index % 2 === 0))
    const weights = Float32Array.from(lossMask, (_, i) => (kept.has(i) ? 1 / kept.size : 0))
    const weighed = await graphGradient({ ...given, batch: { ...given.batch, weights } }, policy)
    const only = {
      ...given.batch,
      lossMask: lossMask.map((_, i) => (kept.has(i) ? 1 : 0)),
      advantages: advantages.map((value, i) => (kept.has(i) ? value : 0)),
      behaviourLogprobs: behaviourLogprobs.map((value, i) => (kept.has(i) ? value : 0)),
      versions: versions.map((value, i) => (kept.has(i) ? value : -1)),
    }
    const alone = await graphGradient({ ...given, batch: only }, policy)
    expect(weighed.statistics.loss).toBeCloseTo(alone.statistics.loss, 5)
    for (const [name, gradient] of alone.gradients) {
      const error = Math.hypot(...gradient.map((g, i) => g - (weighed.gradients.get(name)?.[i] as number)))
      expect(error / Math.hypot(...gradient), name).toBeLessThan(1e-5)
    }
  })

  test('micro-batches of any size give the gradient of one big batch', async () => {
    const whole = await graphGradient(given, policy)
    const cut = await graphGradient(given, policy, 16)
    for (const [name, gradient] of whole.gradients) {
      const norm = Math.hypot(...gradient)
      const error = Math.hypot(...gradient.map((g, i) => g - (cut.gradients.get(name)?.[i] as number)))
      expect(error / norm, name).toBeLessThan(1e-5)
    }
    expect(cut.statistics.loss).toBeCloseTo(whole.statistics.loss, 6)
  })

  test('the same batch gives the same bytes again, also with two threads, which agree with one', async () => {
    const two = new PolicyGraphs(2)
    const run = async (sessions: PolicyGraphs) => {
      const gradient = new GradientSum(architecture)
      const feeds = weightFeeds(architecture, given.weights)
      await batchGradient(
        sessions,
        { architecture, feeds, gradient },
        undefined,
        given.batch,
        { objective: supervised, microBatchTokens: 64 },
        () => {},
      )
      return gradient.gradients
    }
    expect(await run(graphs)).toEqual(await run(graphs))
    const apart = await run(two)
    expect(apart).toEqual(await run(two))
    for (const [name, gradient] of await run(graphs)) {
      const other = apart.get(name) as Float32Array
      const error = Math.hypot(...gradient.map((g, i) => g - (other[i] as number)))
      expect(error / Math.hypot(...gradient), name).toBeLessThan(1e-5)
    }
    await two.release()
  })
})

test('a batch without counted tokens is refused', async () => {
  const given = caseOf(tied)
  const nothing = { ...given, batch: { ...given.batch, lossMask: new Uint8Array(given.batch.tokens.length) } }
  await expect(graphGradient(nothing, supervised)).rejects.toMatchObject({
    name: 'TrainerFault',
    kind: 'bad_batch',
  })
})

/** Thirty episodes of 24 tokens, all but the first two of each counted: 660 tokens. */
function wideBatch(architecture: Architecture): UpdateBatch {
  const next = uniforms(11)
  const [episodes, length] = [30, 24]
  const n = episodes * length
  const lossMask = Uint8Array.from({ length: n }, (_, i) => (i % length < 2 ? 0 : 1))
  const chosen = (value: () => number) =>
    Float32Array.from(lossMask, (counts) => (counts === 1 ? value() : 0))
  return {
    tokens: Int32Array.from({ length: n }, () => Math.floor(next() * architecture.vocab_size)),
    offsets: Int32Array.from({ length: episodes + 1 }, (_, episode) => episode * length),
    lossMask,
    versions: Int32Array.from(lossMask, (counts) => (counts === 1 ? 1 : -1)),
    advantages: chosen(() => 4 * next() - 2),
    behaviourLogprobs: new Float32Array(n),
  }
}

// [OBJECTIVE-4]
test.each([0.0001, 0.01, 1])(
  'one token that is 15 nats off, of the reference or of the behaviour, changes the norm of the gradient by less than a tenth with β = %s',
  async (klCoefficient) => {
    const batch = wideBatch(tied)
    const objective: ObjectiveSettings = { ...policy, klCoefficient, entropyCoefficient: 0 }
    const feeds = weightFeeds(tied, lively(tied, 1))
    const micros = microBatches(batch, 4096)
    const next = uniforms(12)
    const [{ logprobs = new Float32Array() } = {}] = await evaluate(
      graphs,
      { architecture: tied, feeds },
      micros,
      objective.temperature,
    )
    expect(micros).toHaveLength(1)
    const near = logprobs.map((logprob) => logprob + 0.2 * (next() - 0.5))
    const reference = logprobs.map((logprob) => logprob + 0.2 * (next() - 0.5))
    const normWith = async (vectors: { reference: Float32Array; behaviour: Float32Array }) => {
      const gradient = new GradientSum(tied)
      const works = micros.map((micro) => ({
        micro,
        objective: {
          vectors: {
            ...vectors,
            weights: new Float32Array(micro.sources.length).fill(1 / micro.sources.length),
            advantages: Float32Array.from(micro.sources, (i) => batch.advantages[i] ?? 0),
          },
          numbers: {
            inverse_temperature: 1 / objective.temperature,
            clip_floor: 1 - objective.clipLow,
            clip_ceiling: 1 + objective.clipHigh,
            dual_clip: objective.dualClip,
            kl_coefficient: klCoefficient,
          },
        },
      }))
      await graphs.run({ architecture: tied, feeds }, 'policy', works, gradient, () => {})
      return globalNorm(gradient.gradients)
    }
    const usual = await normWith({ reference, behaviour: near })
    for (const row of [0, 100, 659])
      for (const nats of [15, -15]) {
        const off = (vector: Float32Array) => vector.with(row, (logprobs[row] as number) + nats)
        const ofReference = await normWith({ reference: off(reference), behaviour: near })
        const ofBehaviour = await normWith({ reference, behaviour: off(near) })
        expect(Math.abs(ofReference / usual - 1), `reference, token ${row}, ${nats}`).toBeLessThan(0.1)
        expect(Math.abs(ofBehaviour / usual - 1), `behaviour, token ${row}, ${nats}`).toBeLessThan(0.1)
      }
  },
)
