/**
 * One episode, played without a workflow and without a store: engine, chat and environment alone.
 *
 * Invariants
 * - Seeds, versions, limits and endings are those of the episode's workflow; nothing is kept but the trajectory.
 */
import type { Serving } from '../../activities/play/serving.ts'
import type { OpenRun } from '../../activities/stored/open-runs.ts'
import { playAction } from '../../envs/contract/played-action.ts'
import { type EpisodeId, parseEpisodeId, seedOfWork, uniforms } from '../../identity/identity.ts'
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import { finalReward, isSuccess, rewardRules } from '../../learning/evaluation/reward.ts'
import { drawVersion } from '../../learning/rollout/cross-policy.ts'
import { instanceOrder } from '../../learning/rollout/instance-order.ts'
import type { Message } from '../../messages/message.ts'
import { grownContext } from '../../policy/chat/chat.ts'
import type { SampledTokens } from '../../policy/engines/engine.ts'
import type { SampledTurn, Trajectory } from '../../storage/trajectories/trajectory.ts'

/** The run and the engine with which an episode is played. */
export interface Playing {
  readonly opened: OpenRun
  readonly serving: Serving
  /** The newest version when a turn is sampled. */
  readonly version: () => number
  readonly pool: readonly number[]
  /** Plays the first task as this suite does, not to train. */
  readonly measuredIn?: { readonly split: string; readonly temperature: number }
}

interface Turn {
  readonly prompt: Int32Array
  readonly sampled: SampledTokens
  readonly invalid: boolean
  readonly problems: number
  readonly paid: number
  readonly state: string | undefined
}

/** Plays the instance at a position of the first task's split, or of the one that is measured. */
export async function playEpisode(id: EpisodeId, position: number, playing: Playing): Promise<Trajectory> {
  const { opened, serving, version, pool, measuredIn } = playing
  const { run, config } = opened
  const { definition, task } = await opened.task(0)
  const entry = config.tasks[0]
  const wanted = measuredIn?.split ?? entry?.split
  const split = task.splits.find(({ name }) => name === wanted)
  if (split === undefined) throw new RangeError(`${definition.name} has no split ${wanted}`)
  const instance = task.instanceAt(split.name, instanceOrder(split.size, position))
  const chat = await serving.chat(run)
  const draw = uniforms(seedOfWork(config.seed, id, 'versions'))
  const temperature = measuredIn?.temperature ?? config.rollout.temperature
  const rule = { staleShare: config.crossPolicy.staleShare, pool }
  const environment = await task.create()
  const turns: Turn[] = []
  let [paid, invalidInARow, listedTools] = [0, 0, '']
  let context = new Int32Array(0)
  const borders: number[] = []
  const actions: Message[] = []
  let { messages, state } = await environment.reset(instance)

  async function playTurn(): Promise<Outcome | null> {
    const drawn = drawVersion(Number.POSITIVE_INFINITY, rule, [draw(), draw()])
    const tools = JSON.stringify(environment.tools)
    const prompt = chat.encodeTurn(context, messages, tools === listedTools ? undefined : environment.tools)
    listedTools = tools
    const maxNewTokens = config.rollout.maxTokensPerTurn
    if (context.length + prompt.length + maxNewTokens > config.policy.contextLength) return 'context_limit'
    const before = grownContext(context, prompt)
    const sampled = await serving.sample(run, {
      cacheKey: id,
      context: before,
      borders: [...borders],
      version: Number.isFinite(drawn) ? drawn : version(),
      maxNewTokens,
      temperature,
      stopTokens: chat.stopTokens,
      seed: seedOfWork(config.seed, id, turns.length),
    })
    const action = chat.parseAction(sampled.tokens)
    actions.push(action.message)
    borders.push(before.length)
    context = grownContext(before, sampled.tokens)
    const step = await playAction(environment, action)
    const invalid = step.invalid === true
    turns.push({ prompt, sampled, invalid, problems: action.problems.length, paid: step.reward, state })
    messages = step.messages
    state = step.state ?? state
    paid += step.reward
    invalidInARow = step.invalid === true ? invalidInARow + 1 : 0
    if (step.done) return step.outcome ?? 'completed'
    return invalidInARow >= config.rollout.invalidActionLimit ? 'invalid_action' : null
  }

  try {
    let outcome: Outcome | null = null
    while (outcome === null)
      outcome = turns.length < (entry?.turnLimit ?? definition.turnLimit) ? await playTurn() : 'turn_limit'
    const rules = rewardRules(config, definition.name)
    const reward = finalReward(outcome, paid, rules)
    const ending = {
      task: definition.name,
      instance,
      outcome,
      paid,
      reward,
      success: isSuccess(reward, rules),
    }
    return { ...trajectoryOf(id, ending, turns), messages: actions }
  } finally {
    await environment.close()
    serving.release(run, id)
  }
}

function trajectoryOf(
  id: EpisodeId,
  ending: {
    readonly task: string
    readonly instance: string
    readonly outcome: Outcome
    readonly paid: number
    readonly reward: number | null
    readonly success: boolean
  },
  turns: readonly Turn[],
): Omit<Trajectory, 'messages'> {
  const { task, instance, outcome, paid, reward, success } = ending
  const time = turns.reduce((sum, { prompt, sampled }) => sum + prompt.length + sampled.tokens.length, 0)
  const tokens = new Int32Array(time)
  const lossMask = new Uint8Array(time)
  const logprobs = new Float32Array(time)
  const versions = new Int32Array(time).fill(-1)
  const places: SampledTurn[] = []
  let at = 0
  for (const { prompt, sampled, paid, state } of turns) {
    tokens.set(prompt, at)
    at += prompt.length
    tokens.set(sampled.tokens, at)
    logprobs.set(sampled.logprobs, at)
    lossMask.fill(1, at, at + sampled.tokens.length)
    versions.fill(sampled.version, at, at + sampled.tokens.length)
    const step = { paid, ...(state === undefined ? {} : { state }) }
    places.push({ version: sampled.version, begin: at, end: at + sampled.tokens.length, ...step })
    at += sampled.tokens.length
  }
  const sampledBy = turns.map(({ sampled }) => sampled.version)
  const seal = {
    outcome,
    reward,
    success,
    ended: 0,
    turns: turns.length,
    observations: turns.length + 1,
    tokens: time,
    actionTokens: turns.reduce((sum, { sampled }) => sum + sampled.tokens.length, 0),
    problems: turns.filter(({ problems }) => problems > 0).length,
    versionMin: sampledBy.length === 0 ? null : Math.min(...sampledBy),
    versionMax: sampledBy.length === 0 ? null : Math.max(...sampledBy),
    checksum: '',
  }
  return {
    episode: { id, ...parseEpisodeId(id), task, instance, created: 0, seal },
    tokens,
    lossMask,
    logprobs,
    versions,
    turns: places,
    paid,
    unusable: turns.filter(({ invalid }) => invalid).length,
    cutOff: turns.filter(({ sampled }) => sampled.finish === 'length').length,
  }
}
