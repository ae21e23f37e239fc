/**
 * Demonstrations: an expert's episodes, as text and as the tokens that a policy should imitate.
 *
 * Invariants
 * - The same configuration gives the same demonstrations, in the same order.
 * - They come from the tasks that have an expert, by their weights.
 * - An instance that fails is left out (`left-out.ts`).
 * - The tokens of a demonstration are those that the same episode would have when played by the policy.
 * - [DEMONSTRATIONS-1] With `warmStart.weighting: reward` each token of a demonstration counts in proportion to its reward; one that
 *   earns nothing is left out.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import { earnsAtLeast, rewardRules } from '../../learning/evaluation/reward.ts'
import { instanceOrder, positionFromEnd } from '../../learning/rollout/instance-order.ts'
import { isPlayable, nextTask } from '../../learning/rollout/task-mix.ts'
import type { ToolSpec } from '../../messages/message.ts'
import type { Chat, DemonstrationStep } from '../../policy/chat/chat.ts'
import type { UpdateBatch } from '../../policy/trainer/batch.ts'
import type { OpenRun } from '../stored/open-runs.ts'
import { createLeftOut, type LeftOut } from './left-out.ts'

/** An episode that an expert won. */
export interface DemonstratedEpisode {
  readonly tools: readonly ToolSpec[]
  readonly steps: readonly DemonstrationStep[]
  /** The sum that it earned; `success.atLeast` of its task where the expert names none. */
  readonly reward: number
}

/** Instances looked at per demonstration wanted: experts may fail on some. */
const triesPerDemonstration = 4

/**
 * Plays the expert's actions and records the observations that the policy would have seen.
 * @param onProgress called after each demonstration
 * @param signal ends it between two demonstrations
 * @param leftOut instances that fail
 * @throws EnvironmentFault `none_playable`
 */
export async function collectDemonstrations(
  run: OpenRun,
  count: number,
  onProgress: (done: number) => void,
  signal: AbortSignal,
  leftOut: LeftOut = createLeftOut('demonstrations'),
): Promise<readonly DemonstratedEpisode[]> {
  const episodes: DemonstratedEpisode[] = []
  for (const at of await placesOf(run, count * triesPerDemonstration)) {
    if (episodes.length === count) break
    signal.throwIfAborted()
    const played = await leftOut.playing(() => demonstrate(run, at))
    if (played?.result !== undefined) episodes.push(played.result)
    onProgress(episodes.length)
  }
  leftOut.requireOne()
  return episodes
}

/** Where a demonstration is played: a task of the mix, and a position in the order of its instances. */
export interface DemonstrationPlace {
  readonly index: number
  readonly position: number
}

/** The first places: of the tasks that have an expert, by their weights. @returns none where no task has one */
export async function placesOf(run: OpenRun, count: number): Promise<readonly DemonstrationPlace[]> {
  const { tasks } = run.config
  const weights = await Promise.all(
    tasks.map(async ({ weight }, index) => {
      if (weight === 0) return 0
      const { task } = await run.demonstrationTask(index)
      return task.demonstrate === undefined ? 0 : weight
    }),
  )
  if (!isPlayable(weights)) return []
  const asked = tasks.map(() => 0)
  return Array.from({ length: count }, () => {
    const index = nextTask(weights, asked)
    const position = asked[index] ?? 0
    asked[index] = position + 1
    return { index, position }
  })
}

/** The instance at a place, and how often it was demonstrated before; undefined where the task has no such split. */
export async function demonstratedAt(run: OpenRun, { index, position }: DemonstrationPlace) {
  const { task } = await run.demonstrationTask(index)
  const { task: name, split: wanted = 'train' } = run.config.tasks[index] ?? {}
  const split = task.splits.find((one) => one.name === wanted)
  if (name === undefined || split === undefined) return undefined
  const place = run.config.warmStart.instances === 'last' ? positionFromEnd(split.size, position) : position
  const instance = task.instanceAt(split.name, instanceOrder(split.size, place))
  return { name, task, instance, take: Number.isFinite(split.size) ? Math.floor(position / split.size) : 0 }
}

/** The expert's play at a place; undefined where it earns too little. */
export async function demonstrate(
  run: OpenRun,
  at: DemonstrationPlace,
): Promise<DemonstratedEpisode | undefined> {
  const found = await demonstratedAt(run, at)
  if (found === undefined) return undefined
  const { name, task, instance, take } = found
  const demonstration = await task.demonstrate?.(instance, take)
  if (demonstration === undefined) return undefined
  const { demonstrated, atLeast } = rewardRules(run.config, name)
  if (!earnsAtLeast(demonstration, demonstrated)) return undefined
  const { actions, mistakes = [], reward = atLeast } = demonstration
  const environment = await task.create()
  try {
    const steps: DemonstrationStep[] = []
    let { messages } = await environment.reset(instance)
    for (const [position, action] of actions.entries()) {
      steps.push({ messages, action, mistake: mistakes.includes(position) })
      messages = (await environment.step(action)).messages
    }
    return { tools: environment.tools, steps, reward }
  } finally {
    await environment.close()
  }
}

/** All texts of the demonstrations, for a tokenizer. */
export function* textsOf(episodes: readonly DemonstratedEpisode[]): Generator<string> {
  for (const { steps } of episodes)
    for (const { messages, action } of steps) {
      for (const message of messages) yield message.content
      yield action.content
      for (const call of action.tool_calls ?? [])
        for (const value of Object.values(call.arguments)) yield String(value)
    }
}

/** Every tool that occurs, once. */
export function toolsOf(episodes: readonly DemonstratedEpisode[]): readonly ToolSpec[] {
  const byName = new Map(
    episodes.flatMap(({ tools }) => tools.map((tool) => [tool.function.name, tool] as const)),
  )
  return [...byName.values()]
}

/** The tokens to imitate; episodes that do not fit into the context are left out. */
export function demonstrationBatch(
  episodes: readonly DemonstratedEpisode[],
  chat: Pick<Chat, 'encodeDemonstration'>,
  { policy: { contextLength }, warmStart: { weighting } }: Pick<RunConfig, 'policy' | 'warmStart'>,
): UpdateBatch {
  const isWeighted = weighting === 'reward'
  const encoded = episodes
    .filter(({ reward }) => !isWeighted || reward > 0)
    .map(({ steps, tools, reward }) => ({ ...chat.encodeDemonstration(steps, tools), reward }))
    .filter(({ tokens }) => tokens.length <= contextLength)
  const offsets = new Int32Array(encoded.length + 1)
  for (const [index, { tokens }] of encoded.entries())
    offsets[index + 1] = (offsets[index] ?? 0) + tokens.length
  const total = offsets.at(-1) ?? 0
  const tokens = new Int32Array(total)
  const lossMask = new Uint8Array(total)
  const rewards = new Float64Array(total)
  for (const [index, episode] of encoded.entries()) {
    tokens.set(episode.tokens, offsets[index])
    lossMask.set(episode.lossMask, offsets[index])
    rewards.set(
      episode.lossMask.map((counts) => counts * episode.reward),
      offsets[index],
    )
  }
  const whole = rewards.reduce((sum, reward) => sum + reward, 0)
  return {
    tokens,
    offsets,
    lossMask,
    behaviourLogprobs: new Float32Array(total),
    versions: new Int32Array(total).fill(-1),
    advantages: new Float32Array(total),
    ...(isWeighted && {
      weights: Float32Array.from(rewards, (reward) => reward / Math.max(whole, Number.MIN_VALUE)),
    }),
  }
}
