/**
 * Corrections: episodes that the policy and an expert play together, so that the expert's way on from the policy's own mistakes is
 * imitated.
 * Source: dataset aggregation (DAgger), arXiv 1011.0686. There the expert names its action in every state; here only in the states of
 * its own turns, so that an episode stays one sequence.
 *
 * Invariants
 * - [CORRECTIONS-1] An action of the policy that differs from the expert's is played, not imitated.
 * - [CORRECTIONS-2] The same configuration and checkpoint give the same corrections, in the same order.
 * - An instance whose task has no adviser is demonstrated as it is without the policy.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Adviser, Environment, InstanceId } from '../../envs/contract/environment.ts'
import { seedOf, uniforms } from '../../identity/identity.ts'
import { rewardRules } from '../../learning/evaluation/reward.ts'
import { spoken } from '../../messages/action-summary.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { type Chat, type DemonstrationStep, grownContext } from '../../policy/chat/chat.ts'
import type { Engine } from '../../policy/engines/engine.ts'
import type { OpenRun } from '../stored/open-runs.ts'
import {
  type DemonstratedEpisode,
  type DemonstrationPlace,
  demonstrate,
  demonstratedAt,
} from './demonstrations.ts'
import { createLeftOut, type LeftOut } from './left-out.ts'

/** Episodes in progress at once, so that the engine computes their turns together. */
export const correctedAtOnce = 32
/** Each episode draws which share of its turns is the policy's: some stay near the expert's way, some far from it. */
const shares = { least: 0.2, most: 0.9 }
/** Temperature near that of evaluations, whose mistakes are to be corrected. */
const temperature = 0.3

/** A policy that plays. */
export interface CorrectedPolicy {
  readonly engine: Engine
  readonly version: number
  readonly chat: Chat
}

/**
 * Plays an episode at each place, the policy and the expert in turns that are drawn.
 * @param onProgress called after each episode
 * @param signal ends it between two turns
 * @param leftOut instances that fail
 * @throws EnvironmentFault `none_playable`
 */
export async function collectCorrections(
  run: OpenRun,
  places: readonly DemonstrationPlace[],
  policy: CorrectedPolicy,
  onProgress: (done: number) => void,
  signal: AbortSignal,
  leftOut: LeftOut = createLeftOut('corrections'),
): Promise<readonly DemonstratedEpisode[]> {
  const episodes: (DemonstratedEpisode | undefined)[] = places.map(() => undefined)
  const waiting = places.entries()
  let done = 0
  async function playOn(): Promise<void> {
    for (const [at, place] of waiting) {
      const played = await leftOut.playing(() => correct(run, place, policy, signal))
      episodes[at] = played?.result
      onProgress(++done)
    }
  }
  await Promise.all(Array.from({ length: correctedAtOnce }, playOn))
  leftOut.requireOne()
  return episodes.filter((episode) => episode !== undefined)
}

async function correct(
  run: OpenRun,
  place: DemonstrationPlace,
  policy: CorrectedPolicy,
  signal: AbortSignal,
): Promise<DemonstratedEpisode | undefined> {
  signal.throwIfAborted()
  const found = await demonstratedAt(run, place)
  const adviser = found?.task.advise?.(found.instance)
  if (found === undefined || adviser === undefined) return await demonstrate(run, place)
  const { config } = run
  const environment = await found.task.create()
  const key = `correction ${place.index} ${place.position}`
  const play: Play = {
    ...{ environment, adviser, policy, key, signal },
    instance: found.instance,
    seed: seedOf(config.seed, found.name, found.instance, 'corrections', place.position),
    maxTokensPerTurn: config.rollout.maxTokensPerTurn,
    contextLength: config.policy.contextLength,
    turnLimit: config.tasks[place.index]?.turnLimit ?? (await run.task(place.index)).definition.turnLimit,
  }
  try {
    const steps = await playTogether(play)
    const reward = rewardRules(config, found.name).atLeast
    return steps.some(({ mistake }) => mistake !== true)
      ? { tools: environment.tools, steps, reward }
      : undefined
  } finally {
    policy.engine.release(key)
    await environment.close()
  }
}

interface Play {
  readonly environment: Environment
  readonly adviser: Adviser
  readonly policy: CorrectedPolicy
  readonly key: string
  readonly instance: InstanceId
  readonly seed: number
  readonly turnLimit: number
  readonly maxTokensPerTurn: number
  readonly contextLength: number
  readonly signal: AbortSignal
}

/** @returns what was played until the end, the turn limit, a full context, or until the expert sees no way on */
async function playTogether(play: Play): Promise<readonly DemonstrationStep[]> {
  const { environment, adviser, policy, instance, seed, turnLimit, signal } = play
  const draw = uniforms(seed)
  const share = shares.least + (shares.most - shares.least) * draw()
  const steps: DemonstrationStep[] = []
  const borders: number[] = []
  let context = new Int32Array(0)
  let seen = await environment.reset(instance)
  await adviser.see(seen)
  for (let done = false; !done && steps.length < turnLimit; ) {
    signal.throwIfAborted()
    const advice = await adviser.advise()
    if (advice === undefined) return steps
    const { messages } = seen
    const tools = steps.length === 0 ? environment.tools : undefined
    const room = play.contextLength - context.length - play.maxTokensPerTurn
    const seenTokens = policy.chat.encodeTurnWithin(room, context, messages, tools)
    if (seenTokens === undefined) return steps
    const prompt = grownContext(context, seenTokens)
    const isPolicys = draw() < share
    const own = isPolicys ? await sampled(play, prompt, borders, steps.length) : undefined
    const mistake = own !== undefined && !isDeepStrictEqual(own, advice)
    const action = mistake ? own : advice
    steps.push({ messages, action, mistake })
    borders.push(prompt.length)
    context = grownContext(prompt, policy.chat.encodeAssistant(action))
    const after = await environment.step(spoken(action))
    await adviser.see(after, action)
    seen = after
    done = after.done
  }
  return steps
}

/** The policy's action; undefined where it cannot be parsed, and then the environment does not see it. */
async function sampled(
  { policy: { engine, version, chat }, key, seed, maxTokensPerTurn, signal }: Play,
  context: Int32Array,
  borders: readonly number[],
  turn: number,
): Promise<AssistantMessage | undefined> {
  const request = {
    ...{ cacheKey: key, context, borders: [...borders], version, temperature },
    maxNewTokens: maxTokensPerTurn,
    stopTokens: chat.stopTokens,
    seed: seedOf(seed, turn),
  }
  const { tokens } = await engine.sample(request, signal)
  const { message, problems } = chat.parseAction(tokens)
  return problems.length === 0 ? message : undefined
}
