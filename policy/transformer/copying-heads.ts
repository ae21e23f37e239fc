/**
 * First weights of a policy that copies. A small agent mostly has to repeat a name that it has just read, and a decoder
 * learns that late, all at once, after thousands of episodes. So the first weights contain the heads that do it: one looks at the
 * token before, one looks where that was the current token, and half of those in later layers raise the logit of the token that they
 * look at: a text that was read once is gone on with. Where else they look is learnt.
 * Sources: Olsson et al. 2022 (arXiv 2209.11895), what such heads do in trained decoders; Trockman and Kolter 2023 (arXiv
 * 2305.09828), first weights that resemble trained ones.
 *
 * Invariants
 * - [COPYING-1] The first head of the first layer attends to the token before, whatever the tokens are.
 * - [COPYING-2] Half the heads of each later layer write O·V·x with O = c·Vᵀ for the token x that they attend to; with a vocabulary
 *   that shares the embedding that raises the logit of x.
 * - [COPYING-3] The first head of the second layer, one of those, attends to what followed where the token at hand stood before.
 * - [COPYING-4] The same architecture and seed give the same bytes, and the architecture is a plain decoder's: only numbers differ
 *   from those of `initialWeights`.
 */
import { type Architecture, elementCount, weightSpecs } from './architecture.ts'
import { embeddingDeviation, initialWeights } from './initialization.ts'
import { rotarySpeeds } from './rope.ts'

/** Embeddings are larger, and what layers write smaller, than in `initialWeights`: a token stays readable in later layers. */
const embeddingScale = 8
const writtenScale = 0.5

/** Nats that a pair of rotated places adds to a score in phase, before it falls off by the cosine of its angle. */
const sharpness = 12

/** c, what a copying head writes of what it reads. */
const copied = 0.3

/** The size of the first head's note of the token before, which only the matching head reads. */
const noted = 0.4

/** Tokens over which tokens are matched: in pairs of places that turn less than a radian on the way. */
const reach = 100

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
  beginWithConstant(embedding, constantOf(embedding.columns))
  const attentions = Array.from({ length: architecture.num_hidden_layers }, (_, layer): Attention => {
    const of = (name: string): Matrix => matrix(`model.layers.${layer}.${name}.weight`)
    for (const name of readers) fillColumn(of(name), 0, 0)
    for (const name of writers) quieten(of(name))
    return {
      queries: of('self_attn.q_proj'),
      keys: of('self_attn.k_proj'),
      values: of('self_attn.v_proj'),
      output: of('self_attn.o_proj'),
    }
  })
  const [first, ...later] = attentions
  const [second] = later
  if (first !== undefined) lookBack(architecture, first)
  if (first !== undefined && second !== undefined) match(architecture, first, second)
  for (const attention of later) copy(architecture, attention)
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
function lookBack(architecture: Architecture, { queries, keys }: Attention): void {
  const { head_dim: headDim } = architecture
  const pairs = headDim / 2
  const constant = Math.sqrt(queries.columns / 2) // normalized: it has as much of a token's square as all else together
  const size = Math.sqrt(sharpness * Math.sqrt(headDim)) / constant
  for (const { values, columns } of [queries, keys]) values.fill(0, 0, headDim * columns)
  for (const [pair, angle] of rotarySpeeds(architecture).entries()) {
    queries.values[pair * queries.columns] = size
    keys.values[pair * keys.columns] = size * Math.cos(angle)
    keys.values[(pair + pairs) * keys.columns] = size * Math.sin(angle)
  }
}

/**
 * The first head of the first layer notes the token before in as many directions as there are places that turn slowly. The first head
 * of the second layer finds it: its keys are what was noted, its queries what would be noted of the token at hand.
 */
function match(
  architecture: Architecture,
  { values, output }: Attention,
  { queries, keys }: Attention,
): void {
  const { head_dim: headDim } = architecture
  const width = values.columns
  const pairs = headDim / 2
  const slowPairs = rotarySpeeds(architecture)
    .flatMap((speed, pair) => (speed < 1 / reach ? [pair] : []))
    .slice(-Math.floor((width - 1) / 4)) // of four directions each, besides the constant
  const slow = slowPairs.flatMap((pair) => [pair, pair + pairs])
  const columnOf = (place: number): Float32Array =>
    Float32Array.from({ length: width }, (_, channel) => output.values[channel * output.columns + place] ?? 0)
  const directions = orthonormal([
    ...slow.map((place) => values.values.slice(place * width, (place + 1) * width)),
    ...slow.map(columnOf),
  ])
  const size = Math.sqrt((sharpness * Math.sqrt(headDim)) / productOfMatch(width, slow.length))
  for (const { values: rows } of [values, queries]) rows.fill(0, 0, headDim * width)
  for (const [at, place] of slow.entries())
    for (let channel = 0; channel < width; channel++) {
      const read = directions[at]?.[channel] ?? 0
      const written = directions[slow.length + at]?.[channel] ?? 0
      values.values[place * width + channel] = read
      output.values[channel * output.columns + place] = noted * written
      queries.values[place * width + channel] = size * read
      keys.values[place * width + channel] = size * written
    }
}

/** Directions at right angles (Gram and Schmidt): what is written in some is not read in others. */
function orthonormal(vectors: readonly Float32Array[]): readonly Float32Array[] {
  const done: Float32Array[] = []
  for (const vector of vectors) {
    let rest = vector
    for (const other of done) {
      const shared = rest.reduce((sum, x, at) => sum + x * (other[at] ?? 0), 0)
      rest = rest.map((x, at) => x - shared * (other[at] ?? 0))
    }
    const length = Math.hypot(...rest)
    done.push(rest.map((x) => x / length))
  }
  return done
}

/**
 * The second layer's reading of a token times its reading of the note of that token, in so many directions: a direction has half a
 * channel's square of a normalized token, whose other half is the constant.
 */
function productOfMatch(width: number, directions: number): number {
  const token = Math.SQRT2 * constantOf(width)
  const sum = token ** 2 + (noted ** 2 * directions) / 2
  return (Math.sqrt(width) * token * noted * directions) / (2 * sum)
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

/** Channel 0 of an embedding. */
function constantOf(width: number): number {
  return embeddingScale * embeddingDeviation * Math.sqrt(width)
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
