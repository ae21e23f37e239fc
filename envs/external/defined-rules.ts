/**
 * How a session of an environment in short form is played: its own tools, schemas and start.
 *
 * Invariants
 * - Arguments reach a tool only after its schema has passed them; what it refuses is answered in words
 *   and leaves the state as it was.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { type AgentTool, type Answer, calledName, refused } from '../contract/agent-tool.ts'
import { checkReward, EnvironmentFault, type InstanceId } from '../contract/environment.ts'
import { type Ask, unasked } from '../contract/question.ts'
import type { SessionRules } from '../contract/tool-session.ts'
import type { DefinedTool, FirstWords, ToolAnswer } from './definition.ts'

/** The parts of the rules. */
export interface RuleParts {
  readonly name: string
  readonly tools: Readonly<Record<string, DefinedTool<FirstWords>>>
  readonly start: (instance: InstanceId, ask: Ask) => Promise<FirstWords>
  readonly answer?:
    | ((content: string, state: FirstWords, ask: Ask) => ToolAnswer | Promise<ToolAnswer>)
    | undefined
  readonly state?: ((state: FirstWords) => string) | undefined
  readonly close?: ((state: FirstWords) => void | Promise<void>) | undefined
}

/** A schema may name every key of a large object; the agent reads the first faults. */
const faultsShown = 5
const replyLimit = 500
/** The name that a call without one is answered under. */
const unnamed = 'error'

/** The rules of sessions; the state of an episode is what `start` returned. */
export function rulesOf({
  name,
  tools,
  start,
  answer,
  state: stateOf,
  close,
}: RuleParts): SessionRules<FirstWords> {
  const names = Object.keys(tools)
  const advice = names.length === 0 ? 'Answer in words.' : `Call ${listed(names)}.`
  return {
    tools: Object.entries(tools).map(([tool, defined]) => agentTool(name, tool, defined)),
    unnamed,
    noSuchTool: (called) => `There is no tool "${calledName({ name: called }, unnamed)}". ${advice}`,
    async noCall(content, state, ask) {
      const isText = typeof content === 'string' && content.trim() !== ''
      if (answer === undefined || !isText) return refused(advice)
      return checked(name, name, await answer(content, state, ask))
    },
    over: 'The episode is over.',
    idle: `no episode of ${name} is being played here`,
    async open(instance, ask) {
      const state = await start(instance, ask)
      const { system, prompt, kind } = state
      return { play: state, system, prompt, ...(typeof kind === 'string' ? { kind } : {}) }
    },
    facts: (_, facts) => Object.assign({}, ...facts),
    state: stateOf,
    close,
  }
}

/** A tool as an agent reads and calls it. @param of the environment's name */
function agentTool(
  of: string,
  name: string,
  { description, parameters, run }: DefinedTool<FirstWords>,
): AgentTool<FirstWords> {
  const shown = calledName({ name }, unnamed)
  return {
    spec: {
      type: 'function',
      function: { name, description, parameters: jsonSchemaOf(parameters) },
    },
    async call(given, state, ask = unasked) {
      const read = await parameters.safeParseAsync(given)
      if (!read.success) return refused(`${shown}: ${faultsOf(read.error)}`)
      return checked(of, shown, await run(read.data, state, ask))
    },
  }
}

/** @throws EnvironmentFault `bad_data`: trying again would pay the same */
function checked(of: string, what: string, given: ToolAnswer): Answer {
  const answer: Answer = typeof given === 'string' ? { reply: given } : given
  const { reply, reward = 0, done = false, info } = answer
  if (typeof reply !== 'string')
    throw new EnvironmentFault(
      'bad_data',
      `${what} of ${of} returned the reply ${String(reply)}: a reply is a text`,
    )
  checkReward(`${what} of ${of}`, reward)
  // An empty message would tell the agent nothing, and templates leave it out.
  return { reply: reply === '' ? 'Done.' : reply, reward, done, ...(info === undefined ? {} : { info }) }
}

function listed(names: readonly string[]): string {
  return names.length === 1 ? `the tool ${names[0]}` : `one of the tools ${names.join(', ')}`
}

/** The faults that a schema found, each with its argument. */
function faultsOf({ issues }: z.ZodError): string {
  const faults = issues.slice(0, faultsShown).map(({ path, message }) => {
    const at = path.map(String).join('.')
    return at === '' ? message : `${at}: ${message}`
  })
  const text = faults.join('; ')
  return text.length > replyLimit ? `${text.slice(0, replyLimit)}…` : text
}

/** The arguments as an agent reads them: zod's JSON schema, without what says nothing. */
function jsonSchemaOf(parameters: z.ZodObject): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(parameters, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // Every whole number that can be written is within these, and they would cost twenty tokens.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return schema as JsonObject
}
