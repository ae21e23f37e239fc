/** The decoupled objective: weights by hand, and the gradient against finite differences of its own arithmetic. */
import { afterAll, expect, test } from 'vitest'
import { uniforms } from '../../../identity/identity.ts'
import { weightSpecs } from '../../transformer/architecture.ts'
import type { PlainWeights } from '../../transformer/plain-decoder.testing.ts'
import type { ProximalBatch } from '../batch.ts'
import { weightFeeds } from '../graphs/graph-sessions.ts'
import { PolicyGraphs } from '../graphs/policy-graphs.ts'
import { microBatches } from './micro-batch.ts'
import {
  caseOf,
  directionalError,
  doubled,
  graphGradient,
  lively,
  plainLogprobs,
  policy,
  tied,
} from './plain-objective.testing.ts'
import { aroundStart } from './proximal.ts'
import { addFigures, noFigures } from './token-figures.ts'
import { evaluate } from './update.ts'

const graphs = new PolicyGraphs(1)
afterAll(() => graphs.release())

test('a token counts by its ratio to the behaviour, at most the limit', () => {
  const batch = {
    tokens: Int32Array.from([1, 2, 3]),
    offsets: Int32Array.from([0, 3]),
    lossMask: Uint8Array.from([0, 1, 1]),
    behaviourLogprobs: Float32Array.from([0, Math.log(0.5), Math.log(0.1)]),
    versions: Int32Array.from([-1, 1, 1]),
    advantages: Float32Array.from([0, 2, -1]),
  }
  const logRatios = Float32Array.from([0, Math.log(0.25 / 0.5), Math.log(0.9 / 0.1)])
  const { advantages, proximalLogprobs, behaviourLogprobs } = aroundStart(batch, { logRatios }, { limit: 5 })
  expect(advantages[1]).toBeCloseTo(1, 5) // 2 · 0.25 / 0.5
  expect(advantages[2]).toBeCloseTo(-5, 5) // 0.9 / 0.1 = 9, truncated at 5
  expect(proximalLogprobs?.[2]).toBeCloseTo(Math.log(0.9), 6)
  expect(behaviourLogprobs).toBe(batch.behaviourLogprobs)
})

// [PROXIMAL-1]
test('the gradient of the decoupled loss agrees with finite differences of its own arithmetic in every weight, to 1e-4', async () => {
  const given = caseOf(tied)
  const { batch } = given
  const objective = { ...policy, klCoefficient: 0, entropyCoefficient: 0 }
  const limit = 2
  // The policy that the update starts from is near the one whose gradient is taken.
  const start = doubled(lively(tied, 1))
  const next = uniforms(31)
  for (const weight of start.values())
    for (const [i, value] of weight.entries()) weight[i] = value * (1 + 0.02 * next())
  const single = new Map([...start].map(([name, weight]) => [name, Float32Array.from(weight)]))
  const micros = microBatches(batch, 4096)
  const feeds = weightFeeds(tied, single)
  const results = await evaluate(graphs, { architecture: tied, feeds }, micros, objective.temperature)
  const atStart = noFigures(batch.tokens.length)
  for (const [index, result] of results.entries()) addFigures(atStart, batch, micros[index]!, result)
  const decoupled: ProximalBatch = aroundStart(batch, atStart, { limit })
  const startLogprobs = plainLogprobs(tied, start, batch, objective.temperature)

  function ownObjective(weights: PlainWeights): number {
    const now = plainLogprobs(tied, weights, batch, objective.temperature)
    const losses = Object.entries(now).map(([place, { logprob }]) => {
      const i = Number(place)
      const proximal = startLogprobs[i]?.logprob as number
      const weight = Math.min(Math.exp(proximal - (batch.behaviourLogprobs[i] as number)), limit)
      const advantage = batch.advantages[i] as number
      const ratio = Math.exp(logprob - proximal)
      const clipped = Math.min(Math.max(ratio, 0.8), 1.3)
      const loss = Math.max(-advantage * ratio, -advantage * clipped)
      return weight * (advantage < 0 ? Math.min(loss, -3 * advantage) : loss)
    })
    return losses.reduce((sum, loss) => sum + loss, 0) / losses.length
  }

  const { gradients, statistics } = await graphGradient(graphs, { ...given, batch: decoupled }, objective)
  expect(statistics.loss).toBeCloseTo(ownObjective(given.plain), 4)
  for (const { name } of weightSpecs(tied)) {
    const error = directionalError(name, gradients.get(name) as Float32Array, given.plain, {
      next,
      objectiveOf: ownObjective,
    })
    expect(error, name).toBeLessThan(1e-4)
  }
})
