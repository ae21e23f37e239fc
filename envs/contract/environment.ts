/**
 * The contract of an environment: what a task must offer to be played, trained on and replayed.
 *
 * Invariants
 * - [ENVIRONMENT-1] The same instance and the same actions give the same messages, rewards, endings and states.
 * - [ENVIRONMENT-2] A tool call that names no tool or lacks arguments is answered as a message, never thrown.
 * - [ENVIRONMENT-3] A failure of the environment (lost container, missing data) is thrown as an EnvironmentFault.
 * - [REWARD-BOUNDS-1] A reward that is no finite number from −1e6 to 1e6 is refused by name before anything uses it: larger ones
 *   overflow what learning computes from them, and no task means them.
 * - [DECLARED-METRICS-1] A value in `info` under the name of a declared metric is a finite number, or is refused by name; the last one
 *   is the episode's.
 */
import { Fault } from '../../faults/fault.ts'
import type { DeclaredMetrics } from '../../learning/evaluation/measure.ts'
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import { largestReward } from '../../learning/evaluation/reward.ts'
import type { LeaseStore } from '../../machine/processes/lease.ts'
import type { AssistantMessage, JsonObject, Message, ToolSpec } from '../../messages/message.ts'
import type { Ask, AskedRole } from './question.ts'

/** Id of a problem within a task, e.g. a game's id. */
export type InstanceId = string

/** The first messages of an episode. */
export interface Observation {
  readonly messages: readonly Message[]
  /** The environment's own facts, per task as the contracts say. */
  readonly info: JsonObject
  /**
   * Names the state that the environment is in now, from environments that know it exactly: two turns of an instance with the same
   * name stand in the same state, so that every action does the same in both. Steps are compared by it (step groups).
   */
  readonly state?: string
  /** The value of each declared metric now; filled in by the task that watches the session. */
  readonly metrics?: Readonly<Record<string, number>>
}

/** The result of one action. */
export interface StepResult extends Observation {
  readonly reward: number
  readonly done: boolean
  /** Present exactly when `done`. */
  readonly outcome?: Outcome
  /** True when the action could not be used (no such tool, a missing argument, no call where one is needed). */
  readonly invalid?: boolean
}

/** One live session. Used by one episode at a time, strictly in sequence. */
export interface Environment {
  /** May change from turn to turn. */
  readonly tools: readonly ToolSpec[]
  /** Starts the instance afresh; may be called again. @throws EnvironmentFault for an unknown instance */
  reset(instance: InstanceId): Promise<Observation>
  step(action: AssistantMessage): Promise<StepResult>
  /** May be called twice. */
  close(): Promise<void>
}

/** Instances of one use: `train`, `valid_seen`, … `size` may be Infinity for generated ones. */
export interface Split {
  readonly name: string
  readonly size: number
}

/** A worked example: the actions of an expert. */
export interface Demonstration {
  readonly instance: InstanceId
  readonly actions: readonly AssistantMessage[]
  /** The sum that the actions earn; where it is absent, they win. */
  readonly reward?: number
  /** Positions of actions that show how to continue after a mistake: they are played, not imitated. */
  readonly mistakes?: readonly number[]
}

/** An expert that watches an episode which others play too, and says what it would do next. */
export interface Adviser {
  /** Takes in what a reset or a step gave. @param action what was done before; absent after a reset */
  see(observation: Observation, action?: AssistantMessage): void | Promise<void>
  /** Its action here, to be imitated; undefined where it sees no way on. */
  advise(): AssistantMessage | undefined | Promise<AssistantMessage | undefined>
}

/** A page that is being served; close it when it is no longer needed. */
export interface ServedPage {
  readonly url: string
  close(): Promise<void>
}

/** A task with its data opened; many sessions may be created from it. */
export interface Task {
  readonly splits: readonly Split[]
  /** Parts of the data that could not be used and are left out, each with its file. */
  readonly warnings?: readonly string[]
  /** Sets up on this machine what sessions need, as `create` does where it was not done before. @throws EnvironmentFault */
  prepare?(): Promise<void>
  /** The index-th instance of a split, index taken modulo its size. @throws EnvironmentFault unknown split */
  instanceAt(split: string, index: number): InstanceId
  /** @param ask asks the models that the configuration names; without it no model is asked */
  create(ask?: Ask): Promise<Environment>
  /**
   * Plays an instance with an expert that knows only what the agent has seen; undefined where there is none.
   * @param take how many demonstrations of the instance there are already, 0 by default; an expert that draws makes new draws for each
   */
  demonstrate?(instance: InstanceId, take?: number): Promise<Demonstration | undefined>
  /**
   * The actions of an agent that does nothing, from tasks whose every instance may be tried: `env check` has the expert earn 1 and these
   * earn 0, instance by instance.
   */
  readonly doNothing?: readonly AssistantMessage[]
  /** The same expert for one episode that the policy plays with it, so that its way on from the policy's mistakes can be imitated. */
  advise?(instance: InstanceId): Adviser
  /**
   * Lets a person play in a browser, on a page of this machine only.
   * @param instances the first one, and those that follow it
   * @param port      0 takes any free one
   */
  serve?(instances: Iterator<InstanceId, unknown>, port: number): Promise<ServedPage>
  close(): Promise<void>
}

/** Options for opening a task. */
export interface TaskOptions {
  /** Folder with official data; without it the built-in generator is used. */
  readonly dataDir?: string | undefined
  /** The task's own settings, validated by the task. */
  readonly settings?: JsonObject | undefined
  /** Where a task may set up things on demand and keep them, in a folder of its own name; made when needed. */
  readonly folder?: string | undefined
  /** Owners of what outlives a process; without them the task holds leases of its process. */
  readonly leases?: LeaseStore | undefined
  /** In replays: the task's own limits on turns do not hold, every action is played. */
  readonly unlimited?: boolean | undefined
}

/** A task as the registry lists it. */
export interface EnvironmentDefinition {
  readonly name: string
  readonly summary: string
  /** Where the official data comes from, and its licence. */
  readonly source: string
  readonly licence: string
  /** The reward in words. */
  readonly reward: string
  /** Whether playing the recorded actions again reaches the same state, and why. */
  readonly replayable: boolean
  readonly replayableBecause: string
  /** Turns of a training episode, unless configured otherwise. */
  readonly turnLimit: number
  /** Whether an episode that has played all its turns has completed, as a game over a fixed time does; otherwise it has not. */
  readonly turnLimitCompletes?: boolean
  /** Seconds after which a call of a session or an expert counts as hung, and its session as lost; 120 by default. */
  readonly stepTimeoutSeconds?: number
  /** Absolute paths of files and folders, beside its own module, that its answers follow from: a program, its scripts. */
  readonly sources?: readonly string[]
  /** By name, numbers in the `info` of its observations by which a policy may be measured. */
  readonly metrics?: DeclaredMetrics
  /** Models that its sessions ask: a configuration has to name them. */
  readonly asks?: readonly AskedRole[]
  open(options: TaskOptions): Promise<Task>
}

/**
 * An environment could not do its work; the agent is not to blame and no reward follows. `failed`: its code threw something else than
 * such a fault. `not_installed`: a package that this task alone needs is missing. `no_answer`: it took longer than it may. `none_playable`: every instance that was tried failed so.
 */
export class EnvironmentFault extends Fault<
  | 'unknown_instance'
  | 'unknown_split'
  | 'bad_data'
  | 'bad_settings'
  | 'not_installed'
  | 'session_lost'
  | 'not_replayable'
  | 'backend'
  | 'failed'
  | 'no_answer'
  | 'none_playable'
> {
  override readonly name = 'EnvironmentFault'
  protected static override readonly permanentKinds: readonly EnvironmentFault['kind'][] = [
    'unknown_instance',
    'unknown_split',
    'bad_data',
    'bad_settings',
    'not_installed',
    'not_replayable',
    'none_playable',
  ]
}

/** The metrics after an observation. @param before it; absent at the reset @throws EnvironmentFault `bad_data` */
export function metricsAfter(
  declared: DeclaredMetrics,
  { info }: Observation,
  before?: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const found = Object.entries(declared).map(([name, { otherwise = 0 }]) => {
    const value = info[name] ?? before?.[name] ?? otherwise
    if (typeof value === 'number' && Number.isFinite(value)) return [name, value] as const
    throw new EnvironmentFault('bad_data', `the metric ${name} is ${JSON.stringify(value)}: it is a number`)
  })
  return Object.fromEntries(found)
}

/** @param payer names the code that paid it @throws EnvironmentFault `bad_data`: trying again would pay the same */
export function checkReward(payer: string, reward: unknown): void {
  if (typeof reward === 'number' && Math.abs(reward) <= largestReward) return
  throw new EnvironmentFault(
    'bad_data',
    `${payer} paid the reward ${String(reward)}: a reward is a number from -${largestReward} to ${largestReward}`,
  )
}
