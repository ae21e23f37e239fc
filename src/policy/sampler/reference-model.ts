/**
 * A decoder in plain loops, double precision: what the sampling graphs are tested against.
 *
 * Invariants
 * - It shares no code with the graphs.
 */
import { type Architecture, elementCount, type Weights, weightSpecs } from '../transformer/architecture.ts'

/** Weights drawn from a seeded stream; norms near 1. @param uniform numbers in [0, 1) */
export function randomWeights(a: Architecture, uniform: () => number): Weights {
  return new Map(
    weightSpecs(a).map(({ name, shape }) => {
      const data = new Float32Array(elementCount(shape))
      const spread = shape.length === 1 ? 0.1 : 1.5 / Math.sqrt(shape[1] as number)
      for (let i = 0; i < data.length; i++)
        data[i] = (2 * uniform() - 1) * spread + (shape.length === 1 ? 1 : 0)
      return [name, data]
    }),
  )
}

/** Logits after the last token, [vocabulary]. @param tokens the context */
export function referenceLogits(a: Architecture, weights: Weights, tokens: ArrayLike<number>): Float64Array {
  const {
    hidden_size: hidden,
    head_dim: headDim,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
  } = a
  const weight = (name: string): Float32Array => weights.get(name) as Float32Array
  const embedding = weight('model.embed_tokens.weight')
  const states = Array.from({ length: tokens.length }, (_, at) =>
    Float64Array.from(
      embedding.subarray((tokens[at] as number) * hidden, ((tokens[at] as number) + 1) * hidden),
    ),
  )
  for (let layer = 0; layer < a.num_hidden_layers; layer++) {
    const at = `model.layers.${layer}`
    const normed = states.map((x) => norm(x, weight(`${at}.input_layernorm.weight`), a.rms_norm_eps))
    const project = (name: string): Float64Array[] =>
      normed.map((x) => apply(weight(`${at}.self_attn.${name}.weight`), x))
    const queries = project('q_proj').map((x, position) => rotate(x, position, a))
    const keys = project('k_proj').map((x, position) => rotate(x, position, a))
    const values = project('v_proj')
    for (const [time, x] of states.entries()) {
      const mixed = new Float64Array(heads * headDim)
      for (let head = 0; head < heads; head++) {
        const source = Math.floor((head * kvHeads) / heads) * headDim
        const scores = new Float64Array(time + 1)
        for (let past = 0; past <= time; past++)
          for (let i = 0; i < headDim; i++)
            scores[past] =
              (scores[past] as number) +
              ((queries[time]?.[head * headDim + i] as number) * (keys[past]?.[source + i] as number)) /
                Math.sqrt(headDim)
        for (const [past, share] of softmax(scores).entries())
          for (let i = 0; i < headDim; i++)
            mixed[head * headDim + i] =
              (mixed[head * headDim + i] as number) + share * (values[past]?.[source + i] as number)
      }
      add(x, apply(weight(`${at}.self_attn.o_proj.weight`), mixed))
    }
    for (const x of states) {
      const y = norm(x, weight(`${at}.post_attention_layernorm.weight`), a.rms_norm_eps)
      const gate = apply(weight(`${at}.mlp.gate_proj.weight`), y)
      const up = apply(weight(`${at}.mlp.up_proj.weight`), y)
      add(
        x,
        apply(
          weight(`${at}.mlp.down_proj.weight`),
          gate.map((g, i) => (g / (1 + Math.exp(-g))) * (up[i] as number)),
        ),
      )
    }
  }
  const last = norm(states.at(-1) as Float64Array, weight('model.norm.weight'), a.rms_norm_eps)
  return apply(a.tie_word_embeddings ? embedding : weight('lm_head.weight'), last)
}

/** log softmax(logits / temperature). */
export function referenceLogprobs(logits: Float64Array, temperature: number): Float64Array {
  return softmax(logits.map((logit) => logit / temperature)).map(Math.log)
}

function softmax(scores: Float64Array): Float64Array {
  const highest = scores.reduce((left, right) => Math.max(left, right), Number.NEGATIVE_INFINITY)
  const powers = scores.map((score) => Math.exp(score - highest))
  const sum = powers.reduce((left, right) => left + right, 0)
  return powers.map((power) => power / sum)
}

function norm(x: Float64Array, weight: Float32Array, epsilon: number): Float64Array {
  const square = x.reduce((sum, value) => sum + value * value, 0) / x.length
  return x.map((value, i) => (value / Math.sqrt(square + epsilon)) * (weight[i] as number))
}

/** matrix [out, in] · x [in] */
function apply(matrix: Float32Array, x: Float64Array): Float64Array {
  return Float64Array.from({ length: matrix.length / x.length }, (_, row) => {
    let sum = 0
    for (let i = 0; i < x.length; i++) sum += (matrix[row * x.length + i] as number) * (x[i] as number)
    return sum
  })
}

/** Turns pairs (i, i + headDim/2) of every head by position · θ^(−2i/headDim). */
function rotate(x: Float64Array, position: number, a: Architecture): Float64Array {
  const half = a.head_dim / 2
  const turned = Float64Array.from(x)
  for (let head = 0; head < x.length; head += a.head_dim) {
    for (let i = 0; i < half; i++) {
      const angle = position / a.rope_theta ** (i / half)
      const [left, right] = [x[head + i] as number, x[head + half + i] as number]
      turned[head + i] = left * Math.cos(angle) - right * Math.sin(angle)
      turned[head + half + i] = right * Math.cos(angle) + left * Math.sin(angle)
    }
  }
  return turned
}

function add(x: Float64Array, y: Float64Array): void {
  for (let i = 0; i < x.length; i++) x[i] = (x[i] as number) + (y[i] as number)
}
