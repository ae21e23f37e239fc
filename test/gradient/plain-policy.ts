/**
 * A small decoder that can be differentiated: RMSNorm, rotary positions, heads that share keys and values, SwiGLU, tied embeddings.
 *
 * Invariants
 * - Double precision, one token after the other, written from the papers alone.
 */
import type { Tape, Vector } from './tape.ts'

/** Shape of the decoder; it has one layer. */
export const shape = {
  vocabulary: 13,
  width: 8,
  heads: 2,
  headDim: 4,
  inner: 12,
  epsilon: 1e-5,
  theta: 10000,
} as const

/** Figures of a predicted token. */
export interface Prediction {
  readonly logprob: Vector
  readonly entropy: Vector
  /** At a temperature of 1. */
  readonly logits: Vector
}

/** Log-probability of each token but the first, given those before it, and the entropy there. */
export function predictions(
  tape: Tape,
  weights: ReadonlyMap<string, Vector>,
  tokens: readonly number[],
  temperature: number,
): Prediction[] {
  const weight = (name: string): Vector => {
    const found = weights.get(`model.${name}.weight`)
    if (found === undefined) throw new RangeError(`there is no weight ${name}`)
    return found
  }
  const layer = (name: string) => weight(`layers.0.${name}`)
  const embeddings = weight('embed_tokens')
  const keys: Vector[] = []
  const values: Vector[] = []
  return tokens.slice(0, -1).map((token, position) => {
    const x = tape.slice(embeddings, token * shape.width, (token + 1) * shape.width)
    const a = normalized(tape, x, layer('input_layernorm'))
    keys.push(turned(tape, tape.product(layer('self_attn.k_proj'), a), position))
    values.push(tape.product(layer('self_attn.v_proj'), a))
    const query = tape.product(layer('self_attn.q_proj'), a)
    const heads = Array.from({ length: shape.heads }, (_, head) => {
      const own = tape.slice(query, head * shape.headDim, (head + 1) * shape.headDim)
      return attended(tape, turned(tape, own, position), keys, values)
    })
    const middle = tape.plus(x, tape.product(layer('self_attn.o_proj'), tape.joined(heads)))
    const b = normalized(tape, middle, layer('post_attention_layernorm'))
    const gate = tape.product(layer('mlp.gate_proj'), b)
    const sigmoid = (z: number) => 1 / (1 + Math.exp(-z))
    const silu = tape.each(
      gate,
      (z) => z * sigmoid(z),
      (z) => sigmoid(z) * (1 + z * (1 - sigmoid(z))),
    )
    const up = tape.product(layer('mlp.up_proj'), b)
    const last = tape.plus(middle, tape.product(layer('mlp.down_proj'), tape.times(silu, up)))
    const logits = tape.product(embeddings, normalized(tape, last, weight('norm')))
    const logprobs = tape.logSoftmax(tape.scaled(logits, 1 / temperature))
    const next = tokens[position + 1]!
    return {
      logprob: tape.slice(logprobs, next, next + 1),
      logits,
      entropy: tape.scaled(tape.sum(tape.times(tape.exp(logprobs), logprobs)), -1),
    }
  })
}

/** x / √(mean(x²) + ε) · w (arXiv 1910.07467). */
function normalized(tape: Tape, x: Vector, w: Vector): Vector {
  const square = tape.scaled(tape.sum(tape.times(x, x)), 1 / shape.width)
  const inverse = tape.each(
    square,
    (s) => (s + shape.epsilon) ** -0.5,
    (s) => -0.5 * (s + shape.epsilon) ** -1.5,
  )
  return tape.times(tape.times(x, tape.joined(Array.from(x.value, () => inverse))), w)
}

/** Rotary positions (arXiv 2104.09864): pair i of a head is (x_i, x_{i + headDim / 2}). */
function turned(tape: Tape, x: Vector, position: number): Vector {
  const half = shape.headDim / 2
  const matrix = new Float64Array(shape.headDim ** 2)
  for (let i = 0; i < half; i++) {
    const angle = position * shape.theta ** (-i / half)
    const [first, second] = [i, i + half]
    matrix[first * shape.headDim + first] = Math.cos(angle)
    matrix[first * shape.headDim + second] = -Math.sin(angle)
    matrix[second * shape.headDim + second] = Math.cos(angle)
    matrix[second * shape.headDim + first] = Math.sin(angle)
  }
  return tape.product(tape.vector(matrix), x)
}

/** softmax(q·k / √headDim) over all tokens so far, and the values weighed by it. */
function attended(tape: Tape, query: Vector, keys: readonly Vector[], values: readonly Vector[]): Vector {
  const scores = keys.map((key) => tape.scaled(tape.sum(tape.times(query, key)), shape.headDim ** -0.5))
  const weights = tape.exp(tape.logSoftmax(tape.joined(scores)))
  const parts = values.map((value, at) => {
    const weight = tape.slice(weights, at, at + 1)
    return tape.times(tape.joined(Array.from(value.value, () => weight)), value)
  })
  return parts.reduce((sum, part) => tape.plus(sum, part))
}
