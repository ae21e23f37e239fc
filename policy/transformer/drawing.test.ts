import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { Graph } from '../graph/graph.ts'
import { createInferenceSession, type InferenceSession, tensor } from '../graph/runtime.ts'
import { drawToken } from './drawing.ts'

interface Row {
  readonly logits: readonly number[]
  readonly temperature: number
  readonly uniform: number
}

interface Drawn {
  readonly tokens: readonly number[]
  readonly probabilities: readonly number[]
}

const sessions = new Map<number, Promise<InferenceSession>>()
afterAll(async () => {
  for (const session of sessions.values()) await (await session).release()
})

/** The graph of a vocabulary. */
function sessionOf(vocabulary: number): Promise<InferenceSession> {
  const known = sessions.get(vocabulary)
  if (known !== undefined) return known
  const graph = new Graph()
  const column = ['rows', 1]
  const { token, probability } = drawToken(graph, graph.input('logits', ['rows', vocabulary]), {
    inverseTemperature: graph.input('inverse_temperature', column),
    uniform: graph.input('uniform', column),
    greedy: graph.input('greedy', column, { type: 'bool' }),
  })
  graph.output('token', token)
  graph.output('probability', probability)
  const session = createInferenceSession(graph.encode(), { threads: 1 })
  sessions.set(vocabulary, session)
  return session
}

async function draw(rows: readonly Row[], greedy = false): Promise<Drawn> {
  const vocabulary = rows[0]?.logits.length as number
  const count = rows.length
  const results = await (await sessionOf(vocabulary)).run({
    logits: tensor('float32', Float32Array.from(rows.flatMap(({ logits }) => logits)), [count, vocabulary]),
    inverse_temperature: tensor(
      'float32',
      Float32Array.from(rows, ({ temperature }) => 1 / temperature),
      [count, 1],
    ),
    uniform: tensor(
      'float32',
      Float32Array.from(rows, ({ uniform }) => uniform),
      [count, 1],
    ),
    greedy: tensor('bool', new Uint8Array(count).fill(greedy ? 1 : 0), [count, 1]),
  })
  return {
    tokens: Array.from(results.token?.data as BigInt64Array, Number),
    probabilities: Array.from(results.probability?.data as Float32Array),
  }
}

/** p = softmax(logits / T) in double precision. */
function softmax({ logits, temperature }: Row): readonly number[] {
  const scaled = logits.map((logit) => Math.fround(logit) / temperature)
  const largest = scaled.reduce((a, b) => Math.max(a, b))
  const terms = scaled.map((logit) => Math.exp(logit - largest))
  const total = terms.reduce((a, b) => a + b)
  return terms.map((term) => term / total)
}

/** Logits of a seed, some of them so low that their probability is zero. */
function logitsOf(vocabulary: number, seed: number): readonly number[] {
  const next = uniforms(seed)
  const impossible = next()
  return Array.from({ length: vocabulary }, () => (next() < impossible ? -300 : 6 * next()))
}

const largestUniform = 1 - 2 ** -23

// One block; whole blocks; a last block that is not full; one that holds a single place.
describe.each([23, 4096, 1500, 1057])('of a vocabulary of %i', (vocabulary) => {
  const rows = fc.array(
    fc.record({
      logits: fc.integer().map((seed) => logitsOf(vocabulary, seed)),
      temperature: fc.double({ min: 0.05, max: 20, noNaN: true }),
      uniform: fc.oneof(
        fc.constantFrom(0, largestUniform),
        fc.double({ min: 0, max: largestUniform, noNaN: true }),
      ),
    }),
    { minLength: 2, maxLength: 5 },
  )

  it('the token is the first whose cumulative probability is above the uniform', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (asked) => {
        const { tokens, probabilities } = await draw(asked)
        for (const [index, row] of asked.entries()) {
          const expected = softmax(row)
          const token = tokens[index] as number
          const before = expected.slice(0, token).reduce((a, b) => a + b, 0)
          expect(row.uniform).toBeGreaterThan(before - 1e-5)
          expect(row.uniform).toBeLessThan(before + (expected[token] as number) + 1e-5)
          expect(probabilities[index]).toBeCloseTo(expected[token] as number, 5)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('a token of probability zero is never drawn', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (asked) => {
        const { probabilities } = await draw(asked)
        for (const probability of probabilities) expect(probability).toBeGreaterThan(0)
      }),
      { numRuns: 60 },
    )
  })

  it('every token that is alone possible is the one that is drawn', async () => {
    for (const only of [0, 1, Math.floor(vocabulary / 2), vocabulary - 1]) {
      const logits = Array.from({ length: vocabulary }, (_, token) => (token === only ? 0 : -300))
      const asked = [0, 0.5, largestUniform].map((uniform) => ({ logits, temperature: 1, uniform }))
      expect(await draw(asked)).toEqual({ tokens: [only, only, only], probabilities: [1, 1, 1] })
    }
  })

  it('the greedy token is the most likely one, the first of equals', async () => {
    const next = uniforms(vocabulary)
    const asked = Array.from({ length: 40 }, () => ({
      logits: Array.from({ length: vocabulary }, () => Math.floor(next() * 3 * Math.sqrt(vocabulary))),
      temperature: 1,
      uniform: next(),
    }))
    const { tokens } = await draw(asked, true)
    expect(tokens).toEqual(asked.map(({ logits }) => logits.indexOf(Math.max(...logits))))
  })
})
