/**
 * First weights of a policy that copies. What a small agent mostly has to do is to repeat a name that it has just read, and a decoder
 * finds out how late, all at once, after thousands of episodes. So the heads that do it stand in the first weights: one looks at the
 * token before, and half of those in later layers raise the logit of the token that they look at. Where they look is learnt.
 * Sources: Olsson et al. 2022 (arXiv 2209.11895), what such heads do in trained decoders; Trockman and Kolter 2023 (arXiv
 * 2305.09828), first weights that resemble trained ones.
 *
 * Invariants
 * - [COPYING-1] The first head of the first layer attends to the token before, whatever the tokens are.
 * - [COPYING-2] Half the heads of each later layer write O·V·x with O = c·Vᵀ for the token x that they attend to; with a vocabulary
 *   that shares the embedding that raises the logit of x.
 * - [COPYING-3] The same architecture and seed give the same bytes, and the architecture is a plain decoder's: only numbers differ
 *   from those of `initialWeights`.
 */
import { type Architecture, elementCount, weightSpecs } from './architecture.ts'
import { embeddingDeviation, initialWeights } from './initialization.ts'

/** Embeddings are larger, and what layers write smaller, than in `initialWeights`: a token stays readable in later layers. */
const embeddingScale = 5
const writtenScale = 0.5

/** Nats that a pair of rotated places adds to a score in phase, before it falls off by the cosine of its angle. */
const sharpness = 12

/** c, what a copying head writes of what it reads. */
const copied = 0.3

/** A matrix [rows, columns], row-major. */
interface Matrix {
  readonly values: Float32Array
  readonly columns: number
}

/**
 * Seeded weights with copying heads. Channel 0 of the residual stream is the same for all tokens: what the first head looks for.
 * @param seed 32 bits
 */
export function copyingWeights(architecture: Architecture, seed: number): Map<string, Float32Array> {
  const weights = initialWeights(architecture, seed)
  const widths = new Map(
    weightSpecs(architecture).map(({ name, shape }) => [name, elementCount(shape.slice(1))]),
  )
  const matrix = (name: string): Matrix => {
    const values = weights.get(name)
    const columns = widths.get(name)
    if (values === undefined || columns === undefined)
      throw new RangeError(`${name} is no weight of the policy`)
    return { values, columns }
  }
  const embedding = matrix('model.embed_tokens.weight')
  beginWithConstant(embedding, embeddingScale * embeddingDeviation * Math.sqrt(embedding.columns))
  for (let layer = 0; layer < architecture.num_hidden_layers; layer++) {
    const of = (name: string): Matrix => matrix(`model.layers.${layer}.${name}.weight`)
    for (const name of readers) fillColumn(of(name), 0, 0)
    for (const name of writers) quieten(of(name))
    const attention = {
      queries: of('self_attn.q_proj'),
      keys: of('self_attn.k_proj'),
      values: of('self_attn.v_proj'),
      output: of('self_attn.o_proj'),
    }
    if (layer === 0) lookBack(architecture, attention)
    else copy(architecture, attention)
  }
  return weights
}

const readers = [
  'self_attn.q_proj',
  'self_attn.k_proj',
  'self_attn.v_proj',
  'mlp.gate_proj',
  'mlp.up_proj',
] as const
const writers = ['self_attn.o_proj', 'mlp.down_proj'] as const

interface Attention {
  readonly queries: Matrix
  readonly keys: Matrix
  readonly values: Matrix
  readonly output: Matrix
}

/**
 * The first head reads the constant alone. Its keys are turned one position ahead, so that query and key are in phase where the key
 * is that of the token before.
 */
function lookBack(
  { head_dim: headDim, rope_theta: theta }: Architecture,
  { queries, keys }: Attention,
): void {
  const pairs = headDim / 2
  const constant = Math.sqrt(queries.columns / 2) // normalized: it has as much of a token's square as all else together
  const size = Math.sqrt(sharpness * Math.sqrt(headDim)) / constant
  for (const { values, columns } of [queries, keys]) values.fill(0, 0, headDim * columns)
  for (let pair = 0; pair < pairs; pair++) {
    const angle = theta ** (-pair / pairs)
    queries.values[pair * queries.columns] = size
    keys.values[pair * keys.columns] = size * Math.cos(angle)
    keys.values[(pair + pairs) * keys.columns] = size * Math.sin(angle)
  }
}

function copy(architecture: Architecture, { values, output }: Attention): void {
  const { head_dim: headDim, num_attention_heads: heads, num_key_value_heads: keyValueHeads } = architecture
  for (let head = 0; head < Math.floor(heads / 2); head++) {
    const read = Math.floor((head * keyValueHeads) / heads) * headDim
    for (let place = 0; place < headDim; place++)
      for (let channel = 1; channel < values.columns; channel++)
        output.values[channel * output.columns + head * headDim + place] =
          copied * (values.values[(read + place) * values.columns + channel] ?? 0)
  }
}

/** Gives channel 0 of every row the constant, and the others together the same norm, so that normalized it is a constant too. */
function beginWithConstant({ values, columns }: Matrix, constant: number): void {
  for (let at = 0; at < values.length; at += columns) {
    const row = values.subarray(at, at + columns)
    row[0] = 0
    const scale = constant / Math.hypot(...row)
    for (const [channel, x] of row.entries()) row[channel] = scale * x
    row[0] = constant
  }
}

function fillColumn({ values, columns }: Matrix, column: number, value: number): void {
  for (let at = column; at < values.length; at += columns) values[at] = value
}

/** Scales what a matrix writes, and leaves channel 0 as it is. */
function quieten({ values, columns }: Matrix): void {
  for (const [at, x] of values.entries()) values[at] = at < columns ? 0 : writtenScale * x
}
