/**
 * One update: gradients of the objective over a batch or its minibatches, a step of the optimizer for each, the next
 * checkpoint.
 *
 * Invariants
 * - Loss and gradient are means over all counted tokens of the batch, by the weights that it gives them; the other
 *   statistics count all alike. How it is cut into micro-batches changes nothing.
 * - [UPDATE-FIGURES-1] Origins and the figures of tokens are those before the first step, whatever the steps change: how far the
 *   update itself has moved by the time a step reads its tokens is `drift` alone.
 * - Everything but `seconds` is a function of batch, checkpoints and settings.
 */
import { regularized, tokenLoss } from '../../../learning/loss/objective.ts'
import {
  noTokenFigures,
  type TokenFigure,
  type TrainedToken,
  tokenRows,
} from '../../../learning/run/metrics.ts'
import { trainerRows } from '../../../learning/run/trainer-figures.ts'
import type { ProximalBatch, UpdateBatch } from '../batch.ts'
import { finishedResult } from '../foreign/finished-result.ts'
import { type Statistics, statisticsSchema } from '../foreign/stored-statistics.ts'
import type { GradientSum } from '../graphs/gradient-sum.ts'
import type { TokenResults } from '../graphs/graph-sessions.ts'
import type { PolicyGraphs } from '../graphs/policy-graphs.ts'
import type { FrozenPolicy, PolicyMemory } from '../graphs/policy-memory.ts'
import {
  type ObjectiveSettings,
  TrainerFault,
  type UpdateRequest,
  type UpdateStatistics,
} from '../trainer.ts'
import { type Losses, lossesOf } from './losses.ts'
import { type MicroBatch, microBatches, sampledRows } from './micro-batch.ts'
import { type Division, divided, endsAt } from './minibatches.ts'
import { graphKind, objectiveFeeds, type TokenFacts } from './objective-feeds.ts'
import { originsOf } from './origins.ts'
import { aroundStart } from './proximal.ts'
import { type OtherPolicies, type Surrogate, surrogateOf } from './surrogate.ts'
import { addFigures, driftFrom, noFigures, type TokenFigures, writeTokenFigures } from './token-figures.ts'
import { readTrainingBatch } from './training-batch.ts'
import type { TrainingPolicy } from './training-policy.ts'
import { fittedTo } from './turn-values.ts'

/** The graphs and the memory of a trainer, beside its request. */
export interface TrainerContext {
  readonly graphs: PolicyGraphs
  readonly memory: PolicyMemory
}

export type Progress = (done: number, total: number) => void

/** Runs an update, or finds its result. @throws TrainerFault, CheckpointFault, RuntimeFault */
export async function runUpdate(
  { graphs, memory }: TrainerContext,
  request: UpdateRequest,
  onProgress: Progress,
): Promise<UpdateStatistics> {
  const start = performance.now()
  const seconds = (): number => (performance.now() - start) / 1000
  const { toCheckpointDir, version, objective, optimizer } = request
  const finished = await finishedResult(toCheckpointDir, version, statisticsSchema)
  if (finished !== undefined) return { ...finished, seconds: seconds() }
  const policy = await memory.take(request.fromCheckpointDir, objective.kind)
  const batch = await readTrainingBatch(request.batchFile, policy.architecture)
  const losses = objective.kind === 'policy' ? await lossesOf(objective, batch) : undefined
  const reference = await referenceOf(memory, request, policy, losses?.readReference === true)
  policy.valueHead = await fittedTo(graphs, policy, batch, request.microBatchTokens)
  const atStart = noFigures(batch.tokens.length)
  const { division = whole } = request
  const passes = divided(await decoupled(graphs, policy, batch, request, atStart), division)
  const [firstPass = []] = passes
  const isPolicy = objective.kind === 'policy'
  const steps: Step[] = []
  let earlierNorms: readonly number[] = []
  const count = passes.reduce((sum, pass) => sum + pass.length, 0)
  for (const [before, minibatch] of passes.flat().entries()) {
    let drift = 0
    const isMeasured = before > 0 || objective.decoupled !== undefined
    const means = await batchGradient(graphs, policy, reference, minibatch, request, {
      ...(isMeasured ? { atStart } : {}),
      onProgress: (done, total) => onProgress(before * total + done, count * total),
      onResult: (micro, result) => {
        if (before === 0) addFigures(atStart, minibatch, micro, result)
        else if (isPolicy) drift += driftFrom(atStart, minibatch, micro, result)
      },
    })
    // A gradient run has measured the first minibatch; the others change with the step.
    if (before === 0 && isPolicy && objective.decoupled === undefined)
      for (const other of firstPass.slice(1)) await measureStart(graphs, policy, other, request, atStart)
    const figures = { ...means, drift: drift / Math.max(1, means.actionTokens) }
    const rest = count - before
    let rejected = endsAt(division, figures.drift) ? rest : 0
    const { learningRate } = optimizer
    const gradientNorm = await policy.step(
      graphs,
      optimizer,
      learningRate,
      request.gradientLimit,
      (norm, headNorm) => {
        const step = {
          ...figures,
          gradientNorm: norm,
          headNorm,
          earlierNorms,
          pass: Math.floor(before / firstPass.length),
        }
        const rejection = rejected === 0 && losses?.reject?.(step)
        if (rejection) rejected = rejection === 'rest' ? rest : 1
        earlierNorms = [...earlierNorms, headNorm]
        return rejected > 0
      },
    )
    const mayReject = losses?.reject !== undefined || division.targetKl !== undefined
    steps.push({ ...figures, gradientNorm, ...(mayReject ? { rejected } : {}) })
    if (rejected === rest) break
  }
  policy.checkWeights()
  const statistics: Step & Pick<Statistics, 'origins'> = {
    ...statisticsOf(steps, firstPass),
    origins: isPolicy ? originsOf(batch, atStart) : [],
  }
  // Before the version is published: a result that is found later is not computed again.
  if (request.tokenFile !== undefined && isPolicy) await writeTokenFigures(request.tokenFile, atStart)
  if (await policy.publish(toCheckpointDir, version, { statistics }))
    await memory.put(toCheckpointDir, policy)
  return { ...statistics, seconds: seconds() }
}

/** Adds the figures of a batch's tokens under the policy that the update starts from. */
async function measureStart(
  graphs: PolicyGraphs,
  policy: FrozenPolicy,
  batch: ProximalBatch,
  { objective, microBatchTokens }: Pick<UpdateRequest, 'objective' | 'microBatchTokens'>,
  atStart: TokenFigures,
): Promise<void> {
  const micros = microBatches(batch, graphs.tokenLimit(policy.architecture, microBatchTokens))
  const results = await evaluate(graphs, policy, micros, objective.temperature)
  for (const [index, result] of results.entries()) addFigures(atStart, batch, micros[index]!, result)
}

/** The batch with ratios to the policy that the update starts from, where the objective is decoupled; then it is measured too. */
async function decoupled(
  graphs: PolicyGraphs,
  policy: FrozenPolicy,
  batch: UpdateBatch,
  request: UpdateRequest,
  atStart: TokenFigures,
): Promise<ProximalBatch> {
  const { objective } = request
  if (objective.kind === 'supervised' || objective.decoupled === undefined) return batch
  await measureStart(graphs, policy, batch, request, atStart)
  return aroundStart(batch, atStart, { limit: objective.decoupled.importanceLimit })
}

/** Figures of one optimizer step. */
type Step = Omit<Statistics, 'origins' | 'drift' | 'rejected'> & {
  readonly drift: number
  readonly rejected?: number
}

/** One optimizer step for the whole batch. */
const whole: Division = { minibatches: 1, passes: 1, seed: 0 }

/**
 * Statistics of an update from those of the steps that it computed: means over all tokens of all steps, the norm over steps, rejected ones
 * together. Tokens are those of the first pass.
 */
function statisticsOf(steps: readonly Step[], firstPass: readonly ProximalBatch[]): Step {
  const [only] = steps
  if (only !== undefined && steps.length === 1) return only
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const seen = Math.max(1, sum(steps.map(({ actionTokens }) => actionTokens)))
  const mean = (figureOf: (step: Step) => number) =>
    sum(steps.map((step) => figureOf(step) * step.actionTokens)) / seen
  const figures = trainerRows.flatMap(([figure]) =>
    figure === 'rejected' ? [] : [[figure, mean((step) => step[figure] ?? 0)]],
  )
  return {
    ...only,
    ...Object.fromEntries(figures),
    ...(only?.rejected === undefined ? {} : { rejected: sum(steps.map((step) => step.rejected ?? 0)) }),
    gradientNorm: sum(steps.map(({ gradientNorm }) => gradientNorm)) / steps.length,
    actionTokens: sum(firstPass.map(({ lossMask }) => lossMask.reduce((total, counts) => total + counts, 0))),
    tokens: sum(firstPass.map(({ tokens }) => tokens.length)),
  }
}

async function referenceOf(
  memory: PolicyMemory,
  { objective, referenceCheckpointDir }: UpdateRequest,
  policy: TrainingPolicy,
  isRead: boolean,
): Promise<FrozenPolicy | undefined> {
  if (objective.kind === 'supervised' || (objective.klCoefficient === 0 && !isRead)) return undefined
  if (referenceCheckpointDir === undefined)
    throw new TrainerFault(
      'bad_checkpoint',
      `klCoefficient is ${objective.klCoefficient}${isRead ? ' and the loss reads the reference' : ''}, but no reference checkpoint is given: name one, or set it to 0`,
    )
  const reference = await memory.frozen(referenceCheckpointDir)
  if (reference.architecture.vocab_size !== policy.architecture.vocab_size)
    throw new TrainerFault(
      'bad_checkpoint',
      `the reference ${referenceCheckpointDir} has ${reference.architecture.vocab_size} tokens, the policy ${policy.architecture.vocab_size}`,
    )
  return reference
}

/** Called while a gradient is computed. */
interface GradientWatch {
  readonly onProgress?: Progress
  /** Figures of the whole batch under the policy that the update starts from; absent: it is the policy itself. */
  readonly atStart?: TokenFigures
  /** With what the graph gave for each micro-batch. */
  readonly onResult?: (micro: MicroBatch, result: TokenResults) => void
}

/**
 * Sums the gradient of the batch's mean objective into the policy's `gradient`.
 * @returns means over the counted tokens
 * @throws TrainerFault `bad_batch` without counted tokens
 */
export async function batchGradient(
  graphs: PolicyGraphs,
  policy: FrozenPolicy & { readonly gradient: GradientSum },
  reference: FrozenPolicy | undefined,
  batch: ProximalBatch,
  { objective, microBatchTokens }: Pick<UpdateRequest, 'objective' | 'microBatchTokens'>,
  { onProgress, onResult, atStart }: GradientWatch = {},
): Promise<Omit<Step, 'drift' | 'gradientNorm'>> {
  const micros = microBatches(batch, graphs.tokenLimit(policy.architecture, microBatchTokens))
  const actionTokens = micros.reduce((sum, micro) => sum + sampledRows(batch, micro).length, 0)
  if (micros.length === 0)
    throw new TrainerFault('bad_batch', 'the batch has no counted token, so there is nothing to learn from')
  const totals: Totals = { loss: 0, ...noTokenFigures }
  const weightOf = (source: number): number => batch.weights?.[source] ?? 1 / actionTokens
  const references =
    reference === undefined ? [] : await evaluate(graphs, reference, micros, objective.temperature)
  const losses = objective.kind === 'policy' ? await lossesOf(objective, batch) : undefined
  const surrogate = await surrogateFor(graphs, policy, batch, micros, {
    losses,
    objective,
    references,
    atStart,
  })
  const smooths = (source: number): boolean => losses?.smooths(source) === true
  const factsOf = (index: number): TokenFacts => {
    return { batch, weightOf, smooths, referenceLogprobs: references[index]?.logprobs }
  }
  const works = micros.map((micro, index) => {
    const own = surrogate && { parts: surrogate.parts, logprobs: surrogate.logprobs[index]! }
    return { micro, objective: objectiveFeeds(objective, micro, factsOf(index), own) }
  })
  let done = 0
  const results = await graphs.run(policy, graphKind(objective), works, policy.gradient, () =>
    onProgress?.(++done, works.length),
  )
  for (const [index, result] of results.entries()) {
    const micro = micros[index] as MicroBatch
    addStatistics(totals, objective, factsOf(index), micro, result, surrogate?.parts)
    onResult?.(micro, result)
  }
  // A minibatch may hold only episodes that are imitated and were not sampled.
  const mean = (sum: number): number => (actionTokens === 0 ? 0 : sum / actionTokens)
  return {
    ...totals,
    ...Object.fromEntries(tokenRows.map(([figure]) => [figure, mean(totals[figure])])),
    actionTokens,
    tokens: batch.tokens.length,
  }
}

/** Logprobs and entropies of each micro-batch's counted tokens, without a gradient. */
export function evaluate(
  graphs: PolicyGraphs,
  policy: FrozenPolicy,
  micros: readonly MicroBatch[],
  temperature: number,
): Promise<readonly TokenResults[]> {
  const objective = { vectors: {}, numbers: { inverse_temperature: 1 / temperature } }
  const works = micros.map((micro) => ({ micro, objective }))
  return graphs.run(policy, 'logprobs', works)
}

/** The tokens under the rules of their losses; undefined where all have the loss that the graph has itself. */
async function surrogateFor(
  graphs: PolicyGraphs,
  policy: FrozenPolicy,
  batch: ProximalBatch,
  micros: readonly MicroBatch[],
  {
    losses,
    objective,
    ...others
  }: { readonly losses: Losses | undefined; readonly objective: ObjectiveSettings } & OtherPolicies,
): Promise<Surrogate | undefined> {
  if (losses === undefined || losses.areInGraph) return undefined
  const results = await evaluate(graphs, policy, micros, objective.temperature)
  return surrogateOf(losses, batch, micros, results, objective, others)
}

function addStatistics(
  totals: Totals,
  objective: ObjectiveSettings,
  { batch, weightOf, smooths, referenceLogprobs }: TokenFacts,
  micro: MicroBatch,
  { logprobs, entropy }: TokenResults,
  parts: Surrogate['parts'] | undefined,
): void {
  if (objective.kind === 'policy')
    for (const [row, source] of micro.sources.entries())
      totals.loss -= (batch.imitation?.[source] ?? 0) * logprobs[row]!
  for (const [row, source] of sampledRows(batch, micro)) {
    const logprob = logprobs[row]!
    if (objective.kind === 'supervised') {
      totals.loss -= weightOf(source) * logprob
      addToken(totals, { logprob, entropy: entropy[row]!, isClipped: false })
      continue
    }
    const behaviourLogprob = batch.behaviourLogprobs[source]!
    const referenceLogprob = referenceLogprobs?.[row]
    const token = {
      logprob,
      behaviourLogprob: batch.proximalLogprobs?.[source] ?? behaviourLogprob,
      advantage: batch.advantages[source]!,
      entropy: entropy[row]!,
      isSmoothed: smooths(source),
      ...(referenceLogprob === undefined ? {} : { referenceLogprob }),
    }
    const part = parts?.get(source)
    const { loss, clipped } =
      part === undefined ? tokenLoss(token, objective) : regularized(part, token, objective)
    totals.loss += weightOf(source) * loss
    addToken(totals, { ...token, behaviourLogprob, isClipped: clipped === true })
  }
}

/** Sums over the tokens of a batch. */
type Totals = Record<'loss' | TokenFigure, number>

function addToken(totals: Totals, token: TrainedToken): void {
  for (const [figure, ofToken] of tokenRows) totals[figure] += ofToken(token)
}
