/** The plan's arithmetic. */
import { expect, test } from 'vitest'
import { loadConfig } from './loader.ts'
import { planOf } from './plan.ts'

const facts = {
  parameters: 1000,
  isSummedApart: false,
  layers: 2,
  keyValueHeads: 2,
  headDim: 4,
  hiddenSize: 8,
  intermediateSize: 16,
  vocabularySize: 300,
  turnLimit: () => 10,
}
const settings = [
  'training.updates=10',
  'rollout.groupsPerUpdate=3',
  'rollout.groupSize=4',
  'rollout.maxStaleness=1',
  'rollout.maxTokensPerTurn=5',
  'policy.contextLength=64',
  'learning.microBatchTokens=64',
  'evaluation.every=4',
  'evaluation.suites.0.episodes=7',
]

test('episodes are updates × groups × group size, and staleness bounds those in flight', () => {
  const plan = planOf(loadConfig({ set: settings }), facts)
  expect(plan.groups).toBe(30) // 10 × 3
  expect(plan.episodes).toBe(120) // 30 × 4
  expect(plan.episodesInFlight).toBe(24) // (1 + 1) × 3 × 4
})

test('a suite is evaluated before the first update, every so many updates, and after the last', () => {
  const rounds = (set: string[]) => planOf(loadConfig({ set: [...settings, ...set] }), facts).evaluations
  expect(rounds([])).toBe(4) // after 0, 4, 8, 10
  expect(rounds(['evaluation.every=5'])).toBe(3) // after 0, 5, 10
  expect(rounds(['evaluation.every=0'])).toBe(2) // after 0, 10
  expect(rounds(['training.updates=0'])).toBe(1)
  expect(planOf(loadConfig({ set: settings }), facts).evaluationEpisodes).toBe(28) // 4 × 7
})

test('sampled tokens are bounded by turns and by the context', () => {
  // 10 turns × 5 tokens = 50 < 64
  expect(planOf(loadConfig({ set: settings }), facts).tokens.sampled).toBe(120 * 50)
  // 20 turns × 5 tokens = 100 > 64
  const long = loadConfig({ set: [...settings, 'tasks.0.turnLimit=20'] })
  expect(planOf(long, facts).tokens.sampled).toBe(120 * 64)
})

test('memory follows from the shapes, 4 bytes a number', () => {
  const { memory, checkpoints } = planOf(loadConfig({ set: settings }), facts)
  expect(memory.policy).toBe(8_000) // 1000 parameters × 4 bytes × (current + pool of 1)
  expect(memory.keyValueCache).toBe(24 * 64 * 2 * 2 * 2 * 4 * 4) // episodes × tokens × K,V × layers × heads × dim × bytes
  expect(memory.training).toBe(20_000) // weights, gradient, two moments, reference
  expect(memory.activations).toBe(64 * (2 * (12 * 8 + 4 * 16) + 3 * 300) * 4)
  expect(memory.total).toBe(memory.policy + memory.keyValueCache + memory.training + memory.activations)
  expect(checkpoints.bytes).toBe(12_000)
})

test('threads that compute gradients apart have a sum each', () => {
  const { memory } = planOf(loadConfig({ set: [...settings, 'policy.threads=3'] }), {
    ...facts,
    isSummedApart: true,
  })
  expect(memory.training).toBe(28_000) // weights, three gradients, two moments, reference
})

test('what is turned off takes no memory', () => {
  const { memory } = planOf(
    loadConfig({ set: [...settings, 'crossPolicy.staleShare=0', 'learning.klCoefficient=0'] }),
    facts,
  )
  expect([memory.policy, memory.training]).toEqual([4_000, 16_000])
})
