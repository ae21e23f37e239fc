/**
 * The algorithms by name, and the parts of them that a configuration chooses apart.
 *
 * Invariants
 * - Each name of an advantage or a policy loss leads to one algorithm; any other name is that of a custom module.
 * - A task without an objective of its own has that of the run. Imitation alone has no policy loss, for any task.
 * - The losses stand in the order in which the tasks name them first, each once.
 */
import type { Algorithm, SequenceLoss } from './algorithm.ts'
import { cispo } from './cispo.ts'
import { drGrpo } from './dr-grpo.ts'
import { grpo } from './grpo.ts'
import { gspo } from './gspo.ts'
import { imitatesAlone } from './imitation.ts'
import { reinforcePp } from './reinforce-pp.ts'
import { rloo } from './rloo.ts'

/** All algorithms by name; a configuration chooses the advantage and the loss of one apart. */
export const algorithms = {
  grpo,
  dr_grpo: drGrpo,
  rloo,
  reinforce_pp: reinforcePp,
  cispo,
  gspo,
} as const satisfies Record<string, Algorithm>

/** Algorithms whose advantages `learning.advantage` names; the others have those of `grpo`. */
export const advantageNames = ['grpo', 'dr_grpo', 'rloo', 'reinforce_pp'] as const
export type AdvantageName = (typeof advantageNames)[number]

/** Policy losses by the names of `learning.objective`; `clipped` is that of all algorithms but two. */
export const policyLosses = {
  clipped: grpo.loss,
  cispo: cispo.loss,
  gspo: gspo.loss,
} as const satisfies Record<string, SequenceLoss>
export type PolicyLoss = keyof typeof policyLosses

/** The names for `learning.objective`, beside a custom module. */
export const objectiveNames = [...(Object.keys(policyLosses) as PolicyLoss[]), 'imitation'] as const

/** True for an advantage that comes with Perdure; any other name is that of a module (`custom-advantage.ts`). */
export function isAdvantageName(name: string): name is AdvantageName {
  return (advantageNames as readonly string[]).includes(name)
}

/** True for a loss that comes with Perdure; any other name is that of a module (`custom-loss.ts`). */
export function isPolicyLoss(name: string): name is PolicyLoss {
  return Object.hasOwn(policyLosses, name)
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
