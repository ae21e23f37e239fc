/** Plays on MCP servers as they are published, with what the agent reads: for the recorded servers and for the real ones. */
import { expect } from 'vitest'
import type { AssistantMessage, JsonObject } from '../../messages/message.ts'
import type { McpAddress, McpProgram } from './mcp-definition.ts'
import { mcpEnvironment } from './mcp-environment.ts'

/** A play, and the answer to each call. */
export interface Play {
  /** Name of the package and of the recording. */
  readonly server: 'server-filesystem' | 'server-everything'
  readonly of: string
  /** The first of the tools. */
  readonly tools: readonly string[]
  readonly calls: readonly (readonly [tool: string, given: JsonObject, reply: RegExp, isError?: true])[]
}

/** One over standard input and output, and one over HTTP. */
export const plays: readonly Play[] = [
  {
    server: 'server-filesystem',
    of: '@modelcontextprotocol/server-filesystem 2026.8.31',
    tools: ['read_file', 'read_text_file', 'read_media_file'],
    calls: [
      ['list_directory', { path: '.' }, /^\(nothing to read\)$/],
      ['write_file', { path: 'a.txt', content: 'one\n' }, /^Successfully wrote to a\.txt$/],
      ['read_text_file', { path: 'a.txt' }, /^one\n$/],
      ['read_text_file', { path: 'b.txt' }, /^ENOENT: no such file or directory, open '\.\/b\.txt'$/, true],
      ['read_text_file', {}, /Invalid arguments for tool read_text_file/, true],
      ['read_text_file', { path: '/etc/passwd' }, /^Access denied - path outside allowed directories/, true],
      ['list_allowed_directories', {}, /^Allowed directories:\n\.$/],
    ],
  },
  {
    server: 'server-everything',
    of: '@modelcontextprotocol/server-everything 2026.8.31',
    tools: ['echo', 'get-annotated-message', 'get-env'],
    calls: [
      ['echo', { message: 'hi' }, /^Echo: hi$/],
      ['get-sum', { a: 1, b: 2 }, /^The sum of 1 and 2 is 3\.$/],
      ['get-sum', { a: 'x' }, /Invalid arguments for tool get-sum/, true],
      ['get-tiny-image', {}, /^Here's the image you requested:\n\[image image\/png\]\nThe image above/],
      ['get-structured-content', { location: 'Chicago' }, /^\{"temperature":36,/],
      ['get-resource-links', { count: 2 }, /\[resource_link text\/plain\]/],
      ['trigger-long-running-operation', { duration: 1, steps: 2 }, /^Long running operation completed/],
    ],
  },
]

/** Plays it twice, and holds what comes back against what it says. */
export async function playThrough(play: Play, server: McpProgram | McpAddress): Promise<void> {
  const task = await mcpEnvironment('played', {
    server,
    startedAhead: 0,
    start: () => ({ prompt: 'Play.' }),
    grade: ({ calls, answer }) => {
      expect(calls.map(({ isError }) => isError)).toEqual(
        play.calls.map(([, , , isError = false]) => isError),
      )
      return answer === 'Done.' ? 1 : 0
    },
  }).open({})
  const session = await task.create()
  try {
    for (const instance of ['train/0', 'test/0']) {
      await session.reset(instance)
      expect(session.tools.slice(0, 3).map((tool) => tool.function.name)).toEqual(play.tools)
      for (const [name, given, reply] of play.calls) {
        const action: AssistantMessage = {
          role: 'assistant',
          content: '',
          tool_calls: [{ name, arguments: given }],
        }
        const { messages, reward, done } = await session.step(action)
        expect(messages).toEqual([{ role: 'tool', name, content: expect.stringMatching(reply) }])
        expect([reward, done]).toEqual([0, false])
      }
      const last = await session.step({ role: 'assistant', content: 'Done.' })
      expect(last).toMatchObject({ reward: 1, done: true, outcome: 'completed' })
    }
  } finally {
    await session.close()
    await task.close()
  }
}
