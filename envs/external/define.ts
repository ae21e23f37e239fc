/**
 * Defining an environment in a few lines: what an episode starts from, and tools with typed arguments.
 *
 * Invariants
 * - An instance's randomness comes from its name alone: the same instance and actions give the same bytes.
 * - An option that is left out has a default, which its description gives; a definition that cannot work is refused.
 */
import type { z } from 'zod'
import type { EnvironmentDefinition } from '../contract/environment.ts'
import type { DefinedEnvironment, FirstWords, ParametersByTool, ToolAnswer, ToolsOf } from './definition.ts'
import { statedFacts } from './stated-facts.ts'
import { openDefinedTask } from './task.ts'

/** Longer than a game of a few questions, shorter than what a small context holds. */
const defaultTurnLimit = 10

/**
 * An environment from its short form.
 * @param name small letters, digits, `-` and `_`, at most 40
 * @throws RangeError a name, turn limit or tool that cannot be used
 * @example
 * defineEnvironment('echo', {
 *   start: () => ({ prompt: 'Say yes.' }),
 *   tools: (tool) => ({
 *     say: tool({ description: 'Says a word.', parameters: z.object({ word: z.string() }),
 *       run: ({ word }) => (word === 'yes' ? win('Right.') : 'Say yes.') }),
 *   }),
 * })
 */
export function defineEnvironment<
  State extends FirstWords,
  Parameters extends ParametersByTool,
  Item = undefined,
  Settings extends z.ZodObject = z.ZodObject<Record<never, never>>,
>(name: string, definition: DefinedEnvironment<State, Parameters, Item, Settings>): EnvironmentDefinition {
  const { notReplayableBecause } = definition
  const facts = statedFacts(name, definition, { turnLimit: defaultTurnLimit, reward: 'what its tools pay' })
  const tools = toolsOf(definition)
  for (const [tool, { parameters }] of Object.entries(tools))
    if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(tool) || parameters._zod?.def.type !== 'object')
      throw new RangeError(
        `the tool "${tool}" of ${name} cannot be used: its name is of letters, digits, "_" and "-", its parameters are a z.object`,
      )
  return {
    ...facts,
    replayable: notReplayableBecause === undefined,
    replayableBecause: notReplayableBecause ?? 'its randomness comes from the name of the instance',
    open: (options) => openDefinedTask(name, { ...definition, tools, turnLimit: facts.turnLimit }, options),
  }
}

// A function makes the tools so that the compiler knows the state, from `start`, before it reads them.
function toolsOf<State extends FirstWords>({
  tools,
}: Pick<DefinedEnvironment<State, ParametersByTool, unknown, z.ZodObject>, 'tools'>): ToolsOf<
  State,
  ParametersByTool
> {
  return tools?.((tool) => tool) ?? {}
}

/** The episode is won: the reply, the full reward, the end. */
export function win(reply: string): ToolAnswer {
  return { reply, reward: 1, done: true }
}
