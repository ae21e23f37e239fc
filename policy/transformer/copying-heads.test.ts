import { describe, expect, test } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import type { Architecture } from './architecture.ts'
import { copyingWeights } from './copying-heads.ts'
import { initialWeights } from './initialization.ts'
import { plainLogits } from './plain-decoder.testing.ts'
import { smallArchitecture } from './small-architecture.testing.ts'

/** Two query heads share each key and value head. */
const architecture: Architecture = {
  ...smallArchitecture,
  vocab_size: 200,
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  rope_theta: 10_000,
  tie_word_embeddings: true,
}
const seeds = [1, 2, 3]

function randomContext(seed: number, length: number): readonly number[] {
  const next = uniforms(seed)
  return Array.from({ length }, () => Math.floor(next() * architecture.vocab_size))
}

function rowOf(weights: ReadonlyMap<string, Float32Array>, token: number): readonly number[] {
  const width = architecture.hidden_size
  return [...(weights.get('model.embed_tokens.weight') ?? [])].slice(token * width, (token + 1) * width)
}

/** The logits that a head adds to each of some tokens when it attends to one. */
function headLogits(
  weights: ReadonlyMap<string, Float32Array>,
  { layer, head }: { readonly layer: number; readonly head: number },
  attended: number,
  tokens: readonly number[],
): readonly number[] {
  const {
    head_dim: headDim,
    hidden_size: width,
    num_attention_heads: heads,
    num_key_value_heads,
  } = architecture
  const matrix = (name: string) =>
    weights.get(`model.layers.${layer}.self_attn.${name}.weight`) ?? new Float32Array()
  const values = matrix('v_proj')
  const output = matrix('o_proj')
  const read = Math.floor((head * num_key_value_heads) / heads) * headDim
  const x = rowOf(weights, attended)
  const value = Array.from({ length: headDim }, (_, place) =>
    x.reduce((sum, channel, at) => sum + channel * (values[(read + place) * width + at] ?? 0), 0),
  )
  const written = Array.from({ length: width }, (_, channel) =>
    value.reduce((sum, y, at) => sum + y * (output[channel * heads * headDim + head * headDim + at] ?? 0), 0),
  )
  return tokens.map((token) =>
    rowOf(weights, token).reduce((sum, channel, at) => sum + channel * (written[at] ?? 0), 0),
  )
}

describe('copyingWeights', () => {
  test('[COPYING-1] the first head attends to the token before, at every position and for every token', () => {
    const weights = copyingWeights({ ...architecture, num_hidden_layers: 1 }, 4)
    const { head_dim: headDim, hidden_size: width, rope_theta: theta } = architecture
    const pairs = headDim / 2
    const embedding = weights.get('model.embed_tokens.weight') ?? new Float32Array()
    const projected = (name: string, token: number, position: number): number[] => {
      const matrix = weights.get(`model.layers.0.self_attn.${name}.weight`) ?? new Float32Array()
      const x = [...embedding.slice(token * width, (token + 1) * width)]
      const size = Math.hypot(...x) / Math.sqrt(width)
      const y = Array.from({ length: headDim }, (_, row) =>
        x.reduce((sum, value, channel) => sum + ((matrix[row * width + channel] ?? 0) * value) / size, 0),
      )
      return y.map((value, place) => {
        const angle = position * theta ** (-(place % pairs) / pairs)
        const other = place < pairs ? -(y[place + pairs] ?? 0) : (y[place - pairs] ?? 0)
        return value * Math.cos(angle) + other * Math.sin(angle)
      })
    }
    for (const seed of seeds) {
      const context = randomContext(seed, 60)
      for (let position = 1; position < context.length; position++) {
        const query = projected('q_proj', context[position] ?? 0, position)
        const scores = context.slice(0, position + 1).map((token, at) => {
          const key = projected('k_proj', token, at)
          return key.reduce((sum, value, place) => sum + value * (query[place] ?? 0), 0) / Math.sqrt(headDim)
        })
        const weightsOfAll = scores.map((score) => Math.exp(score - (scores[position - 1] ?? 0)))
        expect(1 / weightsOfAll.reduce((a, b) => a + b, 0)).toBeGreaterThan(0.9)
      }
    }
  })

  test('[COPYING-2] half the heads of a later layer raise the logit of the token that they attend to far above that of others', () => {
    const weights = copyingWeights(architecture, 4)
    const others = randomContext(5, 100)
    const lead = (layer: number, head: number, token: number): number => {
      const [own = 0, ...logits] = headLogits(weights, { layer, head }, token, [token, ...others])
      return own / Math.sqrt(logits.reduce((sum, x) => sum + x * x, 0) / logits.length)
    }
    for (const layer of [1, 2, 3])
      for (const token of [3, 77, 198]) {
        expect(lead(layer, 0, token)).toBeGreaterThan(2)
        expect(lead(layer, 1, token)).toBeGreaterThan(2)
      }
  })

  test('[COPYING-3] where a text comes again, the first head of the second layer raises the logit of what followed most, mostly', () => {
    const matching: Architecture = {
      ...architecture,
      hidden_size: 128,
      num_hidden_layers: 2,
      num_attention_heads: 2,
      head_dim: 64,
    }
    const weights = copyingWeights(matching, 4)
    const once = randomContext(6, 40)
    const context = [...once, ...once]
    const logitsOf = (isHeard: boolean): readonly Float64Array[] => {
      const plain = new Map([...weights].map(([name, values]) => [name, Float64Array.from(values)]))
      const output = plain.get('model.layers.1.self_attn.o_proj.weight')
      const columns = 2 * matching.head_dim
      for (let row = 0; row < matching.hidden_size && !isHeard; row++)
        output?.fill(0, row * columns, row * columns + matching.head_dim)
      return plainLogits(matching, plain, context)
    }
    const [without, withIt] = [logitsOf(false), logitsOf(true)]
    const found = once.slice(1).filter((follower, at) => {
      const position = once.length + at
      const raised = withIt[position]?.map((logit, token) => logit - (without[position]?.[token] ?? 0))
      return raised !== undefined && raised.indexOf(Math.max(...raised)) === follower
    })
    expect(found.length).toBeGreaterThan(once.length / 2)
  })

  test('[COPYING-3] a policy of one head, which has no room for all directions, has finite weights', () => {
    const single = { ...architecture, num_attention_heads: 1, num_key_value_heads: 1, head_dim: 64 }
    for (const values of copyingWeights(single, 4).values()) expect(values.every(Number.isFinite)).toBe(true)
  })

  test('[COPYING-4] the same architecture and seed give the same bytes, under the names and shapes of other first weights', () => {
    const weights = copyingWeights(architecture, 4)
    expect(copyingWeights(architecture, 4)).toEqual(weights)
    expect(copyingWeights(architecture, 5)).not.toEqual(weights)
    const sizes = (of: ReadonlyMap<string, Float32Array>) =>
      [...of].map(([name, { length }]) => [name, length])
    expect(sizes(weights)).toEqual(sizes(initialWeights(architecture, 4)))
  })
})
