/**
 * Warm start: supervised steps over demonstrations.
 *
 * Invariants
 * - Step s takes the same demonstrations at the same learning rate whichever chunk holds it, so a warm
 *   start in one chunk and in four give the same weights.
 * - Every demonstration is seen once before any is seen again.
 * - [IMITATED-1] A demonstration counts by the weight of its tokens, what is read in it too; without weights all count alike.
 * - Reported losses are those of the actions, whatever weight they and observations have.
 */
import { seedOf, uniforms } from '../../../identity/identity.ts'
import { shuffled } from '../../../learning/rollout/shuffled.ts'
import type { UpdateBatch } from '../batch.ts'
import { finishedResult } from '../foreign/finished-result.ts'
import { warmStartStatisticsSchema } from '../foreign/stored-statistics.ts'
import type { TokenResults } from '../graphs/graph-sessions.ts'
import { TrainerFault, type WarmStartRequest, type WarmStartStatistics } from '../trainer.ts'
import { microBatches, spanOf } from './micro-batch.ts'
import { readTrainingBatch } from './training-batch.ts'
import type { TrainingPolicy } from './training-policy.ts'
import type { Progress, TrainerContext } from './update.ts'

/**
 * Runs a chunk of a warm start, or finds its result.
 * @throws TrainerFault, CheckpointFault, RuntimeFault; the reason of the signal, which ends it between two steps
 */
export async function runWarmStart(
  { graphs, memory }: TrainerContext,
  request: WarmStartRequest,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<WarmStartStatistics> {
  const start = performance.now()
  const { toCheckpointDir, version, firstStep, steps, planStart = 0, optimizer } = request
  const finished = await finishedResult(toCheckpointDir, version, warmStartStatisticsSchema)
  if (finished !== undefined) return { ...finished, seconds: (performance.now() - start) / 1000 }
  const policy = await memory.take(request.fromCheckpointDir, 'supervised')
  const batch = await readTrainingBatch(request.demonstrationsFile, policy.architecture)
  const plan = stepPlan(batch, request.batchTokens, request.seed, firstStep + steps - planStart)
  const totals = { loss: 0, lastLoss: 0, gradientNorm: 0, actionTokens: 0, tokens: 0 }
  for (let step = firstStep; step < firstStep + steps; step++) {
    signal.throwIfAborted()
    const { loss, actionTokens, tokens } = await imitate(
      graphs,
      policy,
      batch,
      plan[step - planStart] ?? [],
      request,
    )
    totals.gradientNorm = await policy.step(graphs, optimizer, learningRateAt(step, request))
    totals.loss += loss / steps
    totals.lastLoss = loss
    totals.actionTokens += actionTokens
    totals.tokens += tokens
    onProgress(step - firstStep + 1, steps)
  }
  if (await policy.publish(toCheckpointDir, version, { statistics: totals }))
    await memory.put(toCheckpointDir, policy)
  return { ...totals, seconds: (performance.now() - start) / 1000 }
}

/**
 * Sums the gradient of a step's mean loss into the policy's; a token that is read counts `observationWeight`, one that
 * is written 1, times the weight of its demonstration.
 * @returns the mean loss of the action tokens, their number, and how many tokens were fed, padding included
 */
async function imitate(
  graphs: TrainerContext['graphs'],
  policy: Pick<TrainingPolicy, 'architecture' | 'feeds' | 'gradient'>,
  batch: UpdateBatch,
  demonstrations: readonly number[],
  { microBatchTokens, observationWeight }: WarmStartRequest,
): Promise<Pick<WarmStartStatistics, 'loss' | 'actionTokens' | 'tokens'>> {
  const micros = microBatches(
    batch,
    graphs.tokenLimit(policy.architecture, microBatchTokens),
    demonstrations,
    observationWeight > 0 ? 'all' : 'learnt',
  )
  const isAction = (source: number): boolean => batch.lossMask[source] === 1
  const actionTokens = micros.reduce((sum, { sources }) => sum + sources.filter(isAction).length, 0)
  const demonstrated = demonstrationWeights(batch, demonstrations)
  const sums = { actions: 0, read: 0 }
  for (const { sources } of micros)
    for (const source of sources)
      sums[isAction(source) ? 'actions' : 'read'] += demonstrated[source] as number
  const whole = sums.actions + observationWeight * sums.read
  const works = micros.map((micro) => {
    const weights = Float32Array.from(
      micro.sources,
      (source) => ((isAction(source) ? 1 : observationWeight) * (demonstrated[source] as number)) / whole,
    )
    return { micro, objective: { vectors: { weights }, numbers: { inverse_temperature: 1 } } }
  })
  const results = await graphs.run(policy, 'supervised', works, policy.gradient)
  let loss = 0
  let tokens = 0
  for (const [index, { batch: rows, time, sources }] of micros.entries()) {
    const { logprobs } = results[index] as TokenResults
    for (const [row, source] of sources.entries())
      if (isAction(source)) loss -= (logprobs[row] as number) / actionTokens
    tokens += rows * time
  }
  return { loss, actionTokens, tokens }
}

/** [N] The weight of each token's demonstration: that of the actions in it, and 1 where the batch has no weights. */
function demonstrationWeights(
  { weights, lossMask, offsets }: UpdateBatch,
  demonstrations: readonly number[],
): Float64Array {
  const found = new Float64Array(lossMask.length).fill(1)
  if (weights === undefined) return found
  for (const demonstration of demonstrations) {
    const [begin, end] = [offsets[demonstration] as number, offsets[demonstration + 1] as number]
    found.fill(weights[lossMask.indexOf(1, begin)] as number, begin, end)
  }
  return found
}

/** Share of the peak at which the learning rate ends. */
const finalShare = 0.1

/**
 * Learning rate of a step: a line up to the peak over `warmUpSteps`, then half a cosine down to a tenth.
 * @example learningRateAt(0, { totalSteps: 10, warmUpSteps: 2, optimizer: { learningRate: 1 } }) // 0.5
 */
export function learningRateAt(
  step: number,
  {
    totalSteps,
    warmUpSteps,
    optimizer,
  }: Pick<WarmStartRequest, 'totalSteps' | 'warmUpSteps'> & {
    readonly optimizer: Pick<WarmStartRequest['optimizer'], 'learningRate'>
  },
): number {
  const peak = optimizer.learningRate
  if (step < warmUpSteps) return (peak * (step + 1)) / warmUpSteps
  const course = Math.min(1, (step - warmUpSteps) / Math.max(1, totalSteps - 1 - warmUpSteps))
  return peak * (finalShare + ((1 - finalShare) * (1 + Math.cos(Math.PI * course))) / 2)
}

/**
 * The demonstrations of each of the first `count` steps: shuffled again in every pass, taken until a step
 * holds `batchTokens` tokens.
 * @throws TrainerFault `bad_batch` when no demonstration has a counted token
 */
export function stepPlan(
  batch: Pick<UpdateBatch, 'offsets' | 'lossMask'>,
  batchTokens: number,
  seed: number,
  count: number,
): readonly (readonly number[])[] {
  const lengths = Array.from(
    { length: batch.offsets.length - 1 },
    (_, episode) => spanOf(batch, episode).length,
  )
  const useful = lengths.flatMap((length, episode) => (length > 0 ? [episode] : []))
  if (useful.length === 0)
    throw new TrainerFault(
      'bad_batch',
      'no demonstration has a counted token, so there is nothing to imitate: correct the expert, which won no instance that fits into the context, or leave the warm start out (`--set warmStart.demonstrations=0`)',
    )
  const plan: number[][] = []
  let current: number[] = []
  let held = 0
  for (let pass = 0; plan.length < count; pass++) {
    for (const episode of shuffled(useful, uniforms(seedOf(seed, 'demonstrations', pass)))) {
      current.push(episode)
      held += lengths[episode] as number
      if (held >= batchTokens) {
        plan.push(current)
        current = []
        held = 0
      }
    }
  }
  return plan.slice(0, count)
}
