/**
 * A live session of an environment in short form.
 *
 * Invariants
 * - Arguments reach a tool only after its schema has passed them; what it refuses is answered in words
 *   and leaves the state as it was.
 * - Every tool call is answered by one tool message; after the end no tool runs any more.
 * - A message of which nothing could be used is marked invalid.
 * - What `start` opened is given back once, at the next reset or at the close.
 */
import { z } from 'zod'
import type {
  AssistantMessage,
  Environment,
  InstanceId,
  JsonObject,
  Message,
  Observation,
  StepResult,
  ToolSpec,
} from '../environment.ts'
import { EnvironmentFault } from '../environment.ts'
import { calledName, fieldsOf } from '../tool-call.ts'
import type { DefinedTool, FirstWords, ToolAnswer } from './define.ts'

/** What a session is made of. */
export interface SessionParts {
  readonly name: string
  readonly tools: Readonly<Record<string, DefinedTool<FirstWords>>>
  readonly specs: readonly ToolSpec[]
  readonly start: (instance: InstanceId) => Promise<FirstWords>
  readonly answer?: ((content: string, state: FirstWords) => ToolAnswer | Promise<ToolAnswer>) | undefined
  readonly close?: ((state: FirstWords) => void | Promise<void>) | undefined
}

/** A schema may name every key of a large object; the agent is told the first faults. */
const faultsTold = 5
const replyLimit = 500
const over = 'The episode is over.'

/** What one call or message came to. */
interface Outcome {
  readonly reply: string
  readonly reward: number
  readonly done: boolean
  readonly info: JsonObject
  readonly usable: boolean
}

/** A session that plays one instance after another. */
export class DefinedSession implements Environment {
  readonly tools: readonly ToolSpec[]
  readonly #parts: SessionParts
  #state: FirstWords | undefined
  #done = false

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.tools = parts.specs
  }

  /** What `start` returned for the instance in play, for an expert. */
  get state(): FirstWords {
    if (this.#state === undefined)
      throw new EnvironmentFault(
        'session_lost',
        `no episode of ${this.#parts.name} is being played here: reset the environment first`,
      )
    return this.#state
  }

  async reset(instance: InstanceId): Promise<Observation> {
    await this.close()
    const state = await this.#parts.start(instance)
    this.#state = state
    this.#done = false
    const system: Message[] = state.system === undefined ? [] : [{ role: 'system', content: state.system }]
    return { messages: [...system, { role: 'user', content: state.prompt }], info: {} }
  }

  async step(action: AssistantMessage): Promise<StepResult> {
    const { state } = this
    const wasDone = this.#done
    const calls: unknown = action?.tool_calls
    const messages: Message[] = []
    const outcomes: Outcome[] = []
    for (const call of Array.isArray(calls) ? calls : []) {
      const { name, outcome } = await this.#call(call, state)
      outcomes.push(outcome)
      messages.push({ role: 'tool', name, content: outcome.reply })
    }
    if (messages.length === 0) {
      const outcome = await this.#hear(action?.content, state)
      outcomes.push(outcome)
      messages.push({ role: 'user', content: outcome.reply })
    }
    const usable = wasDone || outcomes.some((outcome) => outcome.usable)
    return {
      messages,
      reward: outcomes.reduce((sum, { reward }) => sum + reward, 0),
      ...(this.#done ? { done: true, outcome: 'completed' } : { done: false }),
      ...(usable ? {} : { invalid: true }),
      info: Object.assign({}, ...outcomes.map(({ info }) => info)),
    }
  }

  async close(): Promise<void> {
    const state = this.#state
    this.#state = undefined
    if (state !== undefined) await this.#parts.close?.(state)
  }

  async #call(call: unknown, state: FirstWords): Promise<{ name: string; outcome: Outcome }> {
    const { name, arguments: given } = fieldsOf(call)
    const shown = calledName(call, 'error')
    if (this.#done) return { name: shown, outcome: told(over) }
    const { tools } = this.#parts
    const known = typeof name === 'string' && Object.hasOwn(tools, name) ? tools[name] : undefined
    if (known === undefined) {
      const names = Object.keys(tools)
      const reply = `There is no tool "${shown}". ${names.length === 0 ? 'Answer in words.' : `Call ${listed(names)}.`}`
      return { name: shown, outcome: told(reply) }
    }
    const read = await known.parameters.safeParseAsync(given)
    if (!read.success) return { name: shown, outcome: told(`${shown}: ${faultsOf(read.error)}`) }
    return { name: shown, outcome: this.#settle(shown, await known.run(read.data, state)) }
  }

  async #hear(content: unknown, state: FirstWords): Promise<Outcome> {
    if (this.#done) return told(over)
    const { answer, specs, name } = this.#parts
    const isText = typeof content === 'string' && content.trim() !== ''
    if (answer !== undefined && isText) return this.#settle(name, await answer(content, state))
    if (specs.length === 0) return told('Answer in words.')
    return told(`Call ${listed(specs.map((spec) => spec.function.name))}.`)
  }

  /** @throws EnvironmentFault `bad_data`: trying again would pay the same */
  #settle(what: string, answer: ToolAnswer): Outcome {
    const {
      reply,
      reward = 0,
      done = false,
      info = {},
    } = typeof answer === 'string' ? { reply: answer } : answer
    if (typeof reply !== 'string' || !Number.isFinite(reward))
      throw new EnvironmentFault(
        'bad_data',
        `${what} of ${this.#parts.name} returned the reply ${String(reply)} and the reward ${reward}: a reply is a text, a reward a finite number`,
      )
    if (done) this.#done = true
    // An empty message would tell the agent nothing, and templates leave it out.
    return { reply: reply === '' ? 'Done.' : reply, reward, done, info, usable: true }
  }
}

function told(reply: string): Outcome {
  return { reply, reward: 0, done: false, info: {}, usable: false }
}

function listed(names: readonly string[]): string {
  return names.length === 1 ? `the tool ${names[0]}` : `one of the tools ${names.join(', ')}`
}

/** What a schema found wrong, each with the argument it is about. */
function faultsOf({ issues }: z.ZodError): string {
  const faults = issues.slice(0, faultsTold).map(({ path, message }) => {
    const at = path.map(String).join('.')
    return at === '' ? message : `${at}: ${message}`
  })
  const text = faults.join('; ')
  return text.length > replyLimit ? `${text.slice(0, replyLimit)}…` : text
}

/** The tools as an agent reads them: zod's JSON schemas of the arguments, without what says nothing. */
export function specsOf(tools: Readonly<Record<string, DefinedTool<FirstWords>>>): readonly ToolSpec[] {
  return Object.entries(tools).map(([name, { description, parameters }]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(parameters, {
      io: 'input',
      override: ({ jsonSchema }) => {
        // Every whole number that can be written is within these, and they would cost twenty tokens.
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      },
    })
    return { type: 'function', function: { name, description, parameters: schema as JsonObject } }
  })
}
