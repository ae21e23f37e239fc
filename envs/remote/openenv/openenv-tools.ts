/**
 * The tools of an OpenEnv server: `act` with the fields of its action, or the MCP tools that it offers under their own names.
 *
 * Invariants
 * - [OPENENV-TOOLS-1] An MCP tool's failure is an answer in words; a failure of the transport is a lost session.
 */
import { z } from 'zod'
import type { JsonObject, ToolSpec } from '../../../messages/message.ts'
import { type AgentTool, type Answer, fieldsOf, refused } from '../../contract/agent-tool.ts'
import { checkReward, EnvironmentFault } from '../../contract/environment.ts'
import { contentText, observedText } from '../base/observed-text.ts'
import { checkedTools, type DescribedTool } from '../base/remote-tools.ts'
import type { Observed, OpenEnvConnection, Refused } from './connection.ts'

/** An episode. */
export interface OpenEnvPlay {
  readonly connection: OpenEnvConnection
  readonly shown: string
  readonly stepMs: number
}

const listedSchema = z.object({
  tools: z.array(
    z.object({ name: z.string(), description: z.string().catch(''), input_schema: z.unknown() }),
  ),
})

/** Whether the server's action calls MCP tools. @param action its JSON schema */
export function callsTools(action: unknown): boolean {
  const { type, tool_name: name } = fieldsOf(fieldsOf(action).properties)
  return fieldsOf(type).const === 'call_tool' && name !== undefined
}

/** The tool of an environment with typed actions. @throws EnvironmentFault `bad_data` */
export function actTool(shown: string, action: unknown): AgentTool<OpenEnvPlay> {
  const { title: _, description, properties, required, ...schema } = fieldsOf(action)
  const { metadata: __, ...fields } = fieldsOf(properties)
  const parameters = {
    ...schema,
    properties: fields,
    ...(Array.isArray(required) ? { required: required.filter((name) => name !== 'metadata') } : {}),
  }
  const about = typeof description === 'string' && description !== '' ? description : 'Acts.'
  const [spec] = checkedTools(shown, [{ name: 'act', description: about, parameters }])
  return {
    spec: spec as ToolSpec,
    call: (given, play) =>
      stepped(
        play,
        'act',
        given,
        (fieldsGiven) => fieldsGiven,
        ({ observation }) => ({ reply: observedText(observation) }),
      ),
  }
}

/** The MCP tools that the server lists. @throws EnvironmentFault */
export async function mcpTools(
  connection: OpenEnvConnection,
  shown: string,
  withinMs: number,
): Promise<readonly AgentTool<OpenEnvPlay>[]> {
  const listed = await connection.step('{"type":"list_tools"}', withinMs)
  const read = listedSchema.safeParse('invalid' in listed ? undefined : listed.observation)
  if (!read.success)
    throw new EnvironmentFault(
      'bad_data',
      `${shown}: its list of tools cannot be read: ${z.prettifyError(read.error).replaceAll(/\s+/g, ' ').slice(0, 300)}`,
    )
  const described = read.data.tools.map(
    ({ name, description, input_schema: parameters }): DescribedTool => ({ name, description, parameters }),
  )
  return checkedTools(shown, described).map((spec) => mcpTool(spec))
}

function mcpTool(spec: ToolSpec): AgentTool<OpenEnvPlay> {
  const { name } = spec.function
  return {
    spec,
    call: (given, play) =>
      stepped(
        play,
        name,
        given,
        (fields) => ({ type: 'call_tool', tool_name: name, arguments: fields }),
        ({ observation }) => resultOf(observation, play.shown, name),
      ),
  }
}

/** Faults of the way to the tool, not of the call. */
const lostTypes = ['transport_error', 'timeout']

function resultOf(observation: unknown, shown: string, tool: string): Answer {
  const { result, error } = fieldsOf(observation)
  const { error_type: type, message } = fieldsOf(error)
  if (typeof type === 'string') {
    if (lostTypes.includes(type))
      throw new EnvironmentFault(
        'session_lost',
        `${shown}: the tool "${tool}" failed there (${type}: ${String(message)})`,
      )
    return refused(String(message).slice(0, 2000))
  }
  const { content, data } = fieldsOf(result)
  if (Array.isArray(content) && content.length > 0) return { reply: contentText(content) }
  return { reply: observedText(data ?? result) }
}

/** Sends one action. @throws EnvironmentFault */
async function stepped(
  { connection, shown, stepMs }: OpenEnvPlay,
  tool: string,
  given: unknown,
  actionOf: (fields: JsonObject) => JsonObject,
  answerOf: (observed: Observed) => Answer,
): Promise<Answer> {
  const action = isObject(given) ? textOf(actionOf(given)) : undefined
  if (action === undefined) return refused(`${tool} needs a JSON object of arguments.`)
  const observed: Observed | Refused = await connection.step(action, stepMs)
  if ('invalid' in observed) return refused(`${tool}: ${observed.invalid}`)
  const answer = answerOf(observed)
  const reward = rewardOf(observed, shown)
  return { ...answer, reward, ...(observed.done ? { done: true } : {}) }
}

/** A step may leave its reward open, the last one may not. @throws EnvironmentFault `bad_data` */
function rewardOf({ reward, done }: Observed, shown: string): number {
  if (reward === null && !done) return 0
  const paid = typeof reward === 'boolean' ? Number(reward) : reward
  checkReward(shown, paid)
  return paid as number
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @returns undefined for what is nested deeper than can be written */
function textOf(value: JsonObject): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}
