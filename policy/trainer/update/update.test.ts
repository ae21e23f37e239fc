import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uniforms } from '../../../identity/identity.ts'
import { boundedK3 } from '../../../learning/loss/objective.ts'
import { type Architecture, weightSpecs } from '../../transformer/architecture.ts'
import type { PlainWeights } from '../../transformer/plain-decoder.testing.ts'
import { GradientSum } from '../graphs/gradient-sum.ts'
import { weightFeeds } from '../graphs/graph-sessions.ts'
import { PolicyGraphs } from '../graphs/policy-graphs.ts'
import type { ObjectiveSettings } from '../trainer.ts'
import {
  type Case,
  caseOf,
  directionalError,
  graphGradient,
  logRatios,
  plainObjective,
  policy,
  supervised,
  tied,
  untied,
} from './plain-objective.testing.ts'
import { batchGradient } from './update.ts'

const graphs = new PolicyGraphs(1)
afterAll(() => graphs.release())

const withBiases: Architecture = { ...tied, model_type: 'qwen2' }
const withNorms: Architecture = { ...untied, model_type: 'qwen3' }
const withoutEntropy = { ...policy, entropyCoefficient: 0 }

test.each<[string, ObjectiveSettings, Architecture]>([
  ['policy, tied embeddings, shared keys', policy, tied],
  ['policy without entropy bonus, tied embeddings, shared keys', withoutEntropy, tied],
  ['supervised, tied embeddings, shared keys', supervised, tied],
  ['policy, untied embeddings, a key per head', policy, untied],
  ['policy, biases', policy, withBiases],
  ['policy, norms of heads', policy, withNorms],
])(
  'the gradient of the objective agrees with finite differences in every weight: %s',
  async (_, objective, architecture) => {
    const given = caseOf(architecture)
    const { gradients } = await graphGradient(graphs, given, objective)
    const next = uniforms(9)
    for (const { name } of weightSpecs(architecture)) {
      const gradient = gradients.get(name) as Float32Array
      expect(Math.hypot(...gradient), name).toBeGreaterThan(0)
      const objectiveOf = (weights: PlainWeights) => plainObjective(given, weights, objective)
      const error = directionalError(name, gradient, given.plain, { next, objectiveOf })
      expect(error, name).toBeLessThan(1e-3)
    }
  },
)

describe.each([
  ['tied embeddings, shared keys', tied],
  ['norms of heads', withNorms],
])('%s', (_, architecture) => {
  let given: Case
  beforeAll(() => {
    given = caseOf(architecture)
  })

  test('the statistics are those of the rules in plain arithmetic', async () => {
    const { statistics } = await graphGradient(graphs, given, policy)
    expect(statistics.loss).toBeCloseTo(plainObjective(given, given.plain, policy), 5)
    const counted = given.batch.lossMask.reduce((sum, counts) => sum + counts, 0)
    expect(statistics.actionTokens).toBe(counted)
    expect(statistics.tokens).toBe(given.batch.tokens.length)
    const places = [...given.batch.lossMask.keys()].filter((i) => given.batch.lossMask[i] === 1)
    const divergence = places.map((i) => boundedK3(logRatios[i % logRatios.length] as number).value)
    expect(statistics.kl).toBeCloseTo(divergence.reduce((a, b) => a + b) / counted, 4)
  })

  test('weights of the tokens change gradient and loss as they say', async () => {
    // Twice the batch: once with weights that leave only every second counted token, once without the others.
    const { lossMask, advantages, behaviourLogprobs, versions } = given.batch
    const places = [...lossMask.keys()].filter((i) => lossMask[i] === 1)
    const kept = new Set(places.filter((_, index) => index % 2 === 0))
    const weights = Float32Array.from(lossMask, (_, i) => (kept.has(i) ? 1 / kept.size : 0))
    const weighed = await graphGradient(graphs, { ...given, batch: { ...given.batch, weights } }, policy)
    const only = {
      ...given.batch,
      lossMask: lossMask.map((_, i) => (kept.has(i) ? 1 : 0)),
      advantages: advantages.map((value, i) => (kept.has(i) ? value : 0)),
      behaviourLogprobs: behaviourLogprobs.map((value, i) => (kept.has(i) ? value : 0)),
      versions: versions.map((value, i) => (kept.has(i) ? value : -1)),
    }
    const alone = await graphGradient(graphs, { ...given, batch: only }, policy)
    expect(weighed.statistics.loss).toBeCloseTo(alone.statistics.loss, 5)
    for (const [name, gradient] of alone.gradients) {
      const error = Math.hypot(...gradient.map((g, i) => g - (weighed.gradients.get(name)?.[i] as number)))
      expect(error / Math.hypot(...gradient), name).toBeLessThan(1e-5)
    }
  })

  test('micro-batches of any size give the gradient of one big batch', async () => {
    const whole = await graphGradient(graphs, given, policy)
    const cut = await graphGradient(graphs, given, policy, 16)
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
      await batchGradient(sessions, { architecture, feeds, gradient }, undefined, given.batch, {
        objective: supervised,
        microBatchTokens: 64,
      })
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
  await expect(graphGradient(graphs, nothing, supervised)).rejects.toMatchObject({
    name: 'TrainerFault',
    kind: 'bad_batch',
  })
})
