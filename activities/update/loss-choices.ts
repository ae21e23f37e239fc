/**
 * The losses of a configuration, as a trainer is asked for them.
 *
 * Invariants
 * - A loss that comes with Perdure is asked for by its name, also where an algorithm of a module has it that takes every step: any
 *   trainer knows it.
 */
import { chosenLosses, isPolicyLoss, lossName, policyLosses } from '../../learning/algorithms/algorithms.ts'
import { importAlgorithm } from '../../policy/trainer/algorithm-module.ts'
import type { LossChoice } from '../../policy/trainer/trainer.ts'

/** The losses of a run's tasks, in the order of `chosenLosses`. @throws ExternalFault */
export async function lossChoices(
  config: Parameters<typeof chosenLosses>[0],
): Promise<readonly LossChoice[]> {
  return await Promise.all(
    chosenLosses(config).map(async (chosen) => {
      if (isPolicyLoss(chosen)) return chosen
      const algorithm = await importAlgorithm(chosen)
      return lossName(algorithm) ?? { name: algorithm.name, module: chosen }
    }),
  )
}

/** Whether one of them reads the reference policy whatever its divergence counts. @throws ExternalFault */
export async function readReference(choices: readonly LossChoice[]): Promise<boolean> {
  for (const choice of choices) {
    const { loss } = typeof choice === 'string' ? policyLosses[choice] : await importAlgorithm(choice.module)
    if (loss.readsReference === true) return true
  }
  return false
}
