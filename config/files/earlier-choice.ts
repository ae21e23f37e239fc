/**
 * Configurations of builds before 0.1.0, which chose the advantage and the policy loss of a run apart.
 *
 * Invariants
 * - [EARLIER-CHOICE-1] The algorithm that has both takes their place: the run learns the same. A pair that no algorithm has is reported.
 */
import { isAlgorithmName } from '../../learning/algorithms/algorithms.ts'

/** The choices of a configuration; current where `learning` has neither key. */
interface EarlierChoices {
  readonly learning?: { readonly advantage?: string; readonly objective?: string }
  readonly tasks: readonly { readonly objective?: string }[]
}

/** The configuration with an algorithm in the place of the two; a pair that none has becomes its loss, to be shown. */
export function withAlgorithm<Config extends object>(config: Config): Config {
  const { learning, tasks } = config as Config & EarlierChoices
  if (learning === undefined || !isEarlier(learning)) return config
  const { advantage, objective, ...others } = learning
  return {
    ...config,
    tasks: tasks.map((task) => (task.objective === 'clipped' ? { ...task, objective: 'grpo' } : task)),
    learning: { ...others, algorithm: algorithmOf(learning) },
  }
}

/** Keys of choices that nothing has replaced. */
export function choicesWithout(config: object): readonly string[] {
  const { learning, tasks } = config as EarlierChoices
  if (learning === undefined || !isEarlier(learning)) return []
  const { advantage = 'grpo', objective = 'clipped' } = learning
  const isWhole = advantage === 'grpo' || objective === 'clipped' || objective === 'imitation'
  const own = tasks.flatMap((task, index) =>
    isAlgorithmName(task.objective ?? 'grpo') || task.objective === 'clipped'
      ? []
      : [`tasks.${index}.objective`],
  )
  if (isWhole && isAlgorithmName(algorithmOf(learning))) return own
  return [objective === 'clipped' ? 'learning.advantage' : 'learning.objective', ...own]
}

type EarlierLearning = NonNullable<EarlierChoices['learning']>

function isEarlier({ advantage, objective }: EarlierLearning): boolean {
  return advantage !== undefined || objective !== undefined
}

function algorithmOf({ advantage = 'grpo', objective = 'clipped' }: EarlierLearning): string {
  return objective === 'clipped' ? advantage : objective
}
