/**
 * Hindsight: a lost episode as an example of another goal that it reached. The instance that asks for that goal is begun, and the
 * episode's own actions are played in it: what the policy would have read there, with what it did, is what is imitated.
 *
 * Invariants
 * - [HINDSIGHT-1] An example wins its instance with its last action; only its first observation differs from the episode's, token by
 *   token.
 * - [HINDSIGHT-2] An action that left the exact state as it was is read, not imitated: it was not needed to win.
 * - An episode on which the environment fails gives no example, and the update goes on (`left-out.ts`).
 * - [HINDSIGHT-3] The same episodes give the same examples, in the order of groups and samples, up to the bound.
 */
import { type Environment, EnvironmentFault, type ReachedInstance, type Task } from '../envs/environment.ts'
import { isFullReward } from '../learning/reward.ts'
import type { AssistantMessage, Message } from '../messages/message.ts'
import { spoken } from '../messages/spoken-action.ts'
import type { Chat } from '../policy/chat/chat.ts'
import type { Trajectory } from '../storage/trajectory.ts'
import type { EpisodeExample } from './episode-example.ts'
import { equalTokens } from './equal-tokens.ts'
import { createLeftOut } from './left-out.ts'

/** What examples are made with. */
export interface Hindsight {
  /** The task of that name. */
  readonly taskOf: (name: string) => Promise<Task | undefined>
  readonly chat: Chat
  /** Examples at most. */
  readonly most: number
  /** Told of episodes that are left out because the environment fails on them. */
  readonly report?: (sentence: string) => void
}

/** The examples of lost episodes. @param lost in the order of groups and samples @throws EnvironmentFault */
export async function examplesOf(
  lost: Iterable<Trajectory>,
  { taskOf, chat, most, report }: Hindsight,
): Promise<readonly EpisodeExample[]> {
  const examples: EpisodeExample[] = []
  const leftOut = createLeftOut('hindsight', report)
  try {
    for (const trajectory of lost) {
      if (examples.length >= most) break
      const task = await taskOf(trajectory.episode.task)
      const made = task && (await leftOut.playing(() => exampleOf(trajectory, task, chat)))
      if (made?.result !== undefined) examples.push(made.result)
    }
  } catch (fault) {
    // An update learns from its own episodes without them.
    if (!(fault instanceof EnvironmentFault) || fault.kind !== 'none_playable') throw fault
    report?.(fault.message)
  }
  return examples
}

async function exampleOf(
  trajectory: Trajectory,
  task: Task,
  chat: Chat,
): Promise<EpisodeExample | undefined> {
  const actions = trajectory.messages.filter((message) => message.role === 'assistant')
  const reached = await task.reached?.(trajectory.episode.instance, actions)
  if (reached === undefined) return undefined
  const environment = await task.create()
  try {
    return await playedAgain(trajectory, environment, { actions, reached, chat })
  } finally {
    await environment.close()
  }
}

/** The episode in the instance that it won; undefined where that does not read as the episode does, or is not won. */
async function playedAgain(
  { episode, tokens, turns }: Trajectory,
  environment: Environment,
  {
    actions,
    reached,
    chat,
  }: {
    readonly actions: readonly AssistantMessage[]
    readonly reached: ReachedInstance
    readonly chat: Chat
  },
): Promise<EpisodeExample | undefined> {
  const played = turns.slice(0, reached.actions)
  const context: number[] = []
  const imitated: number[] = []
  let told = ''
  let [paid, ended] = [0, false]
  const first = await environment.reset(reached.instance)
  let seen: { readonly messages: readonly Message[]; readonly state?: string | undefined } = first
  for (const [turn, { begin, end }] of played.entries()) {
    const action = actions[turn]
    if (action === undefined || ended) return undefined
    const tools = JSON.stringify(environment.tools)
    const prompt = chat.encodeTurn(context, seen.messages, tools === told ? undefined : environment.tools)
    told = tools
    const before = played[turn - 1]
    if (before !== undefined && !equalTokens(prompt, tokens.subarray(before.end, begin))) return undefined
    const step = await environment.step(spoken(action))
    const isIdle = step.state !== undefined && step.state === seen.state
    context.push(...prompt, ...tokens.subarray(begin, end))
    imitated.push(
      ...Array.from(prompt, () => 0),
      ...Array.from({ length: end - begin }, () => (isIdle ? 0 : 1)),
    )
    paid += step.reward
    ended = step.done
    seen = { messages: step.messages, state: step.state ?? seen.state }
  }
  if (!ended || !isFullReward(paid)) return undefined
  return { task: episode.task, tokens: Int32Array.from(context), imitated: Uint8Array.from(imitated) }
}
