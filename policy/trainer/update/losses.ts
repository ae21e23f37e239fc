/**
 * The losses of an update: those that come with Perdure by name, those of modules loaded.
 *
 * Invariants
 * - [LOSSES-1] A module that cannot be used, or whose loss throws or gives no finite numbers, is named, and no update is made.
 * - [LOSSES-2] A token whose loss the objective does not list is refused.
 */
import type { Rejection, SequenceLoss, StepFigures } from '../../../learning/algorithms/algorithm.ts'
import { policyLosses, type TrainedPart } from '../../../learning/algorithms/algorithms.ts'
import { importAlgorithm } from '../algorithm-module.ts'
import type { UpdateBatch } from '../batch.ts'
import { type LossChoice, type ObjectiveSettings, type Trainer, TrainerFault } from '../trainer.ts'

/** The losses of a batch's tokens. */
export interface Losses {
  /** The loss of a token, by its place in the batch. */
  readonly of: (source: number) => SequenceLoss
  /** The graph computes all of them by itself (`objective-graph.ts`); others take one more run without a gradient. */
  readonly areInGraph: boolean
  readonly readReference: boolean
  /** Whether the entropy of a token is kept within the bounds of the objective, by its place in the batch. */
  readonly smooths: (source: number) => boolean
  /** Whether one of their algorithms rejects an optimizer step; absent where none ever does. */
  readonly reject?: (step: StepFigures) => Rejection
}

/** @throws TrainerFault `bad_batch`, ExternalFault */
export async function lossesOf(
  { loss = 'clipped', losses }: Pick<ObjectiveSettings, 'loss' | 'losses'>,
  batch: Pick<UpdateBatch, 'losses'>,
): Promise<Losses> {
  const listed = await Promise.all((losses ?? [loss]).map(loaded))
  const highest = batch.losses?.reduce((most, index) => Math.max(most, index), 0) ?? 0
  if (highest >= listed.length || (batch.losses === undefined && listed.length > 1))
    throw new TrainerFault(
      'bad_batch',
      `the objective has ${listed.length} losses, and the batch ${batch.losses === undefined ? 'does not say which token has which' : `a token of number ${highest}`}`,
    )
  const rejecting = listed.flatMap(({ rejects }) => rejects ?? [])
  const partOf = (source: number) => listed[batch.losses?.[source] ?? 0]!
  return {
    of: (source) => partOf(source).loss,
    smooths: (source) => partOf(source).smoothsEntropy === true,
    areInGraph: listed.every(({ loss }) => loss === policyLosses.clipped.loss),
    readReference: listed.some(({ loss }) => loss.readsReference === true),
    ...(rejecting.length === 0 ? {} : { reject: (step) => strictest(rejecting.map((each) => each(step))) }),
  }
}

function strictest(rejections: readonly Rejection[]): Rejection {
  return rejections.find((each) => each === 'rest') ?? rejections.includes(true)
}

async function loaded(choice: LossChoice): Promise<TrainedPart> {
  return typeof choice === 'string' ? policyLosses[choice] : await importAlgorithm(choice.module)
}

/**
 * Refuses, before anything is trained, losses that a trainer does not offer. A trainer that answers is one that can be started.
 * @throws TrainerFault `unsupported`, and whatever kept it from starting
 */
export async function checkOffer(
  losses: readonly LossChoice[],
  trainer: Pick<Trainer, 'losses'>,
): Promise<void> {
  if (trainer.losses !== undefined) refuseUnoffered(losses, await trainer.losses())
}

/** The losses that each trainer does, one in a batch. */
const required: readonly LossChoice[] = ['clipped', 'cispo', 'gspo']

/** Whether a trainer has to say that it can do them: another one, or several in one batch. */
function needOffer(losses: readonly LossChoice[]): boolean {
  return losses.length > 1 || losses.some((loss) => !required.includes(loss))
}

/** @param offered names that the trainer gives @throws TrainerFault `unsupported` for a loss that it has to offer and does not */
export function refuseUnoffered(losses: readonly LossChoice[], offered: readonly string[]): void {
  for (const loss of needOffer(losses) ? losses : []) {
    const name = typeof loss === 'string' ? loss : loss.name
    if (!offered.includes(name))
      throw new TrainerFault(
        'unsupported',
        `the trainer's program does not offer the loss "${name}"${typeof loss !== 'string' ? ` of ${loss.module}` : losses.length > 1 ? ' beside others in one batch' : ''}: it lists ${offered.join(', ') || 'none'} as \`losses\` in its answer to \`hello\`; have it list the name, or train with policy.trainer: embedded`,
      )
  }
}
