/**
 * The tools of an MCP server as an agent has them: selected, under their own names or others.
 *
 * Invariants
 * - [MCP-TOOLS-1] A tool that the server does not have is refused with those that it has.
 * - [MCP-TOOLS-2] A failed call is an answer in words; a refusal of the call itself is one too, and counts as unusable.
 * - [MCP-TOOLS-3] Structured content without a text is its JSON; an answer is cut where no agent could read it.
 */
import type { JsonObject, ToolSpec } from '../../messages/message.ts'
import { type AgentTool, type Answer, fieldsOf, refused } from '../contract/agent-tool.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import { contentText } from '../remote/base/observed-text.ts'
import { checkedTools, type DescribedTool } from '../remote/base/remote-tools.ts'
import type { McpResult } from './mcp-connection.ts'
import type { McpCall } from './mcp-definition.ts'
import type { StartedServer } from './server-pool.ts'

/** An episode. */
export interface McpPlay<State> {
  readonly server: StartedServer
  readonly state: State
  readonly calls: McpCall[]
}

/** Letters of an answer, more than a context holds; transcripts of whole episodes are kept. */
const mostLetters = 1_000_000

/** Names of tools: a list of the server's own, or its own by the agent's. */
export type WantedTools = readonly string[] | Readonly<Record<string, string>>

/** @throws EnvironmentFault `bad_settings`, `bad_data` */
export function mcpTools(
  shown: string,
  offered: readonly DescribedTool[],
  wanted: WantedTools | undefined,
  callMs: number,
): readonly AgentTool<McpPlay<unknown>>[] {
  const chosen = selected(shown, offered, wanted)
  const specs = checkedTools(
    shown,
    chosen.map(({ name, tool }) => ({ ...tool, name, parameters: withoutDialect(tool.parameters) })),
  )
  return specs.map((spec, at) => mcpTool(spec, chosen[at]?.tool.name ?? '', callMs))
}

interface Chosen {
  readonly name: string
  readonly tool: DescribedTool
}

function selected(
  shown: string,
  offered: readonly DescribedTool[],
  wanted: WantedTools | undefined,
): readonly Chosen[] {
  if (wanted === undefined) return offered.map((tool) => ({ name: tool.name, tool }))
  const pairs: readonly (readonly [string, string])[] = Array.isArray(wanted)
    ? wanted.map((name: string) => [name, name])
    : Object.entries(wanted)
  return pairs.map(([name, own]) => {
    const tool = offered.find((each) => each.name === own)
    if (tool !== undefined) return { name, tool }
    const names = offered.slice(0, 50).map((each) => each.name.slice(0, 80))
    throw new EnvironmentFault(
      'bad_settings',
      `${shown} has no tool "${own}": it offers ${names.join(', ') || 'none'}${offered.length > 50 ? ', …' : ''}`,
    )
  })
}

/** The dialect of a schema says nothing to an agent. */
function withoutDialect(parameters: unknown): unknown {
  if (typeof parameters !== 'object' || parameters === null) return parameters
  const { $schema: _, ...schema } = fieldsOf(parameters)
  return schema
}

function mcpTool(spec: ToolSpec, tool: string, callMs: number): AgentTool<McpPlay<unknown>> {
  return {
    spec,
    async call(given, { server, calls }) {
      if (typeof given !== 'object' || given === null || Array.isArray(given))
        return refused(`${spec.function.name} needs a JSON object of arguments.`)
      const sent = given as JsonObject
      const result = await server.connection.call(tool, sent, callMs)
      const answer = 'refusal' in result ? refused(result.refusal) : { reply: textOf(result) }
      const reply = cut(server.folder.readable(answer.reply))
      calls.push({ tool, arguments: sent, reply, isError: 'refusal' in result || result.isError })
      return { ...answer, reply } satisfies Answer
    },
  }
}

function textOf({ content, structuredContent: structured }: McpResult): string {
  const hasText = content.some((part) => fieldsOf(part).type === 'text')
  if (hasText || structured === undefined) return contentText(content)
  const json = JSON.stringify(structured)
  return content.length === 0 ? json : `${json}\n${contentText(content)}`
}

function cut(text: string): string {
  const beyond = text.length - mostLetters
  return beyond > 0 ? `${text.slice(0, mostLetters)}… (${beyond} more letters)` : text
}
