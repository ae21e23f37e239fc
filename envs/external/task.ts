/**
 * A task whose environment was given in short form.
 *
 * Invariants
 * - An instance is named `<split>/<index>`; every other name is an unknown instance.
 * - Settings that it does not know are refused by name, and so is a data folder that nothing reads.
 * - A demonstration is what the expert did in a session like any other, and it won.
 */
import { z } from 'zod'
import type { AssistantMessage, JsonObject, ToolCall } from '../../messages/message.ts'
import {
  type Demonstration,
  EnvironmentFault,
  type InstanceId,
  type Split,
  type Task,
  type TaskOptions,
} from '../contract/environment.ts'
import { instanceIn, placeOf } from '../contract/indexed-splits.ts'
import { settingsOf } from '../contract/task-settings.ts'
import { ToolSession } from '../contract/tool-session.ts'
import { type RuleParts, rulesOf } from './defined-rules.ts'
import {
  type DefinedEnvironment,
  type DefinedSplits,
  type DefinedTool,
  type FirstWords,
  instanceRandom,
  type ParametersByTool,
  type ToolsOf,
} from './definition.ts'

const endless: DefinedSplits<never> = { train: Number.POSITIVE_INFINITY, test: Number.POSITIVE_INFINITY }

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
  { dataDir, settings: given }: TaskOptions,
): Promise<Task> {
  const settings = readSettings(name, definition.settings, given)
  const listed = await splitsOf(name, definition, dataDir, settings)
  const splits = Object.entries(listed).map(([split, entries]) => sized(name, split, entries))
  // The state that a tool is given is the one that `start` of the same definition returned.
  const tools = definition.tools as unknown as Readonly<Record<string, DefinedTool<FirstWords>>>
  const rules = rulesOf({
    name,
    tools,
    start: async (instance, ask) => {
      const { split, index } = placeOf(splits, instance)
      const entries = listed[split]
      const item = (typeof entries === 'object' ? entries[index] : undefined) as Item
      return definition.start({
        instance,
        split,
        index,
        item,
        settings,
        random: instanceRandom(name, instance),
        ask,
      })
    },
    answer: definition.answer as RuleParts['answer'],
    state: definition.state as RuleParts['state'],
    close: definition.close as RuleParts['close'],
  })
  return {
    splits,
    instanceAt: (split, index) => instanceIn(name, splits, split, index),
    create: async (ask) => new ToolSession(rules, ask),
    ...(definition.expert === undefined
      ? {}
      : { demonstrate: (instance) => demonstrate(definition, new ToolSession(rules), instance) }),
    close: async () => undefined,
  }
}

function readSettings<Settings extends z.ZodObject>(
  name: string,
  schema: Settings | undefined,
  given: JsonObject | undefined,
): z.output<Settings> {
  const settings = schema ?? z.strictObject({})
  const strict = settings._zod.def.catchall === undefined ? settings.strict() : settings
  return settingsOf(name, strict, given) as z.output<Settings>
}

async function splitsOf<Item, Settings extends z.ZodObject>(
  name: string,
  { splits = endless }: Pick<DefinedEnvironment<never, never, Item, Settings>, 'splits'>,
  dataDir: string | undefined,
  settings: z.output<Settings>,
): Promise<DefinedSplits<Item>> {
  if (typeof splits === 'function') return splits({ dataDir, settings })
  if (dataDir !== undefined)
    throw new EnvironmentFault('bad_data', `${name} reads no data folder: leave \`data\` out`)
  return splits
}

function sized(name: string, split: string, entries: number | readonly unknown[]): Split {
  const size = typeof entries === 'number' ? entries : entries.length
  if (!(size >= 1 && (Number.isSafeInteger(size) || size === Number.POSITIVE_INFINITY)))
    throw new EnvironmentFault(
      'bad_data',
      `the split ${split} of ${name} has ${size} instances, expected a whole number from 1 on`,
    )
  return { name: split, size }
}

async function demonstrate<State extends FirstWords, Item, Settings extends z.ZodObject>(
  { expert, turnLimit }: Pick<Definition<State, ParametersByTool, Item, Settings>, 'expert' | 'turnLimit'>,
  session: ToolSession<FirstWords>,
  instance: InstanceId,
): Promise<Demonstration | undefined> {
  if (expert === undefined) return undefined
  try {
    await session.reset(instance)
    const play = expert(session.play as State)
    const actions: AssistantMessage[] = []
    let reward = 0
    let wish = play.next('')
    while (wish.done !== true && actions.length < turnLimit) {
      const action: AssistantMessage = { role: 'assistant', content: '', tool_calls: callsOf(wish.value) }
      actions.push(action)
      const step = await session.step(action)
      reward += step.reward
      if (step.outcome !== undefined)
        return step.outcome === 'completed' ? { instance, actions, reward } : undefined
      wish = play.next(step.messages.map(({ content }) => content).join('\n'))
    }
    return undefined
  } finally {
    await session.close()
  }
}

function callsOf(calls: Readonly<Record<string, unknown>>): readonly ToolCall[] {
  return Object.entries(calls).flatMap(([name, given]) =>
    given === undefined ? [] : [{ name, arguments: given as JsonObject }],
  )
}
