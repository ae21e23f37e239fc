/**
 * The decoder in plain arithmetic: what graphs are checked against in tests.
 *
 * Invariants
 * - Double precision, one token after the other, no code shared with the graphs.
 */
import type { Architecture } from './architecture.ts'

/** Weights in double precision, `[out, in]`, row-major. */
export type PlainWeights = ReadonlyMap<string, Float64Array>

/**
 * Logits of every position of one sequence.
 * @param tokens [time]
 * @returns [time][vocabulary]
 */
export function plainLogits(
  architecture: Architecture,
  weights: PlainWeights,
  tokens: readonly number[],
): readonly Float64Array[] {
  const { hidden_size: width, num_attention_heads: heads, num_key_value_heads: keyValueHeads } = architecture
  const { head_dim: headDim, rms_norm_eps: epsilon } = architecture
  const weight = (name: string): Float64Array => weights.get(name) as Float64Array
  const embedding = weight('model.embed_tokens.weight')
  let states: Float64Array[] = tokens.map((token) => embedding.slice(token * width, (token + 1) * width))
  for (let layer = 0; layer < architecture.num_hidden_layers; layer++) {
    const at = (name: string): Float64Array => weight(`model.layers.${layer}.${name}.weight`)
    const inputs = states.map((x) => normalized(x, at('input_layernorm'), epsilon))
    const projected = (x: Float64Array, part: 'q' | 'k' | 'v'): Float64Array => {
      const bias = weights.get(`model.layers.${layer}.self_attn.${part}_proj.bias`)
      const norm = weights.get(`model.layers.${layer}.self_attn.${part}_norm.weight`)
      const y = times(at(`self_attn.${part}_proj`), x)
      const z = bias === undefined ? y : plus(y, bias)
      return norm === undefined ? z : headsNormalized(z, norm, epsilon)
    }
    const queries = inputs.map((x, t) => turned(projected(x, 'q'), t, architecture))
    const keys = inputs.map((x, t) => turned(projected(x, 'k'), t, architecture))
    const values = inputs.map((x) => projected(x, 'v'))
    states = states.map((x, t) => {
      const attended = new Float64Array(heads * headDim)
      for (let head = 0; head < heads; head++) {
        const shared = Math.floor((head * keyValueHeads) / heads) * headDim
        const scores = keys.slice(0, t + 1).map((key) => {
          let score = 0
          for (let i = 0; i < headDim; i++)
            score += (queries[t]?.[head * headDim + i] ?? 0) * (key[shared + i] ?? 0)
          return score / Math.sqrt(headDim)
        })
        const largest = Math.max(...scores)
        const exponentials = scores.map((score) => Math.exp(score - largest))
        const total = exponentials.reduce((a, b) => a + b, 0)
        for (const [source, exponential] of exponentials.entries())
          for (let i = 0; i < headDim; i++)
            attended[head * headDim + i]! += (exponential / total) * (values[source]?.[shared + i] ?? 0)
      }
      const middle = plus(x, times(at('self_attn.o_proj'), attended))
      const y = normalized(middle, at('post_attention_layernorm'), epsilon)
      const up = times(at('mlp.up_proj'), y)
      const gated = times(at('mlp.gate_proj'), y).map((a, i) => (a / (1 + Math.exp(-a))) * (up[i] ?? 0))
      return plus(middle, times(at('mlp.down_proj'), gated))
    })
  }
  const head = architecture.tie_word_embeddings ? embedding : weight('lm_head.weight')
  return states.map((x) => times(head, normalized(x, weight('model.norm.weight'), epsilon)))
}

/** log softmax of logits at a temperature. */
export function plainLogSoftmax(logits: Float64Array, temperature: number): Float64Array {
  const scaled = logits.map((logit) => logit / temperature)
  const largest = scaled.reduce((a, b) => Math.max(a, b))
  const total = scaled.reduce((sum, logit) => sum + Math.exp(logit - largest), 0)
  return scaled.map((logit) => logit - largest - Math.log(total))
}

function normalized(x: Float64Array, w: Float64Array, epsilon: number): Float64Array {
  const square = x.reduce((sum, value) => sum + value * value, 0) / x.length
  return x.map((value, i) => (value / Math.sqrt(square + epsilon)) * (w[i] ?? 0))
}

/** Each head by itself. @param w [headDim] */
function headsNormalized(x: Float64Array, w: Float64Array, epsilon: number): Float64Array {
  const out = new Float64Array(x.length)
  for (let at = 0; at < x.length; at += w.length)
    out.set(normalized(x.subarray(at, at + w.length), w, epsilon), at)
  return out
}

function times(matrix: Float64Array, x: Float64Array): Float64Array {
  return Float64Array.from({ length: matrix.length / x.length }, (_, row) =>
    x.reduce((sum, value, i) => sum + value * (matrix[row * x.length + i] ?? 0), 0),
  )
}

function plus(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value + (b[i] ?? 0))
}

/** Rotary embedding of every head: (a, b) of a pair becomes (a cos − b sin, b cos + a sin). */
function turned(x: Float64Array, position: number, { head_dim, rope_theta }: Architecture): Float64Array {
  const half = head_dim / 2
  return x.map((value, index) => {
    const within = index % head_dim
    const angle = position * rope_theta ** (-(within % half) / half)
    const partner = within < half ? -(x[index + half] ?? 0) : (x[index - half] ?? 0)
    return value * Math.cos(angle) + partner * Math.sin(angle)
  })
}
