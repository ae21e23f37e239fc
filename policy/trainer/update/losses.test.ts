/** Losses of the policy beside the clipped one, and what a single token can do to any. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uniforms } from '../../../identity/identity.ts'
import { tokenLoss } from '../../../learning/loss/objective.ts'
import { type Architecture, weightSpecs } from '../../transformer/architecture.ts'
import type { PlainWeights } from '../../transformer/plain-decoder.testing.ts'
import type { UpdateBatch } from '../batch.ts'
import { GradientSum } from '../graphs/gradient-sum.ts'
import { weightFeeds } from '../graphs/graph-sessions.ts'
import { PolicyGraphs } from '../graphs/policy-graphs.ts'
import type { ObjectiveSettings } from '../trainer.ts'
import { normOf, squares } from './adamw.ts'
import { microBatches } from './micro-batch.ts'
import {
  type Case,
  caseOf,
  directionalError,
  doubled,
  graphGradient,
  lively,
  plainLogprobs,
  policy,
  tied,
  untied,
} from './plain-objective.testing.ts'
import { evaluate } from './update.ts'

const graphs = new PolicyGraphs(1)
afterAll(() => graphs.release())

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

describe.each([
  ['tied embeddings, shared keys', tied],
  ['untied embeddings, a key per head', untied],
])('%s', (_, architecture) => {
  let given: Case
  beforeAll(() => {
    given = caseOf(architecture)
  })

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
      const { gradients, statistics } = await graphGradient(graphs, of, objective)
      expect(statistics.loss).toBeCloseTo(ownObjective(of, of.plain, objective), 4)
      const next = uniforms(13)
      for (const { name } of weightSpecs(architecture)) {
        const gradient = gradients.get(name) as Float32Array
        const objectiveOf = (weights: PlainWeights) => ownObjective(of, weights, objective)
        const error = directionalError(name, gradient, of.plain, { next, objectiveOf })
        expect(error, name).toBeLessThan(1e-4)
      }
    },
  )
})

/** The batch, whose last episode no policy has sampled. */
function withExample(batch: UpdateBatch): UpdateBatch {
  const { offsets, lossMask, behaviourLogprobs, versions, advantages } = batch
  const begin = offsets.at(-2) as number
  return {
    ...batch,
    lossMask: lossMask.slice().fill(0, begin),
    behaviourLogprobs: behaviourLogprobs.slice().fill(0, begin),
    versions: versions.slice().fill(-1, begin),
    advantages: advantages.slice().fill(0, begin),
  }
}

/** Σ weight · L − Σ imitation · logp, from the rule of one token. */
function imitatingObjective(given: Case, weights: PlainWeights, objective: ObjectiveSettings): number {
  const { architecture, batch } = given
  const at = (of: PlainWeights) => plainLogprobs(architecture, of, batch, objective.temperature)
  const reference = at(doubled(given.reference))
  return at(weights).reduce((sum, token, i) => {
    const sampled = {
      ...token,
      behaviourLogprob: batch.behaviourLogprobs[i] as number,
      advantage: batch.advantages[i] as number,
      referenceLogprob: reference[i]?.logprob as number,
    }
    const { loss } = tokenLoss(sampled, objective)
    return sum + (batch.weights?.[i] ?? 0) * loss - (batch.imitation?.[i] ?? 0) * token.logprob
  }, 0)
}

test.each([
  ['imitation', []],
  ['imitation and of what was read', [1, 3]],
  ['imitation of an episode too, of which nothing was sampled', 'example'],
] as const)(
  'the gradient of %s beside a policy loss, or alone, agrees with finite differences in every weight, to 1e-4',
  async (_, read) => {
    const given = caseOf(tied)
    const batch = read === 'example' ? withExample(given.batch) : given.batch
    const { lossMask } = batch
    const where = (value: (i: number) => number) =>
      Float32Array.from(lossMask, (counts, i) => (counts === 1 ? value(i) : 0))
    // Some tokens are of the policy loss, some imitated, some both.
    const imitation = where((i) => [0.02, 0, 0.01][i % 3] as number)
    const places = read === 'example' ? [batch.tokens.length - 3, batch.tokens.length - 1] : read
    for (const place of places) imitation[place] = 0.05
    for (const weights of [where((i) => [0.04, 0.03, 0][i % 3] as number), where(() => 0)]) {
      const of = { ...given, batch: { ...batch, weights, imitation } }
      const { gradients, statistics } = await graphGradient(graphs, of, policy)
      expect(statistics.loss).toBeCloseTo(imitatingObjective(of, of.plain, policy), 4)
      const next = uniforms(17)
      for (const { name } of weightSpecs(tied)) {
        const objectiveOf = (weights: PlainWeights) => imitatingObjective(of, weights, policy)
        const error = directionalError(name, gradients.get(name) as Float32Array, of.plain, {
          next,
          objectiveOf,
        })
        expect(error, name).toBeLessThan(1e-4)
      }
    }
  },
)

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
            imitation: new Float32Array(micro.sources.length),
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
      return normOf([...gradient.gradients.values()].map(squares))
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
