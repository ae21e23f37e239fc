/** The plan's arithmetic. */
import { expect, test } from 'vitest'
import { loadConfig } from './files/loader.ts'
import { planOf } from './plan.ts'

const facts = {
  parameters: 1000,
  adapterParameters: 0,
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
  'rollout.refill=0',
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
  expect(plan.skippedEpisodes).toBe(0)
})

test('no more episodes are in flight than may be played at once', () => {
  const inFlight = (set: string[]) =>
    planOf(loadConfig({ set: [...settings, ...set] }), facts).episodesInFlight
  expect(inFlight(['rollout.groupsInFlight=5'])).toBe(20) // 5 × 4
  expect(inFlight(['rollout.groupsInFlight=7'])).toBe(24) // (1 + 1) × 3 × 4
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

test('groups that teach nothing may be played besides', () => {
  const plan = planOf(loadConfig({ set: [...settings, 'rollout.refill=1.5'] }), facts)
  expect(plan.episodes).toBe(120)
  expect(plan.skippedEpisodes).toBe(160) // 10 updates × floor(1.5 × 3) groups × 4
  expect(plan.tokens.sampled).toBe(280 * 50)
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

test('an adapter is what is trained and stored, beside a base that has no moments', () => {
  const lora = { ...facts, adapterParameters: 50 }
  const own = planOf(loadConfig({ set: [...settings, 'policy.lora.rank=4'] }), lora)
  expect(own.memory.training).toBe(4 * (1000 + 2 * 1000 + 4 * 50 + 1000)) // base, merged and its gradient, adapter, reference
  expect(own.memory.policy).toBe(8_000) // merged for each version
  expect(own.checkpoints.bytes).toBe(600)
  expect([own.memory.servers, own.memory.trainer]).toEqual([0, 0])
})

test('what servers and a trainer in another process hold is distinguished from what is held here', () => {
  const elsewhere = [
    'policy.lora.rank=4',
    'policy.engine=vllm',
    'policy.engineUrl=http://127.0.0.1:8000',
    'policy.trainer=[python3, -m, perdure_trainer]',
    'policy.from=./base',
    'warmStart.demonstrations=0',
  ]
  const lora = { ...facts, adapterParameters: 50, isSummedApart: true }
  const { memory } = planOf(loadConfig({ set: [...settings, ...elsewhere] }), lora)
  expect(memory.policy).toBe(4 * (1000 + 2 * 50)) // the base once, an adapter for each version
  expect(memory.training).toBe(4 * (1000 + 4 * 50 + 1000)) // base, adapter, reference
  expect(memory.servers).toBe(memory.policy + memory.keyValueCache)
  expect(memory.trainer).toBe(memory.training + memory.activations)
  expect(memory.total).toBe(memory.servers + memory.trainer)
})

test('operations are 2 per weight and token forward, 4 back, and 2 for the reference', () => {
  const { operations } = planOf(loadConfig({ set: settings }), facts)
  expect(operations.sampling).toBe(120 * 64 * 2 * 1000)
  expect(operations.training).toBe(120 * 64 * 8 * 1000)
  const foreign = [...settings, 'policy.lora.rank=4', 'policy.trainer=[train]', 'learning.klCoefficient=0']
  const adapted = planOf(loadConfig({ set: foreign }), { ...facts, adapterParameters: 50 })
  expect(adapted.operations.training).toBe(120 * 64 * 4 * 1000) // no gradient of the base's weights
})

const pytorch = (...flags: string[]) =>
  planOf(
    loadConfig({
      set: [...settings, `policy.trainer=[${['torchrun', '-m', 'perdure_trainer', ...flags].join(', ')}]`],
    }),
    facts,
  )

test('the flags of the trainer in PyTorch are considered: shorter numbers, and activations that are computed again', () => {
  const ofLayer = 12 * 8 + 4 * 16
  expect(pytorch('--dtype', 'bfloat16').memory.activations).toBe(64 * (2 * ofLayer * 2 + 3 * 300 * 4))
  // A row of each of two layers, one layer in full, and the logits.
  const again = pytorch('--checkpoint-activations')
  expect(again.memory.activations).toBe(64 * (2 * 8 + ofLayer + 3 * 300) * 4)
  expect(again.operations.training).toBe(120 * 64 * 10 * 1000) // one more forward pass
  expect(again.memory.training).toBe(pytorch().memory.training)
})

test('rates of the machines give hours and their cost', () => {
  const config = loadConfig({ set: settings })
  // 120 episodes × 50 tokens and 28 of evaluations × 64; 120 × 64 × 8 × 1000 operations.
  const rates = { tokensPerSecond: 2, operationsPerSecond: 1000 }
  const { hours, cost } = planOf(config, facts, { ...rates, pricePerHour: 3 })
  expect(hours).toEqual({ sampling: (6000 + 1792) / 2 / 3600, training: 61_440 / 3600 })
  expect(cost).toBeCloseTo(3 * (3896 / 3600 + 61_440 / 3600), 10)
  expect(planOf(config, facts, { tokensPerSecond: 2, pricePerHour: 3 })).toMatchObject({
    hours: { sampling: 3896 / 3600 },
  })
  expect(planOf(config, facts)).toMatchObject({ hours: {} })
})
