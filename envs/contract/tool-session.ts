/**
 * A session that is played through tools: how the calls of a message are answered, the same in every environment.
 *
 * Invariants
 * - Every tool call is answered by one tool message, in order; what calls no tool is answered in words. Whatever a
 *   message holds, nothing of it is thrown.
 * - A message of which nothing could be used is marked invalid; after the end none is.
 * - After the end nothing runs, and nothing is paid.
 * - Resources that an instance opened are given back once, at the next reset or at the close.
 * - [TOOL-SESSION-1] States by calls have equal names exactly after equal usable calls; what could not be used changes no name.
 */
import { createHash } from 'node:crypto'
import type { AssistantMessage, JsonObject, Message, ToolSpec } from '../../messages/message.ts'
import { type AgentTool, type Answer, calledName, fieldsOf, refused } from './agent-tool.ts'
import {
  type Environment,
  EnvironmentFault,
  type InstanceId,
  type Observation,
  type StepResult,
} from './environment.ts'
import { type Ask, unasked } from './question.ts'

/** How an instance begins: the state of its episode, and the first messages. */
export interface Opening<Play> {
  readonly play: Play
  readonly system?: string | undefined
  readonly prompt: string
  /** The kind of the problem, for reports by kind: `kind` in the facts of the reset. */
  readonly kind?: string | undefined
}

/** An environment's own rules, on top of the ones for all. */
export interface SessionRules<Play> {
  readonly tools: readonly AgentTool<Play>[]
  /** The name under which a call without one is answered. */
  readonly unnamed: string
  /** Letters of a made-up name that come back to the agent; 40 by default. */
  readonly nameLimit?: number
  /** The answer to a call of an unknown tool. */
  readonly noSuchTool: (name: unknown) => string
  /** Answers a message without a call; a plain text is the answer to all of them. */
  readonly noCall: string | ((content: unknown, play: Play, ask: Ask) => Answer | Promise<Answer>)
  /** The answer after the end. */
  readonly over: string
  /** Says of a session without a reset that nothing is played, e.g. `no game is being played here`. */
  readonly idle: string
  /** Calls of one message that are carried out; without it all are. */
  readonly callsPerMessage?: number
  /** @throws EnvironmentFault unknown_instance */
  readonly open: (instance: InstanceId, ask: Ask) => Opening<Play> | Promise<Opening<Play>>
  /** The facts of a step. @param facts of its answers, in order; none at the reset */
  readonly facts: (play: Play, facts: readonly JsonObject[]) => JsonObject
  /**
   * Names the state of the episode; see `Observation`. `calls`: by the usable calls so far, in their order, which lead to one state
   * wherever the same actions do the same. Absent: it is not named.
   */
  readonly state?: ((play: Play) => string) | 'calls' | undefined
  /** Gives back what `open` opened. */
  readonly close?: ((play: Play) => void | Promise<void>) | undefined
}

/** A session that plays one instance after another by these rules. */
export class ToolSession<Play extends object> implements Environment {
  readonly tools: readonly ToolSpec[]
  readonly #rules: SessionRules<Play>
  readonly #byName: ReadonlyMap<unknown, AgentTool<Play>>
  readonly #ask: Ask
  #play: Play | undefined
  #done = false
  /** Digest of the usable calls so far. */
  #calls = ''

  constructor(rules: SessionRules<Play>, ask = unasked) {
    this.#rules = rules
    this.#ask = ask
    this.tools = rules.tools.map(({ spec }) => spec)
    this.#byName = new Map(rules.tools.map((tool) => [tool.spec.function.name, tool]))
  }

  /** The state of the episode. @throws EnvironmentFault session_lost where there is none */
  get play(): Play {
    if (this.#play !== undefined) return this.#play
    throw new EnvironmentFault('session_lost', `${this.#rules.idle}: reset the environment first`)
  }

  async reset(instance: InstanceId): Promise<Observation> {
    await this.close()
    const { play, system, prompt, kind } = await this.#rules.open(instance, this.#ask)
    this.#play = play
    this.#done = false
    this.#calls = ''
    const first: Message[] = system === undefined ? [] : [{ role: 'system', content: system }]
    return {
      messages: [...first, { role: 'user', content: prompt }],
      info: { ...this.#rules.facts(play, []), ...(kind === undefined ? {} : { kind }) },
      ...this.#named(play),
    }
  }

  async step(action: AssistantMessage): Promise<StepResult> {
    const { play } = this
    const wasDone = this.#done
    const { unnamed, nameLimit, facts } = this.#rules
    const given: unknown = action?.tool_calls
    const calls: readonly unknown[] = Array.isArray(given) ? given : []
    const answers: Answer[] = []
    const messages: Message[] = []
    for (const call of calls) {
      const answer = await this.#answer(call, play, answers)
      answers.push(answer)
      this.#count(call, answer)
      messages.push({ role: 'tool', name: calledName(call, unnamed, nameLimit), content: answer.reply })
    }
    if (calls.length === 0) {
      const answer = await this.#hear(action?.content, play)
      answers.push(answer)
      this.#count(action?.content, answer)
      messages.push({ role: 'user', content: answer.reply })
    }
    const usable = wasDone || answers.some((answer) => answer.usable !== false)
    return {
      messages,
      reward: answers.reduce((sum, { reward = 0 }) => sum + reward, 0),
      ...(this.#done ? { done: true, outcome: 'completed' } : { done: false }),
      ...(usable ? {} : { invalid: true }),
      info: facts(
        play,
        answers.flatMap(({ info }) => (info === undefined ? [] : [info])),
      ),
      ...this.#named(play),
    }
  }

  async close(): Promise<void> {
    const play = this.#play
    this.#play = undefined
    if (play !== undefined) await this.#rules.close?.(play)
  }

  #named(play: Play): Pick<Observation, 'state'> {
    const { state } = this.#rules
    if (state === undefined) return {}
    return { state: state === 'calls' ? this.#calls : state(play) }
  }

  #count(call: unknown, { usable }: Answer): void {
    if (this.#rules.state !== 'calls' || usable === false) return
    const { name, arguments: given } = fieldsOf(call)
    const said = typeof call === 'string' ? call : [name, given]
    this.#calls = createHash('sha256')
      .update(JSON.stringify([this.#calls, said]))
      .digest('base64url')
      .slice(0, 16)
  }

  /** @param before the answers to the earlier calls of the message */
  async #answer(call: unknown, play: Play, before: readonly Answer[]): Promise<Answer> {
    const { over, callsPerMessage = Number.POSITIVE_INFINITY, noSuchTool } = this.#rules
    if (this.#done) return refused(over)
    const stops = before.find((answer) => answer.stops !== undefined)?.stops
    if (stops !== undefined) return refused(stops)
    if (before.length >= callsPerMessage)
      return refused(`Not carried out: a message has at most ${callsPerMessage} calls.`)
    const { name, arguments: given } = fieldsOf(call)
    const tool = this.#byName.get(name)
    return tool === undefined
      ? refused(noSuchTool(name))
      : this.#settled(await tool.call(given, play, this.#ask))
  }

  async #hear(content: unknown, play: Play): Promise<Answer> {
    const { over, noCall } = this.#rules
    if (this.#done) return refused(over)
    return typeof noCall === 'string'
      ? refused(noCall)
      : this.#settled(await noCall(content, play, this.#ask))
  }

  #settled(answer: Answer): Answer {
    if (answer.done === true) this.#done = true
    return answer
  }
}
