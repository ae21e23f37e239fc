/**
 * The short form of an environment: what its author writes.
 *
 * Invariants
 * - Everything but `start` may be left out.
 * - It comes from the names of environment and instance alone, never from a clock or a process.
 */
import type { z } from 'zod'
import { seedOf, uniforms } from '../../identity/identity.ts'
import type { DeclaredMetrics } from '../../learning/evaluation/measure.ts'
import type { JsonObject } from '../../messages/message.ts'
import type { InstanceId } from '../contract/environment.ts'
import type { Ask, AskedRole } from '../contract/question.ts'

/** The answer to a call: a text that the agent reads. A text alone lets the episode continue. */
export type ToolAnswer =
  | string
  | {
      readonly reply: string
      /** Paid for this call, 0 by default; an episode that is paid 1 in sum is a success. */
      readonly reward?: number
      /** True ends the episode. */
      readonly done?: boolean
      /** Facts for readers of a replay; the agent does not see them. */
      readonly info?: JsonObject
    }

/** A function that the agent may call; its name is the key under which it is. */
export interface DefinedTool<State, Parameters extends z.ZodObject = z.ZodObject> {
  readonly description: string
  /** The arguments; the agent reads them as a JSON schema. */
  readonly parameters: Parameters
  /** Carries out a call whose arguments have passed; what it throws is no fault of the agent. */
  run(given: z.output<Parameters>, state: State, ask: Ask): ToolAnswer | Promise<ToolAnswer>
}

/** Makes a tool for episodes of this state. */
export type ToolMaker<State> = <Parameters extends z.ZodObject>(
  tool: DefinedTool<State, Parameters>,
) => DefinedTool<State, Parameters>

/** The tools of an environment by name. */
export type ToolsOf<State, Parameters extends ParametersByTool> = {
  readonly [Name in keyof Parameters]: DefinedTool<State, Parameters[Name]>
}

/** The circumstances in which an episode starts. */
export interface EpisodeStart<Item, Settings> {
  readonly instance: InstanceId
  readonly split: string
  /** Position in the split. */
  readonly index: number
  /** The entry of the split's list; undefined where splits are sizes. */
  readonly item: Item
  readonly settings: Settings
  readonly random: InstanceRandom
  readonly ask: Ask
}

/** The messages before the agent's first turn. Whatever else `start` returns is the state of the episode. */
export interface FirstWords {
  /** The first message of the user. */
  readonly prompt: string
  readonly system?: string
  /** The kind of the problem: experiments report differences by it. */
  readonly kind?: string
}

/** Instances by split: how many there are, or a list of them. */
export type DefinedSplits<Item> = Readonly<Record<string, number>> | Readonly<Record<string, readonly Item[]>>

/** Inputs that splits may depend on. */
export interface SplitSource<Settings> {
  /** Folder that the user names as `data`. */
  readonly dataDir: string | undefined
  readonly settings: Settings
}

/** The arguments of tools by name. */
export type ParametersByTool = Readonly<Record<string, z.ZodObject>>

/** Calls by tool, e.g. `{ guess: { number: 7 } }`. */
export type Calls<Parameters extends ParametersByTool> = {
  readonly [Name in keyof Parameters]?: z.input<Parameters[Name]>
}

/** The instances of an environment of a user's own, and its settings. */
export interface DefinedInstances<Item, Settings extends z.ZodObject> {
  /** Endless `train` and `test` by default; a function, which may read files, is asked when the task is opened. */
  readonly splits?:
    | DefinedSplits<Item>
    | ((source: SplitSource<z.output<Settings>>) => DefinedSplits<Item> | Promise<DefinedSplits<Item>>)
  /** Settings that a user may change; none by default. */
  readonly settings?: Settings
}

/** Statements of an environment about itself. */
export interface DefinedFacts {
  readonly summary?: string
  readonly source?: string
  readonly licence?: string
  /** The reward in words. */
  readonly reward?: string
  /** By name, numbers in the `info` of answers by which a policy may be measured; the last one of an episode counts. */
  readonly metrics?: DeclaredMetrics
  /** Models that it asks, by the `ask` that its functions are given: `judge`, `user`. */
  readonly asks?: readonly AskedRole[]
  /** Turns of an episode. */
  readonly turnLimit?: number
  /** Whether an episode that has played all its turns has completed; otherwise it hit a limit. */
  readonly turnLimitCompletes?: boolean
}

/** An environment in short form. */
export interface DefinedEnvironment<
  State extends FirstWords,
  Parameters extends ParametersByTool,
  Item,
  Settings extends z.ZodObject,
> extends DefinedFacts,
    DefinedInstances<Item, Settings> {
  /** Why playing the recorded actions again may not reach the same state; without a reason it does. */
  readonly notReplayableBecause?: string
  start(begin: EpisodeStart<Item, z.output<Settings>>): State | Promise<State>
  /** The tools by name, each made by the function that it is given, which knows the type of the state. */
  tools?(tool: ToolMaker<State>): ToolsOf<State, Parameters>
  /** Answers a message without a call; without it the agent is asked to call a tool. */
  answer?(content: string, state: State, ask: Ask): ToolAnswer | Promise<ToolAnswer>
  /**
   * Plays an instance as a good agent would, for the warm start: yields calls and is given the replies.
   * If it uses parts of the state that the agent has not seen, the policy learns to guess them.
   */
  expert?(state: State): Iterator<Calls<NoInfer<Parameters>>, void, string>
  /** Names the exact state, so that what was done in equal states can be compared: equal names, equal answers to every action. */
  state?(state: State): string
  /** Gives back what `start` opened. */
  close?(state: State): void | Promise<void>
}

/** Randomness of one instance. */
export interface InstanceRandom {
  /** In [0, 1). */
  uniform(): number
  /** A whole number, both ends included. @throws RangeError ends that are no whole numbers in order */
  int(low: number, high: number): number
  /** One entry. @throws RangeError an empty list */
  pick<Entry>(list: readonly Entry[]): Entry
}

/** The randomness of an instance of an environment. */
export function instanceRandom(name: string, instance: InstanceId): InstanceRandom {
  const uniform = uniforms(seedOf(0, name, instance))
  const int = (low: number, high: number): number => {
    if (!(Number.isSafeInteger(low) && Number.isSafeInteger(high) && low <= high))
      throw new RangeError(`random.int(${low}, ${high}): expected whole numbers, the lower one first`)
    return low + Math.floor(uniform() * (high - low + 1))
  }
  return {
    uniform,
    int,
    pick: (list) => {
      if (list.length === 0) throw new RangeError('random.pick of an empty list')
      return list[int(0, list.length - 1)] as (typeof list)[number]
    },
  }
}
