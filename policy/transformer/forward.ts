/**
 * The Llama decoder over whole sequences, as a differentiable graph: RMSNorm, rotary embedding,
 * grouped-query causal attention, SwiGLU.
 *
 * Invariants
 * - Weights are inputs named as in Hugging Face's files and laid out `[out, in]`.
 * - Hidden states come back only for the rows asked for, and the last layer's output projection and
 *   feed-forward part are computed for these rows alone.
 * - Sequences are padded on the right; padding changes no other token's result.
 */
import type { Graph, Value } from '../graph/graph.ts'
import { biased, distinctRows, linear, reshape, rmsNorm, swiGlu, transpose } from '../graph/operations.ts'
import { type Architecture, hasBiases, hasHeadNorms, weightSpecs } from './architecture.ts'
import { type AttentionShape, attention, causalMasks } from './attention.ts'
import { type RotaryInputs, rotate } from './rope.ts'

/** Inputs of a forward pass and what it gives. */
export interface Forward {
  /** Weight inputs by name. */
  readonly weights: ReadonlyMap<string, Value>
  /** [batch · time, hidden] the embedded tokens, whose gradient the caller adds to the embedding's rows. */
  readonly embedded: Value
  /** [rows, hidden] normalized hidden states of the chosen rows. */
  readonly hidden: Value
  /** [vocabulary, hidden] the matrix that turns hidden states into logits. */
  readonly head: Value
}

/** Time is padded to a multiple of this: every number of attention blocks divides it. */
export const timeMultiple = 16

/**
 * Adds the decoder to a graph with these inputs: `tokens` int64 [batch, time]; `rows` int64 [rows],
 * distinct indices into batch · time; `mask` [time, time], which `causalLimits` gives; `cosines`, `sines`, `negative_sines`
 * [positions, headDim / 2]; and the weights.
 * @param differentiate whether gradients of the weights are wanted
 * @param blocks attention blocks: 1, 2, 4 or 8
 */
export function forward(
  graph: Graph,
  architecture: Architecture,
  differentiate: boolean,
  blocks: number,
): Forward {
  const { hidden_size: width, head_dim: headDim, num_hidden_layers: layers } = architecture
  const tokens = graph.input('tokens', ['batch', 'time'], { type: 'int64' })
  const rows = graph.input('rows', ['rows'], { type: 'int64' })
  const mask = graph.input('mask', ['time', 'time'])
  const tables: RotaryInputs = {
    cosines: graph.input('cosines', ['positions', headDim / 2]),
    sines: graph.input('sines', ['positions', headDim / 2]),
    negativeSines: graph.input('negative_sines', ['positions', headDim / 2]),
  }
  const weights = new Map(
    weightSpecs(architecture).map(({ name, shape }) => [name, graph.input(name, shape, { differentiate })]),
  )
  const weight = (name: string): Value => weights.get(name) as Value
  const embedding = weight('model.embed_tokens.weight')

  const flat = graph.operation('Reshape', [tokens, graph.integers(-1)], ['tokens'], { type: 'int64' })
  const embedded = graph.operation('Gather', [embedding, flat], ['tokens', width], {
    attributes: { axis: 0 },
  })
  // A token that occurs twice would make the scatter race (its result depends on the threads), so the
  // rows' gradient leaves the graph here.
  graph.record([embedded], [embedding], () => [undefined])

  const context: LayerContext = {
    graph,
    architecture,
    weight,
    tables,
    batchTime: graph.operation('Shape', [tokens], [2], { type: 'int64' }),
    masks: causalMasks(graph, mask, blocks),
    shape: {
      heads: architecture.num_attention_heads,
      keyValueHeads: architecture.num_key_value_heads,
      headDim,
      blocks,
    },
  }
  let x = embedded
  for (let layer = 0; layer < layers; layer++) {
    const at = `model.layers.${layer}`
    let attended = selfAttention(context, at, x)
    if (layer === layers - 1) {
      attended = distinctRows(graph, attended, rows)
      x = distinctRows(graph, x, rows)
    }
    x = linear(graph, attended, weight(`${at}.self_attn.o_proj.weight`), x)
    x = feedForward(context, at, x)
  }
  const hidden = rmsNorm(graph, x, weight('model.norm.weight'), architecture.rms_norm_eps)
  const head = architecture.tie_word_embeddings ? embedding : weight('lm_head.weight')
  return { weights, embedded, hidden, head }
}

interface LayerContext {
  readonly graph: Graph
  readonly architecture: Architecture
  readonly weight: (name: string) => Value
  readonly tables: RotaryInputs
  /** int64 [2]: batch, time. */
  readonly batchTime: Value
  readonly masks: ReturnType<typeof causalMasks>
  readonly shape: AttentionShape
}

/** Everything of self-attention but its output projection: [tokens, hidden] → [tokens, heads · headDim]. */
function selfAttention(context: LayerContext, at: string, x: Value): Value {
  const { graph, architecture, weight, tables, masks, shape } = context
  const { heads, keyValueHeads, headDim } = shape
  const normal = rmsNorm(graph, x, weight(`${at}.input_layernorm.weight`), architecture.rms_norm_eps)
  const project = (name: string): Value => {
    const y = linear(graph, normal, weight(`${at}.self_attn.${name}.weight`))
    return hasBiases(architecture) ? biased(graph, y, weight(`${at}.self_attn.${name}.bias`)) : y
  }
  const ofHeads = (name: 'q' | 'k', count: number): Value => {
    const y = project(`${name}_proj`)
    return hasHeadNorms(architecture)
      ? headNorm(context, y, weight(`${at}.self_attn.${name}_norm.weight`), count)
      : y
  }
  const perHead = (y: Value, count: number): Value =>
    transpose(
      graph,
      reshape(
        graph,
        y,
        graph.integers(0, 0, count, headDim),
        ['batch', 'time', count, headDim],
        graph.integers(0, 0, count * headDim),
      ),
      [0, 2, 1, 3], // [batch, heads, time, headDim]
    )
  const turned = (y: Value, count: number): Value => rotate(graph, y, tables, count)
  const q = perHead(turned(sequences(context, ofHeads('q', heads), heads), heads), heads)
  const k = perHead(
    turned(sequences(context, ofHeads('k', keyValueHeads), keyValueHeads), keyValueHeads),
    keyValueHeads,
  )
  const v = perHead(sequences(context, project('v_proj'), keyValueHeads), keyValueHeads)
  const attended = transpose(graph, attention(graph, q, k, v, masks, shape), [0, 2, 1, 3])
  const width = heads * headDim
  return reshape(
    graph,
    attended, // [batch, time, heads, headDim]
    graph.integers(-1, width),
    ['tokens', width],
    batchTimeBy(context, heads, headDim),
  )
}

/** The norm of each head by itself: [tokens, heads · headDim], as it came. */
function headNorm({ graph, architecture, shape }: LayerContext, x: Value, w: Value, heads: number): Value {
  const { headDim } = shape
  const narrow = graph.integers(-1, headDim)
  const wide = graph.integers(-1, heads * headDim)
  const apart = reshape(graph, x, narrow, [`heads_of_${heads}`, headDim], wide)
  const normal = rmsNorm(graph, apart, w, architecture.rms_norm_eps)
  return reshape(graph, normal, wide, x.dims, narrow)
}

/** [tokens, heads · headDim] → [batch, time, heads · headDim] */
function sequences(context: LayerContext, x: Value, heads: number): Value {
  const width = heads * context.shape.headDim
  return reshape(
    context.graph,
    x,
    batchTimeBy(context, width),
    ['batch', 'time', width],
    context.graph.integers(-1, width),
  )
}

/** int64 vector: batch, time, then the given sizes. */
function batchTimeBy({ graph, batchTime }: LayerContext, ...sizes: readonly number[]): Value {
  return graph.operation('Concat', [batchTime, graph.integers(...sizes)], [2 + sizes.length], {
    attributes: { axis: 0 },
    type: 'int64',
  })
}

/** x + down(silu(gate(n)) · up(n)) with n = norm(x). */
function feedForward({ graph, architecture, weight }: LayerContext, at: string, x: Value): Value {
  const normal = rmsNorm(graph, x, weight(`${at}.post_attention_layernorm.weight`), architecture.rms_norm_eps)
  const gate = linear(graph, normal, weight(`${at}.mlp.gate_proj.weight`))
  const up = linear(graph, normal, weight(`${at}.mlp.up_proj.weight`))
  return linear(graph, swiGlu(graph, gate, up), weight(`${at}.mlp.down_proj.weight`), x)
}
