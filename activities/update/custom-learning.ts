/**
 * Custom advantages and losses of a configuration, loaded from their modules.
 *
 * Invariants
 * - A module is loaded once in a thread, and named where it cannot be used. Its results are checked each time.
 */
import {
  type AdvantageName,
  chosenLosses,
  isAdvantageName,
  isPolicyLoss,
} from '../../learning/algorithms/algorithms.ts'
import { advantageGroup, type BatchGroup } from '../../learning/algorithms/batch-plan.ts'
import type { CheckedAdvantage } from '../../learning/algorithms/custom-advantage.ts'
import type { LossChoice } from '../../policy/trainer/trainer.ts'
import { importLoss } from '../../policy/trainer/update/losses.ts'
import { moduleAdvantages } from './advantage-thread.ts'

/**
 * The rule that `learning.advantage` names: that of an algorithm, or the values that a module computes for these groups.
 * @throws ExternalFault
 */
export async function advantageOf(
  name: string,
  groups: readonly BatchGroup[],
): Promise<AdvantageName | CheckedAdvantage> {
  if (isAdvantageName(name)) return name
  const asked = groups.map(advantageGroup)
  const found = await moduleAdvantages(name, asked)
  // It is a function of the group alone, so equal groups have equal advantages.
  const byGroup = new Map(asked.map((group, index) => [JSON.stringify(group), found[index]]))
  return (group) => {
    const advantages = byGroup.get(JSON.stringify(group))
    if (advantages === undefined)
      throw new RangeError(`the group of ${group.task} is none of those that were asked about`)
    return advantages
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
