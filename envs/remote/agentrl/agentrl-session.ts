/**
 * An episode behind an AgentRL controller.
 *
 * Invariants
 * - [AGENTRL-1] A task error, an unknown or cancelled session, and a server that is lost are `session_lost`, never a reward.
 * - [AGENTRL-2] A call that cannot be sent is answered here, and the episode continues.
 * - [AGENTRL-3] A session that has not ended is cancelled when it is closed.
 */
import { z } from 'zod'
import type { Outcome } from '../../../learning/evaluation/outcome.ts'
import type { AssistantMessage, ToolSpec } from '../../../messages/message.ts'
import { calledName } from '../../contract/agent-tool.ts'
import {
  checkReward,
  type Environment,
  EnvironmentFault,
  type InstanceId,
  type Observation,
  type StepResult,
} from '../../contract/environment.ts'
import { checkedTools } from '../base/remote-tools.ts'
import { askServer, excerpt, jsonOf, type RemoteServer, ServerFull, whenThereIsRoom } from '../base/server.ts'
import { answerSchema, identified, messageOf, wireAction } from './wire.ts'

/** How a session is played. */
export interface AgentRlRules {
  readonly server: RemoteServer
  /** The task's name there. */
  readonly task: string
  readonly resetMs: number
  readonly stepMs: number
  /** @throws EnvironmentFault `unknown_instance` */
  readonly indexOf: (instance: InstanceId) => number | string
}

const closeMs = 5_000
/** Refusals of controllers and workers that have no place. */
const fullWords = /no (free |available |idle )?worker|concurrency|busy|capacity/i

const outcomes: Readonly<Record<string, Outcome>> = {
  completed: 'completed',
  'task limit reached': 'task_limit',
  'agent context limit': 'context_limit',
  'agent invalid action': 'invalid_action',
  'agent validation failed': 'invalid_action',
}

interface Live {
  readonly id: string
  turn: number
  done: boolean
}

/** A session by these rules. */
export class AgentRlSession implements Environment {
  readonly #rules: AgentRlRules
  #live: Live | undefined
  #tools: readonly ToolSpec[] = []

  constructor(rules: AgentRlRules) {
    this.#rules = rules
  }

  get tools(): readonly ToolSpec[] {
    return this.#tools
  }

  async reset(instance: InstanceId): Promise<Observation> {
    const index = this.#rules.indexOf(instance)
    await this.close()
    const { server, task, resetMs } = this.#rules
    const { shown } = server.address
    const request = {
      path: '/start_sample',
      body: { name: task, index, custom_task: null },
      lost: 'backend',
    } as const
    const answer = await whenThereIsRoom(shown, resetMs, async (withinMs) => {
      const got = await askServer(server, { ...request, withinMs })
      if (got.status === 406 || (got.status === 400 && fullWords.test(got.text)))
        throw new ServerFull(excerpt(got.text))
      return got
    })
    const id = answer.headers.get('session_id')
    if (answer.status !== 200 || id === null)
      throw new EnvironmentFault(
        'backend',
        `${shown}: ${instance} was not begun (status ${answer.status}${id === null ? ', no session_id' : ''}: ${excerpt(answer.text)})`,
      )
    const live = { id, turn: 0, done: false }
    this.#live = live
    const { messages, done, info } = await this.#losing(async () =>
      this.#read(jsonOf(answer, server, request), live, new Map()),
    )
    if (done) throw new EnvironmentFault('bad_data', `${shown}: ${instance} is over at its start`)
    return { messages, info }
  }

  async step(action: AssistantMessage): Promise<StepResult> {
    const live = this.#live
    if (live === undefined)
      throw new EnvironmentFault('session_lost', 'nothing is being played here: reset the environment first')
    if (live.done) return refusal(action, 'The episode is over.')
    const calls = identified(action, ++live.turn)
    if (calls === undefined)
      return refusal(action, 'Not carried out: a call has a name and a JSON object of arguments.')
    const { server, stepMs } = this.#rules
    const request = {
      path: '/interact',
      headers: { session_id: live.id },
      body: { messages: [wireAction(action, calls)] },
      withinMs: stepMs,
      lost: 'session_lost',
    } as const
    const answer = await this.#losing(() => askServer(server, request))
    return await this.#losing(async () => {
      if (answer.status !== 200)
        throw new EnvironmentFault(
          'session_lost',
          `${server.address.shown}: /interact answered with status ${answer.status}: ${excerpt(answer.text)}`,
        )
      const names = new Map(calls.map(({ id, call }) => [id, call.name]))
      return this.#read(jsonOf(answer, server, request), live, names)
    })
  }

  async close(): Promise<void> {
    const live = this.#live
    this.#live = undefined
    if (live === undefined || live.done) return
    // A server that does not hear of it gives the session up by itself.
    await askServer(this.#rules.server, {
      ...{ path: '/cancel', headers: { session_id: live.id }, body: {} },
      ...{ withinMs: closeMs, lost: 'session_lost' },
    }).catch(() => undefined)
  }

  /** A session that was lost is given up. */
  async #losing<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (fault) {
      await this.close()
      throw fault
    }
  }

  /** @throws EnvironmentFault */
  #read(json: unknown, live: Live, names: ReadonlyMap<string, string>): StepResult {
    const { shown } = this.#rules.server.address
    const read = answerSchema.safeParse(json)
    if (!read.success)
      throw new EnvironmentFault(
        'session_lost',
        `${shown}: it answered in a form that is not AgentRL's: ${z.prettifyError(read.error).replaceAll(/\s+/g, ' ').slice(0, 300)}`,
      )
    const { messages, tools, finish, status, reward, metrics } = read.data
    const outcome = finish ? outcomes[status] : undefined
    if (finish) live.done = true
    if (finish && outcome === undefined)
      throw new EnvironmentFault('session_lost', `${shown}: the session ended there as "${excerpt(status)}"`)
    checkReward(shown, reward)
    if (tools !== null && tools !== undefined)
      this.#tools = checkedTools(
        shown,
        tools.map(({ function: { name, description, parameters } }) => ({
          ...{ name, description: description ?? '' },
          parameters: parameters ?? { type: 'object', properties: {} },
        })),
      )
    return {
      messages: messages.map((message) => messageOf(message, names)),
      reward: reward as number,
      ...(outcome === undefined ? { done: false } : { done: true, outcome }),
      info: metrics ?? {},
    }
  }
}

/** The answer to an action that was not sent. */
function refusal({ tool_calls: given }: AssistantMessage, reply: string): StepResult {
  const calls: readonly unknown[] = Array.isArray(given) ? given : []
  return {
    messages:
      calls.length === 0
        ? [{ role: 'user', content: reply }]
        : calls.map((call) => ({ role: 'tool', name: calledName(call, 'error'), content: reply })),
    reward: 0,
    done: false,
    invalid: true,
    info: {},
  }
}
