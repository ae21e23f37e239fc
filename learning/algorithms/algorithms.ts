/**
 * The algorithms by name, and the losses of theirs that trainers know.
 *
 * Invariants
 * - Each name leads to one algorithm; any other name is that of a module (`custom-algorithm.ts`).
 * - A task without an objective of its own has the loss of the run's algorithm. Imitation alone has no policy loss, for any task.
 * - The losses stand in the order in which the tasks name them first, each once.
 */
import type { Algorithm } from './algorithm.ts'
import { drGrpo } from './dr-grpo.ts'
import { grpo } from './grpo.ts'
import { imitatesAlone, imitation } from './imitation.ts'
import { cispo } from './losses/cispo.ts'
import { dgg } from './losses/dgg.ts'
import { distillation } from './losses/distillation.ts'
import { epo } from './losses/epo.ts'
import { gspo } from './losses/gspo.ts'
import { reinforcePp } from './reinforce-pp.ts'
import { rloo } from './rloo.ts'
import { critic } from './turns/critic.ts'
import { gagpo } from './turns/gagpo.ts'
import { graphGpo } from './turns/graph-gpo.ts'
import { hgpo } from './turns/hgpo.ts'
import { turnPpo } from './turns/turn-ppo.ts'

/** All algorithms by their names in the configuration. */
export const algorithms = {
  ...{ grpo, dr_grpo: drGrpo, rloo, reinforce_pp: reinforcePp, gspo, cispo, dgg, epo },
  ...{ hgpo, graph_gpo: graphGpo, gagpo, critic, turn_ppo: turnPpo },
  ...{ distillation, imitation },
}
export type AlgorithmName = keyof typeof algorithms
export const algorithmNames = Object.keys(algorithms) as AlgorithmName[]

/** The part of an algorithm that trainers compute: the loss of tokens, their entropy bonus, the steps that they leave out, and values. */
export type TrainedPart = Pick<Algorithm, 'loss' | 'rejects' | 'smoothsEntropy' | 'valueTargetsOf'>

/** An algorithm with each of these losses, by the name in the contract of trainers. */
export const policyLosses = {
  ...{ clipped: grpo, cispo, gspo, dgg, epo, distillation },
  turn_ppo: turnPpo,
} satisfies Readonly<Record<string, TrainedPart>>
export type PolicyLoss = keyof typeof policyLosses

/** True for an algorithm that comes with Perdure. */
export function isAlgorithmName(name: string): name is AlgorithmName {
  return Object.hasOwn(algorithms, name)
}

/** True for a loss that comes with Perdure. */
export function isPolicyLoss(name: string): name is PolicyLoss {
  return Object.hasOwn(policyLosses, name)
}

/** The name of a loss that trainers know, for an algorithm that leaves out the same steps; undefined for any other. */
export function lossName(part: TrainedPart): PolicyLoss | undefined {
  const traits = ({ smoothsEntropy = false, valueTargetsOf }: TrainedPart) =>
    `${smoothsEntropy} ${valueTargetsOf !== undefined}`
  return (Object.keys(policyLosses) as PolicyLoss[]).find((name) => {
    const known: TrainedPart = policyLosses[name]
    return known.loss === part.loss && known.rejects === part.rejects && traits(known) === traits(part)
  })
}

/** Names as in the configuration. */
interface LossChoices {
  readonly learning: { readonly algorithm: string }
  readonly tasks: readonly { readonly task: string; readonly objective?: string | undefined }[]
}

/**
 * The losses that tokens of a run are learnt by: names, and paths of modules.
 * @example chosenLosses({ learning: { algorithm: 'rloo' }, tasks: [{ task: 'db', objective: 'gspo' }, { task: 'os' }] })
 * // ['gspo', 'clipped']
 */
export function chosenLosses(choice: LossChoices): readonly string[] {
  return [...new Set(choice.tasks.map(({ task }) => lossOfTask(choice, task)))]
}

/** The loss of a task. */
export function lossOfTask({ learning, tasks }: LossChoices, name: string): string {
  const own = tasks.find(({ task }) => task === name)?.objective
  const algorithm = own === undefined || imitatesAlone(learning) ? learning.algorithm : own
  return isAlgorithmName(algorithm) ? (lossName(algorithms[algorithm]) ?? algorithm) : algorithm
}
