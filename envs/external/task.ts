/**
 * A task whose environment was given in short form.
 *
 * Invariants
 * - A tool is given the state that `start` of the same definition returned.
 */
import type { z } from 'zod'
import type { Task, TaskOptions } from '../contract/environment.ts'
import { instanceIn } from '../contract/indexed-splits.ts'
import { ToolSession } from '../contract/tool-session.ts'
import { type RuleParts, rulesOf } from './defined-rules.ts'
import type { DefinedEnvironment, DefinedTool, FirstWords, ParametersByTool, ToolsOf } from './definition.ts'
import { type ExpertTurn, playExpert } from './expert-play.ts'
import { openInstances } from './instances.ts'

/** A short form whose tools are made. */
type Definition<
  State extends FirstWords,
  Parameters extends ParametersByTool,
  Item,
  Settings extends z.ZodObject,
> = Omit<DefinedEnvironment<State, Parameters, Item, Settings>, 'tools' | 'turnLimit'> & {
  readonly tools: ToolsOf<State, ParametersByTool>
  readonly turnLimit: number
}

/** Opens the task. @throws EnvironmentFault `bad_settings`, `bad_data` */
export async function openDefinedTask<
  State extends FirstWords,
  Parameters extends ParametersByTool,
  Item,
  Settings extends z.ZodObject,
>(
  name: string,
  definition: Definition<State, Parameters, Item, Settings>,
  options: TaskOptions,
): Promise<Task> {
  const { splits, startOf } = await openInstances(name, definition, options)
  const { expert, turnLimit } = definition
  const rules = rulesOf({
    name,
    tools: definition.tools as unknown as Readonly<Record<string, DefinedTool<FirstWords>>>,
    start: async (instance, ask) => definition.start(startOf(instance, ask)),
    answer: definition.answer as RuleParts['answer'],
    state: definition.state as RuleParts['state'],
    close: definition.close as RuleParts['close'],
  })
  return {
    splits,
    instanceAt: (split, index) => instanceIn(name, splits, split, index),
    create: async (ask) => new ToolSession(rules, ask),
    ...(expert === undefined
      ? {}
      : {
          demonstrate: (instance) => {
            const session = new ToolSession(rules)
            const begin = () => expert(session.play as State) as Iterator<ExpertTurn, void, string>
            return playExpert(session, instance, begin, turnLimit)
          },
        }),
    close: async () => undefined,
  }
}
