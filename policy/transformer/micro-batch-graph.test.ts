import { expect, test } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { createInferenceSession, type InferenceSession, type Tensor, tensor } from '../graph/runtime.ts'
import { elementCount, weightSpecs } from './architecture.ts'
import { causalLimits } from './attention.ts'
import { initialWeights } from './initialization.ts'
import { microBatchGraph, sumName } from './micro-batch-graph.ts'
import { gradientName } from './objective-graph.ts'
import { rotaryTables } from './rope.ts'
import { smallArchitecture } from './small-architecture.testing.ts'

const architecture = smallArchitecture
const longest = 32
const next = uniforms(1)

interface Micro {
  readonly time: number
  readonly tokens: readonly number[]
  readonly rows: readonly number[]
}

/** Two sequences of 16 tokens, and one of 32. */
const micros: readonly Micro[] = [
  { time: 16, rows: [2, 9, 20], tokens: Array.from({ length: 32 }, () => Math.floor(23 * next())) },
  { time: 32, rows: [0, 31], tokens: Array.from({ length: 32 }, () => Math.floor(23 * next())) },
]

function int64(values: readonly number[], ...dims: readonly number[]): Tensor {
  return tensor('int64', BigInt64Array.from(values, BigInt), dims)
}

function startsOf(sizes: readonly number[]): readonly number[] {
  return [0, ...sizes.map((_, at) => sizes.slice(0, at + 1).reduce((a, b) => a + b))]
}

async function run(
  session: InferenceSession,
  given: readonly Micro[],
  sums: ReadonlyMap<string, Float32Array>,
) {
  const { cosines, sines, negativeSines } = rotaryTables(architecture, longest)
  const tokens = given.flatMap((micro) => micro.tokens)
  const rows = given.flatMap((micro) => micro.rows)
  const feeds: Record<string, Tensor> = {
    micro_batches: int64([given.length]),
    times: int64(
      given.map(({ time }) => time),
      given.length,
    ),
    token_starts: int64(startsOf(given.map((micro) => micro.tokens.length)), given.length + 1),
    row_starts: int64(startsOf(given.map((micro) => micro.rows.length)), given.length + 1),
    tokens: int64(tokens, tokens.length),
    rows: int64(rows, rows.length),
    targets: int64(
      rows.map((row) => row % 23),
      rows.length,
    ),
    weights: tensor('float32', Float32Array.from(rows, Math.cos), [rows.length]),
    inverse_temperature: tensor('float32', Float32Array.of(1.25), []),
    mask: tensor('float32', causalLimits(longest), [longest, longest]),
    cosines: tensor('float32', cosines, [longest, 2]),
    sines: tensor('float32', sines, [longest, 2]),
    negative_sines: tensor('float32', negativeSines, [longest, 2]),
  }
  const weights = initialWeights(architecture, 4)
  for (const { name, shape } of weightSpecs(architecture)) {
    feeds[name] = tensor('float32', weights.get(name) as Float32Array, shape)
    feeds[sumName(name)] = tensor('float32', sums.get(name) as Float32Array, shape)
  }
  const results = await session.run(feeds)
  return {
    logprobs: results.logprobs?.data as Float32Array,
    embedded: results['gradient.embedded']?.data as Float32Array,
    sums: new Map(
      weightSpecs(architecture).map(({ name }) => [name, results[gradientName(name)]?.data as Float32Array]),
    ),
  }
}

test('micro-batches of one run give what runs with one each give, to the byte [JOINED-1]', async () => {
  const session = await createInferenceSession(microBatchGraph(architecture, 'supervised', 4), { threads: 1 })
  const begun = new Map(
    weightSpecs(architecture).map(({ name, shape }) => [
      name,
      Float32Array.from({ length: elementCount(shape) }, () => next() / 100),
    ]),
  )
  const [first, second] = micros as readonly [Micro, Micro]
  const one = await run(session, [first], begun)
  const two = await run(session, [second], one.sums)
  const both = await run(session, micros, begun)
  await session.release()
  expect(both.sums).toEqual(two.sums)
  expect(both.sums).not.toEqual(one.sums)
  expect(both.logprobs).toEqual(Float32Array.of(...one.logprobs, ...two.logprobs))
  expect(both.embedded).toEqual(Float32Array.of(...one.embedded, ...two.embedded))
})
