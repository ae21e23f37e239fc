/**
 * Graphs of training: log-probabilities of chosen tokens, alone or with the gradient of an objective
 * in every weight.
 *
 * With z = logits / temperature of the ids that have a token (`masked-logits.ts`), logp = log softmax(z)[target], r = exp(logp − behaviour), A the advantage,
 * an action token's loss is
 *   L = max(−A r, −A clip(r, 1 − clipLow, 1 + clipHigh)), at most −dualClip · A where A < 0,
 *       + klCoefficient · boundedK3(ref − logp) − entropyCoefficient · (H − pull · d),
 * with H = H(softmax z) and d its distance from the bounds of entropy, where they are given
 * (arXiv 2510.04206; dual clip: arXiv 1912.09729; `boundedK3`: `learning/loss/objective.ts`), and −logp in
 * the supervised objective. The graph's gradient is that of Σ weight · L with a weight of each token, 1 / (all counted
 * tokens of the batch) where all are alike, so that micro-batches only have to be added. A policy objective may imitate tokens
 * besides: then Σ imitation · (−logp) is part of it.
 *
 * Invariants
 * - The gradient is that of the loss of `learning/loss/objective.ts`, which the trainer reports.
 * - A ratio beyond e^±20 acts as e^±20, so no gradient overflows.
 */
import { k3Knee } from '../../learning/loss/objective.ts'
import { gradients } from '../graph/differentiation.ts'
import { Graph, type Value } from '../graph/graph.ts'
import { linear, logProbabilities, scale } from '../graph/operations.ts'
import type { Architecture } from './architecture.ts'
import { forward } from './forward.ts'
import { maskedLogits } from './masked-logits.ts'

/**
 * The kind of a graph: `hidden` gives hidden states alone and `logprobs` log-probabilities, without a gradient; `policy` and `policy_with_entropy` the clipped objective
 * without and with entropy bonus; `supervised` the negative log-likelihood.
 */
export type GraphKind = 'hidden' | 'logprobs' | 'supervised' | 'policy' | 'policy_with_entropy'

/** Largest |log ratio|. */
export const logRatioLimit = 20

/** Name of the output that holds a weight's gradient. */
export function gradientName(weight: string): string {
  return `gradient.${weight}`
}

/** Name of the output with the gradient of the embedded tokens, [batch · time, hidden]. */
export const embeddedGradientName = 'gradient.embedded'

/**
 * The ONNX bytes of a graph. Its inputs are those of `forward` and `targets` int64 [rows],
 * `inverse_temperature` []; `weights` [rows] for gradients; for policies `behaviour`, `advantages`,
 * `reference`, `imitation` [rows] and the objective's numbers [] `clip_floor`, `clip_ceiling`, `dual_clip`,
 * `kl_coefficient`; with an entropy bonus `entropy_coefficient`, `entropy_low`, `entropy_high` [] and `entropy_pull` [rows]. Its outputs are `logprobs`, `entropy` [rows], and the gradients.
 */
export function objectiveGraph(architecture: Architecture, kind: GraphKind, blocks: number): Uint8Array {
  const graph = new Graph()
  const { logprobs, entropy, gradients: ofWeights, embedded } = objective(graph, architecture, kind, blocks)
  graph.output('logprobs', logprobs)
  graph.output('entropy', entropy)
  for (const [name, gradient] of ofWeights) graph.output(gradientName(name), gradient)
  if (embedded !== undefined) graph.output(embeddedGradientName, embedded)
  return graph.encode()
}

/** The outputs of an objective for a micro-batch. */
export interface Objective {
  /** [rows] */
  readonly logprobs: Value
  /** [rows] */
  readonly entropy: Value
  /** By weight; an untied embedding takes part through the embedded tokens alone, and has none. */
  readonly gradients: ReadonlyMap<string, Value>
  /** [tokens, hidden] gradient of the embedded tokens; kinds with gradients have it */
  readonly embedded: Value | undefined
}

/**
 * Adds an objective to a graph, with the inputs that `objectiveGraph` lists.
 * @param begun by weight: what its gradient is added to
 */
export function objective(
  graph: Graph,
  architecture: Architecture,
  kind: GraphKind,
  blocks: number,
  begun: ReadonlyMap<string, Value> = new Map(),
): Objective {
  const {
    weights: parameters,
    embedded,
    hidden,
    head,
  } = forward(graph, architecture, kind !== 'logprobs', blocks)
  const targets = graph.input('targets', ['rows'], { type: 'int64' })
  // Scaling the hidden states costs less than scaling the logits.
  const scaled = scale(graph, hidden, graph.input('inverse_temperature', []))
  const logits = maskedLogits(graph, linear(graph, scaled, head), architecture)
  const { chosen, entropy } = logProbabilities(graph, logits, targets)
  if (kind === 'logprobs') return { logprobs: chosen, entropy, gradients: new Map(), embedded: undefined }

  const seeds: [Value, Value][] = []
  const weights = graph.input('weights', chosen.dims)
  if (kind === 'supervised') {
    seeds.push([chosen, graph.operation('Neg', [weights], chosen.dims)])
  } else {
    seeds.push([chosen, policySlope(graph, chosen, weights)])
    if (kind === 'policy_with_entropy') {
      seeds.push([entropy, entropySlope(graph, entropy, weights)])
    }
  }
  const gradientOf = gradients(graph, seeds, begun)
  const found = new Map<string, Value>()
  for (const [name, value] of parameters)
    if (name !== 'model.embed_tokens.weight' || value === head) found.set(name, gradientOf(value))
  return { logprobs: chosen, entropy, gradients: found, embedded: gradientOf(embedded) }
}

/** Derivative of weight · L in each entropy H: −entropyCoefficient, times 1 + pull below the bounds and 1 − pull above them. */
function entropySlope(graph: Graph, entropy: Value, weights: Value): Value {
  const { dims } = entropy
  const op = (operator: string, ...inputs: readonly Value[]): Value => graph.operation(operator, inputs, dims)
  const test = (operator: string, bound: string): Value =>
    graph.operation(
      'Cast',
      [graph.operation(operator, [entropy, graph.input(bound, [])], dims, { type: 'bool' })],
      dims,
      { attributes: { to: 1 } },
    )
  const outside = op('Sub', test('Less', 'entropy_low'), test('Greater', 'entropy_high'))
  const pulled = op('Add', op('Mul', graph.input('entropy_pull', dims), outside), graph.scalar(1))
  const descent = graph.operation('Neg', [graph.input('entropy_coefficient', [])], [])
  return op('Mul', op('Mul', weights, descent), pulled)
}

/**
 * Derivative of weight · L − imitation · logp in each logp: of L it is −A r where neither clip holds, and
 * β (1 − min(exp(ref − logp), 2)).
 */
function policySlope(graph: Graph, logprobs: Value, weights: Value): Value {
  const { dims } = logprobs
  const behaviour = graph.input('behaviour', dims)
  const advantages = graph.input('advantages', dims)
  const reference = graph.input('reference', dims)
  const imitation = graph.input('imitation', dims)
  const bounds = ['clip_floor', 'clip_ceiling', 'dual_clip', 'kl_coefficient'] as const
  const [floor, ceiling, dual, beta] = bounds.map((name) => graph.input(name, [])) as [
    Value,
    Value,
    Value,
    Value,
  ]
  const op = (operator: string, ...inputs: readonly Value[]): Value => graph.operation(operator, inputs, dims)
  const limited = (difference: Value, most = logRatioLimit): Value =>
    op('Clip', difference, graph.scalar(-logRatioLimit), graph.scalar(most))
  const test = (operator: string, a: Value, b: Value): Value =>
    graph.operation(operator, [a, b], dims, { type: 'bool' })

  const ratio = op('Exp', limited(op('Sub', logprobs, behaviour)))
  const gain = op('Mul', ratio, advantages) // −A r is the loss
  const clippedGain = op('Mul', op('Clip', ratio, floor, ceiling), advantages)
  const unclipped = test('LessOrEqual', gain, clippedGain)
  // For A < 0 the loss −A r reaches its bound −dualClip · A where A r falls below dualClip · A; for A ≥ 0
  // the bound −dualClip · |A| lies below any gain.
  const bound = op('Neg', op('Mul', op('Abs', advantages), dual))
  const unbounded = test('GreaterOrEqual', gain, bound)
  const active = graph.operation(
    'Cast',
    [graph.operation('And', [unclipped, unbounded], dims, { type: 'bool' })],
    dims,
    { attributes: { to: 1 } },
  )
  const policy = op('Neg', op('Mul', gain, active))
  const drift = op('Exp', limited(op('Sub', reference, logprobs), k3Knee))
  const divergence = op('Mul', op('Sub', graph.scalar(1), drift), beta)
  return op('Sub', op('Mul', op('Add', policy, divergence), weights), imitation)
}
