/**
 * A message of an episode: what an environment and the agent say to each other.
 *
 * Invariants
 * - The calls of one assistant message are answered by tool messages in their order.
 */
import type { ToolCall } from './tool.ts'

export interface SystemMessage {
  readonly role: 'system'
  readonly content: string
}
export interface UserMessage {
  readonly role: 'user'
  readonly content: string
}
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string
  readonly tool_calls?: readonly ToolCall[]
}
/** The answer to a tool call. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly name: string
  readonly content: string
}
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage
