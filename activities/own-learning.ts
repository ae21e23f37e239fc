/**
 * What a configuration has of someone's own for learning: an advantage and losses, from modules.
 *
 * Invariants
 * - A module is loaded once in a process, and named where it cannot be used. What it gives is checked each time.
 */
import { z } from 'zod'
import { reasonOf } from '../faults/reason.ts'
import { type AdvantageEstimator, isAdvantageEstimator } from '../learning/advantage.ts'
import { chosenLosses, isPolicyLoss } from '../learning/objective-choice.ts'
import { type CheckedAdvantage, type OwnAdvantage, ownAdvantages } from '../learning/own-advantage.ts'
import { ExternalFault, importOnly } from '../machine/external-module.ts'
import { importLoss } from '../policy/trainer/losses.ts'
import type { LossChoice } from '../policy/trainer/trainer.ts'

const advantageSchema = z.looseObject({
  name: z.string().min(1),
  advantagesOf: z.custom<OwnAdvantage['advantagesOf']>(
    (value) => typeof value === 'function',
    'expected a function',
  ),
})

/** What `learning.advantage` names: an estimator, or the advantage that a module exports. @throws ExternalFault */
export async function advantageOf(name: string): Promise<AdvantageEstimator | CheckedAdvantage> {
  if (isAdvantageEstimator(name)) return name
  const own = (await importOnly(name, {
    words: { one: 'advantage', several: 'advantages' },
    keys: ['advantagesOf'],
    written: 'export const advantage: OwnAdvantage = …',
    schema: advantageSchema,
  })) as OwnAdvantage
  return (group) => {
    try {
      return ownAdvantages(own, group)
    } catch (cause) {
      throw new ExternalFault(
        'bad_result',
        `the advantage "${own.name}" of ${name} fails for a group of ${group.task}: ${reasonOf(cause)}`,
        { cause },
      )
    }
  }
}

/** The losses of a run's tasks, in the order of `chosenLosses`. @throws ExternalFault */
export async function lossChoices(
  config: Parameters<typeof chosenLosses>[0],
): Promise<readonly LossChoice[]> {
  return await Promise.all(
    chosenLosses(config).map(async (loss) =>
      isPolicyLoss(loss) ? loss : { name: (await importLoss(loss)).name, module: loss },
    ),
  )
}
