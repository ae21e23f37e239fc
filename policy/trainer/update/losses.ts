/**
 * The losses of an update: those that come with Perdure by name, those of modules loaded.
 *
 * Invariants
 * - [LOSSES-1] A module that cannot be used, or whose loss throws or gives no finite numbers, is a `bad_loss`, and no update is made.
 * - [LOSSES-2] A token whose loss the objective does not list is refused.
 */
import { z } from 'zod'
import { reasonOf } from '../../../faults/reason.ts'
import { policyLosses } from '../../../learning/algorithms/algorithms.ts'
import {
  type CustomLoss,
  customTokenLoss,
  type LossSettings,
  type LossToken,
} from '../../../learning/loss/custom-loss.ts'
import type { TokenLoss } from '../../../learning/loss/objective.ts'
import { ExternalFault, importOnly } from '../../../machine/modules/external-module.ts'
import type { UpdateBatch } from '../batch.ts'
import { type LossChoice, type ObjectiveSettings, type Trainer, TrainerFault } from '../trainer.ts'

/** A loss as it is computed. */
interface Loss {
  /** @param tokens [time] of one episode @returns [time] */
  readonly lossesOf: (tokens: readonly LossToken[], settings: LossSettings) => readonly TokenLoss[]
  /** Whether the graph computes it by itself. */
  readonly isInGraph: boolean
  /** Whether tokens are weighed by their importance where the objective is decoupled; a custom loss sees both policies and weighs as it will. */
  readonly isWeighed: boolean
}

/** The losses of a batch's tokens. */
export interface Losses {
  /** The loss of a token, by its place in the batch. */
  readonly of: (source: number) => Loss
  /** The graph computes all of them by itself. */
  readonly areInGraph: boolean
}

const lossSchema = z.looseObject({
  name: z.string().min(1),
  lossOf: z.custom<CustomLoss['lossOf']>((value) => typeof value === 'function', 'expected a function'),
})

/** The loss that a module exports. @param path absolute @throws ExternalFault */
export async function importLoss(path: string): Promise<CustomLoss> {
  return (await importOnly(path, {
    words: { one: 'loss', several: 'losses' },
    keys: ['lossOf'],
    written: 'export const loss: CustomLoss = …',
    schema: lossSchema,
  })) as CustomLoss
}

/** @throws TrainerFault `bad_loss`, `bad_batch` */
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
  return {
    of: (source) => listed[batch.losses?.[source] ?? 0]!,
    areInGraph: listed.every(({ isInGraph }) => isInGraph),
  }
}

async function loaded(choice: LossChoice): Promise<Loss> {
  if (typeof choice === 'string') {
    const { lossesOf, isInGraph } = policyLosses[choice]
    // The losses that come with Perdure know one policy that ratios are to.
    const toProximal = (token: LossToken) => ({ ...token, behaviourLogprob: token.proximalLogprob })
    return {
      lossesOf: (tokens, settings) => lossesOf(tokens.map(toProximal), settings),
      isInGraph,
      isWeighed: true,
    }
  }
  const { module, name } = choice
  const faultOf = (cause: unknown, words: string) => new TrainerFault('bad_loss', words, { cause })
  const own = await importLoss(module).catch((cause: unknown) => {
    throw cause instanceof ExternalFault ? faultOf(cause, cause.message) : cause
  })
  const lossOf = (token: LossToken, settings: LossSettings) => {
    try {
      return customTokenLoss(own, token, settings)
    } catch (cause) {
      throw faultOf(cause, `the loss "${name}" of ${module} fails: ${reasonOf(cause)}`)
    }
  }
  return {
    lossesOf: (tokens, settings) => tokens.map((token) => lossOf(token, settings)),
    isInGraph: false,
    isWeighed: false,
  }
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

/** Whether a trainer has to say that it can do them: a custom one, or several in one batch. */
function needOffer(losses: readonly LossChoice[]): boolean {
  return losses.length > 1 || losses.some((loss) => typeof loss !== 'string')
}

/** @param offered names that the trainer gives @throws TrainerFault `unsupported` for a loss that it has to offer and does not */
export function refuseUnoffered(losses: readonly LossChoice[], offered: readonly string[]): void {
  for (const loss of needOffer(losses) ? losses : []) {
    const name = typeof loss === 'string' ? loss : loss.name
    if (!offered.includes(name))
      throw new TrainerFault(
        'unsupported',
        `the trainer's program does not offer the loss "${name}"${typeof loss === 'string' ? ' beside others in one batch' : ` of ${loss.module}`}: it lists ${offered.join(', ') || 'none'} as \`losses\` in its answer to \`hello\`; have it list the name, or train with policy.trainer: embedded`,
      )
  }
}
