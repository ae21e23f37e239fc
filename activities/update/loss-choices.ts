/**
 * The losses of a configuration, as a trainer is asked for them.
 *
 * Invariants
 * - A loss that comes with Perdure is asked for by its name, also where an algorithm of a module has it that takes every step: any
 *   trainer knows it.
 */
import {
  chosenLosses,
  isPolicyLoss,
  lossName,
  policyLosses,
  type TrainedPart,
} from '../../learning/algorithms/algorithms.ts'
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

/**
 * The needs of the losses: the reference policy whatever its divergence counts, bounds of the entropy.
 * @throws ExternalFault
 */
export async function lossNeeds(
  choices: readonly LossChoice[],
): Promise<{ readonly readsReference: boolean; readonly smoothsEntropy: boolean }> {
  const parts: TrainedPart[] = await Promise.all(
    choices.map(async (choice) =>
      typeof choice === 'string' ? policyLosses[choice] : await importAlgorithm(choice.module),
    ),
  )
  return {
    readsReference: parts.some(({ loss }) => loss.readsReference === true),
    smoothsEntropy: parts.some(({ smoothsEntropy }) => smoothsEntropy === true),
  }
}
