/**
 * A session of a controller: an environment of this process, or one of a worker elsewhere, which both answer alike.
 *
 * Invariants
 * - [CONTROLLER-SESSION-1] A fault of an environment is the status "task error", which carries no reward.
 * - [CONTROLLER-SESSION-2] After as many turns as its task has a session is over, so that no agent plays without an end.
 */
import { z } from 'zod'
import { type Environment, EnvironmentFault, type StepResult } from '../../envs/contract/environment.ts'
import { readExactly, withExactArguments } from '../../messages/exact-arguments.ts'
import type { AssistantMessage, JsonObject, Message } from '../../messages/message.ts'

/** An answer to clients. */
export interface ControllerAnswer {
  readonly messages: readonly object[]
  readonly tools: readonly object[] | null
  readonly status: string
  readonly finish: boolean
  readonly reward: number
  readonly metrics: object
}

/** A session that is played. */
export interface ControllerSession {
  readonly task: string
  readonly index: number | string
  interact(messages: readonly unknown[]): Promise<ControllerAnswer>
  /** Ends it; may be called twice. */
  close(): Promise<void>
}

/** A request that cannot be answered. */
export class ControllerFault extends Error {
  override readonly name = 'ControllerFault'
  readonly status: 400 | 404 | 502

  constructor(status: 400 | 404 | 502, message: string) {
    super(message)
    this.status = status
  }
}

/** The answer of a session that failed. */
export const taskError: ControllerAnswer = {
  ...{ messages: [], tools: null, status: 'task error', finish: true, reward: 0, metrics: {} },
}

const callSchema = z.object({
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.string() }),
})
const assistantSchema = z.object({
  role: z.literal('assistant'),
  content: z.union([z.string(), z.array(z.unknown())]).nullish(),
  tool_calls: z.array(callSchema).nullish(),
})

const statuses: Readonly<Record<NonNullable<StepResult['outcome']>, string>> = {
  completed: 'completed',
  task_limit: 'task limit reached',
  turn_limit: 'task limit reached',
  // Unknown to agentrl-eval 0.1.2 under a name of its own.
  context_limit: 'task limit reached',
  invalid_action: 'agent invalid action',
  infrastructure_error: 'task error',
  // Only an agent's own program diverges, never an environment.
  diverged: 'task error',
  cancelled: 'cancelled',
}

/** A task's name, and after how many turns its sessions are over. */
export interface SessionRules {
  readonly name: string
  readonly turnLimit: number
  readonly turnLimitCompletes?: boolean | undefined
}

/** A session over an environment of this process. */
export class OwnSession implements ControllerSession {
  readonly index: number | string
  readonly #rules: SessionRules
  readonly #environment: Environment
  #earned = 0
  #turns = 0

  private constructor(rules: SessionRules, index: number | string, environment: Environment) {
    this.#rules = rules
    this.index = index
    this.#environment = environment
  }

  get task(): string {
    return this.#rules.name
  }

  /** Begins an instance. */
  static async begin(
    rules: SessionRules,
    index: number | string,
    { environment, instance }: { readonly environment: Environment; readonly instance: string },
  ): Promise<{ readonly session: OwnSession; readonly answer: ControllerAnswer }> {
    const session = new OwnSession(rules, index, environment)
    const answer = await session.#answering(async () => {
      const { messages } = await environment.reset(instance)
      return session.#answer({ messages, reward: 0, done: false, info: {} }, [])
    })
    return { session, answer }
  }

  async interact(messages: readonly unknown[]): Promise<ControllerAnswer> {
    const read = z.array(assistantSchema).length(1).safeParse(messages)
    const [message] = read.data ?? []
    if (message === undefined)
      throw new ControllerFault(400, 'expected one message of the assistant in "messages"')
    const calls = message.tool_calls ?? []
    const action: AssistantMessage = {
      role: 'assistant',
      content: typeof message.content === 'string' ? message.content : '',
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(({ function: called }) => callOf(called)) }),
    }
    return await this.#answering(async () => {
      const result = await this.#environment.step(action)
      this.#turns += 1
      return this.#answer(
        result,
        calls.map(({ id }) => id),
      )
    })
  }

  async close(): Promise<void> {
    await this.#environment.close()
  }

  async #answering(work: () => Promise<ControllerAnswer>): Promise<ControllerAnswer> {
    try {
      return await work()
    } catch (fault) {
      if (!(fault instanceof EnvironmentFault)) throw fault
      return { ...taskError, metrics: { error: fault.message } }
    }
  }

  /** @param ids those of the calls that it answers, in their order */
  #answer({ messages, reward, done, outcome }: StepResult, ids: readonly string[]): ControllerAnswer {
    this.#earned += reward
    const { turnLimit, turnLimitCompletes } = this.#rules
    const isOver = done || this.#turns >= turnLimit
    const ending = done ? (outcome ?? 'completed') : turnLimitCompletes === true ? 'completed' : 'turn_limit'
    let answered = 0
    return {
      messages: messages.map((message) =>
        wireMessage(message, ids[message.role === 'tool' ? answered++ : -1]),
      ),
      tools: this.#environment.tools,
      status: isOver ? statuses[ending] : 'running',
      finish: isOver,
      reward,
      metrics: isOver ? { score: this.#earned } : {},
    }
  }
}

function callOf({ name, arguments: text }: { readonly name: string; readonly arguments: string }) {
  // Arguments that are none are the environment's to answer.
  let given: unknown = text
  try {
    given = JSON.parse(text)
  } catch {}
  return withExactArguments({ name, arguments: given as JsonObject }, readExactly(text))
}

function wireMessage(message: Message, id: string | undefined): object {
  if (message.role !== 'tool') return message
  return { ...message, tool_call_id: id ?? 'call_0' }
}
