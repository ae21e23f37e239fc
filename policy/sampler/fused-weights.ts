/**
 * A version's weights in the form that the sampling graphs read.
 *
 * Invariants
 * - Nothing is rounded but the query projection, or the norm behind it, which carries the attention's scale 1/√headDim.
 * - Every weight that the graphs declare is here under its name.
 * - Heads that are made wider than the policy's keep their numbers in the first places of each half, so that they
 *   are rotated in the same pairs; the others are zero.
 */
import { type Tensor, tensor } from '../graph/runtime.ts'
import { type Architecture, hasBiases, hasHeadNorms, type Weights } from '../transformer/architecture.ts'
import { blockInput, layerInputs, productBlocks } from '../transformer/weight-inputs.ts'

/** Graph inputs by name. */
export type FusedWeights = Readonly<Record<string, Tensor<'float32'>>>

/**
 * @param exactThreads as the graphs were built with
 * @param wide places of a head in the graphs, the policy's or more
 * @throws RangeError a weight is missing or has another size than the architecture says
 */
export function fuseWeights(
  a: Architecture,
  weights: Weights,
  exactThreads: number,
  wide: number = a.head_dim,
): FusedWeights {
  const { hidden_size: hidden, intermediate_size: inner, head_dim: headDim, vocab_size: vocabulary } = a
  const query = a.num_attention_heads * headDim
  const keyValue = a.num_key_value_heads * headDim
  const wideQuery = a.num_attention_heads * wide
  const widened = (data: Float32Array, row: number): Float32Array => widenHeads(data, row, headDim, wide)
  const weight = (name: string, rows: number, columns = 1): Float32Array => {
    const data = weights.get(name)
    if (data?.length !== rows * columns)
      throw new RangeError(
        `weight ${name}: expected ${rows * columns} numbers, got ${data?.length ?? 'none'}`,
      )
    return data
  }
  const fused: Record<string, Tensor<'float32'>> = {
    embedding: tensor('float32', weight('model.embed_tokens.weight', vocabulary, hidden), [
      vocabulary,
      hidden,
    ]),
    final_norm: tensor('float32', weight('model.norm.weight', hidden), [hidden]),
  }
  if (!a.tie_word_embeddings)
    fused.head = tensor('float32', weight('lm_head.weight', vocabulary, hidden), [vocabulary, hidden])
  const scale = 1 / Math.sqrt(headDim)
  for (let layer = 0; layer < a.num_hidden_layers; layer++) {
    const at = `model.layers.${layer}`
    const names = layerInputs(layer)
    const projection = stack(
      widened(weight(`${at}.self_attn.q_proj.weight`, query, hidden), hidden),
      widened(weight(`${at}.self_attn.k_proj.weight`, keyValue, hidden), hidden),
      widened(weight(`${at}.self_attn.v_proj.weight`, keyValue, hidden), hidden),
    )
    // A norm behind the projection would take the scale out again: it carries it itself.
    if (!hasHeadNorms(a)) scaleFirst(projection, wideQuery * hidden, scale)
    if (hasHeadNorms(a)) {
      const queryNorm = weight(`${at}.self_attn.q_norm.weight`, headDim).slice()
      scaleFirst(queryNorm, headDim, scale)
      fused[names.queryNorm] = tensor('float32', queryNorm, [headDim])
      fused[names.keyNorm] = tensor('float32', weight(`${at}.self_attn.k_norm.weight`, headDim), [headDim])
    }
    if (hasBiases(a)) {
      const biases = stack(
        widened(weight(`${at}.self_attn.q_proj.bias`, query), 1),
        widened(weight(`${at}.self_attn.k_proj.bias`, keyValue), 1),
        widened(weight(`${at}.self_attn.v_proj.bias`, keyValue), 1),
      )
      scaleFirst(biases, wideQuery, scale)
      fused[names.queryKeyValueBias] = tensor('float32', biases, [biases.length])
    }
    const gateUp = stack(
      weight(`${at}.mlp.gate_proj.weight`, inner, hidden),
      weight(`${at}.mlp.up_proj.weight`, inner, hidden),
    )
    const matrix = (name: string, data: Float32Array, out: number, width: number): void => {
      const blocks = productBlocks(out, width, exactThreads)
      let from = 0
      for (const [block, columns] of blocks.entries()) {
        const part = blocks.length === 1 ? data : columnsOf(data, width, from, columns)
        fused[blockInput(name, block, blocks.length)] = tensor('float32', part, [out, columns])
        from += columns
      }
    }
    fused[names.inputNorm] = tensor('float32', weight(`${at}.input_layernorm.weight`, hidden), [hidden])
    matrix(names.queryKeyValue, projection, projection.length / hidden, hidden)
    const attentionOut = widened(weight(`${at}.self_attn.o_proj.weight`, hidden, query), 1)
    matrix(names.attentionOut, attentionOut, hidden, wideQuery)
    fused[names.feedForwardNorm] = tensor(
      'float32',
      weight(`${at}.post_attention_layernorm.weight`, hidden),
      [hidden],
    )
    matrix(names.gateUp, gateUp, 2 * inner, hidden)
    matrix(names.down, weight(`${at}.mlp.down_proj.weight`, hidden, inner), hidden, inner)
  }
  return fused
}

/**
 * Heads of `headDim` rows or columns as heads of `wide`.
 * @param row numbers of a row that stay together; 1 where heads are columns
 */
function widenHeads(data: Float32Array, row: number, headDim: number, wide: number): Float32Array {
  if (headDim === wide) return data
  const halves = data.length / ((headDim / 2) * row)
  const out = new Float32Array(halves * (wide / 2) * row)
  for (let half = 0; half < halves; half++) {
    const from = (half * row * headDim) / 2
    out.set(data.subarray(from, from + (row * headDim) / 2), (half * row * wide) / 2)
  }
  return out
}

/** Multiplies the first numbers, in place. */
function scaleFirst(data: Float32Array, count: number, factor: number): void {
  for (let i = 0; i < count; i++) data[i] = (data[i] as number) * factor
}

/** Columns [from, from + columns) of a matrix of `width` columns. */
function columnsOf(data: Float32Array, width: number, from: number, columns: number): Float32Array {
  const part = new Float32Array((data.length / width) * columns)
  for (let source = from, target = 0; target < part.length; source += width, target += columns)
    part.set(data.subarray(source, source + columns), target)
  return part
}

/** Matrices of equal width one below the other. */
function stack(...parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
