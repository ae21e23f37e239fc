/**
 * The protocol of an environment in another process: JSON Lines on its standard input and output.
 *
 *   {"id": 1, "method": "open",  "params": {"settings": {…}, "dataDir": null | DIR}} → {"splits": [{"name", "size"}], "demonstrates"?}
 *   {"id": 2, "method": "reset", "params": {"instance": ID}}   → {"messages", "tools"?, "info"?}
 *   {"id": 3, "method": "step",  "params": {"action": ACTION}} → {"messages", "reward", "done", "outcome"?, …}
 *   {"id": 4, "method": "close", "params": {}}                 → {}
 *   {"id": 5, "method": "demonstrate", "params": {"instance": ID}} → {"actions": [ACTION] | null}, where it demonstrates
 *
 * Each request is answered by one line, `{"id", "result"}` or `{"id", "error": {"kind", "message"}}`, before the
 * next one is sent. A process plays one episode at a time and many in succession. The `arguments` of a tool
 * call are JSON text, as in OpenAI's API, so that numbers arrive as they were written.
 *
 * Invariants
 * - Whatever the process answers is checked against these schemas before it is used.
 */

import { z } from 'zod'
import { argumentsText } from '../../messages/exact-arguments.ts'
import type { AssistantMessage, ToolSpec } from '../../messages/message.ts'
import { readJson } from '../../messages/read-json.ts'
import type { StepResult } from '../contract/environment.ts'

const facts = z.record(z.string(), z.json())
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.string() }),
  z.object({ role: z.literal('user'), content: z.string() }),
  z.object({ role: z.literal('tool'), name: z.string(), content: z.string() }),
])
const tool = z.object({
  type: z.literal('function'),
  function: z.object({ name: z.string().min(1), description: z.string(), parameters: facts }),
})

/** Kinds of faults that a process may report; the others are found out by the bridge. */
const faultKind = z.enum([
  'unknown_instance',
  'unknown_split',
  'bad_data',
  'bad_settings',
  'session_lost',
  'backend',
])

export const replySchema = z.union([
  z.object({ id: z.int(), result: z.looseObject({}) }),
  z.object({ id: z.int(), error: z.object({ kind: faultKind.catch('backend'), message: z.string() }) }),
])

export const openedSchema = z.object({
  splits: z
    .array(
      z.object({ name: z.string().min(1), size: z.int().min(1).nullable().describe('null without end') }),
    )
    .min(1),
  demonstrates: z.boolean().default(false).describe('Whether it has an expert.'),
})

const stateName = z
  .string()
  .max(256)
  .optional()
  .describe('Names the exact state: equal names, equal states; steps of a group are compared by it.')

export const observationSchema = z.object({
  messages: z.array(message),
  tools: z.array(tool).default([]),
  info: facts.default({}),
  state: stateName,
})

const calledArguments = z.union([
  facts,
  z.string().transform((text, context) => {
    const read = facts.safeParse(readJson(text))
    if (read.success) return read.data
    context.addIssue({ code: 'custom', message: `expected a JSON object, got ${text.slice(0, 100)}` })
    return z.NEVER
  }),
])

/** Actions of an expert; the arguments of a call are JSON text or an object. */
export const demonstratedSchema = z.object({
  actions: z
    .array(
      z.object({
        role: z.literal('assistant'),
        content: z.string().default(''),
        tool_calls: z.array(z.object({ name: z.string(), arguments: calledArguments })).default([]),
      }),
    )
    .nullable(),
})

export const stepSchema = z
  .object({
    messages: z.array(message),
    reward: z.number(),
    done: z.boolean(),
    outcome: z
      .enum(['completed', 'task_limit', 'invalid_action'])
      .optional()
      .describe('How the episode ended; `completed` by default.'),
    invalid: z.boolean().default(false),
    info: facts.default({}),
    state: stateName,
    tools: z.array(tool).optional().describe('Where they differ from now on.'),
  })
  .transform(
    ({ outcome, invalid, tools, done, state, ...rest }): { result: StepResult; tools?: ToolSpec[] } => ({
      result: {
        ...rest,
        done,
        ...(done ? { outcome: outcome ?? 'completed' } : {}),
        ...(invalid ? { invalid } : {}),
        ...(state === undefined ? {} : { state }),
      },
      ...(tools === undefined ? {} : { tools }),
    }),
  )

/** An action in the form that the process receives; an action without a valid call is unchanged. */
export function wireAction(action: AssistantMessage): object {
  const calls: unknown = action.tool_calls
  return {
    role: 'assistant',
    content: typeof action.content === 'string' ? action.content : '',
    ...(Array.isArray(calls) ? { tool_calls: calls.map(wireCall) } : {}),
  }
}

function wireCall(call: unknown): unknown {
  if (typeof call !== 'object' || call === null || Array.isArray(call)) return null
  const { name, arguments: given, exactArguments } = call as Record<string, unknown>
  return {
    name: typeof name === 'string' ? name : null,
    arguments: argumentsText({
      name: '',
      arguments: (given === undefined ? {} : given) as never,
      ...(typeof exactArguments === 'string' ? { exactArguments } : {}),
    }),
  }
}
