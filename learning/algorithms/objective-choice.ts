/**
 * Which loss each task of a run is learnt by.
 *
 * Invariants
 * - A task without an objective of its own has that of the run. Imitation alone has no policy loss, for any task.
 * - The losses stand in the order in which the tasks name them first, each once.
 */

import { type PolicyLoss, policyLosses } from '../loss/objective.ts'
import { imitatesAlone } from './imitation.ts'

/** The names for `learning.objective`, beside a custom module. */
export const objectiveNames = [...policyLosses, 'imitation'] as const

/** True for a loss that comes with Perdure; any other name is that of a module (`custom-loss.ts`). */
export function isPolicyLoss(name: string): name is PolicyLoss {
  return (policyLosses as readonly string[]).includes(name)
}

/** Names as in the configuration. */
interface ObjectiveChoice {
  readonly learning: { readonly objective: string }
  readonly tasks: readonly { readonly task: string; readonly objective?: string | undefined }[]
}

/**
 * The losses that tokens of a run are learnt by.
 * @example chosenLosses({ learning: { objective: 'clipped' }, tasks: [{ task: 'db', objective: 'gspo' }, { task: 'os' }] })
 * // ['gspo', 'clipped']
 */
export function chosenLosses(choice: ObjectiveChoice): readonly string[] {
  return [...new Set(choice.tasks.map(({ task }) => lossOfTask(choice, task)))]
}

/** The loss of a task. */
export function lossOfTask({ learning, tasks }: ObjectiveChoice, name: string): string {
  // Nothing of a policy loss counts where won episodes alone are imitated.
  if (imitatesAlone(learning)) return 'clipped'
  return tasks.find(({ task }) => task === name)?.objective ?? learning.objective
}
