/**
 * An environment whose tools are those of an MCP server, started for each episode or reached over HTTP:
 *
 * ```ts
 * export const notes = mcpEnvironment('notes', {
 *   server: { command: 'npx', args: ['mcp-server-filesystem', '.'] },
 *   tools: ['read_text_file', 'write_file'],
 *   start: () => ({ prompt: 'Write the word "done" into note.txt.' }),
 *   grade: async ({ files }) => ((await files.read('note.txt')) === 'done' ? 1 : 0),
 * })
 * ```
 *
 * Invariants
 * - [MCP-ENVIRONMENT-1] Defining one loads neither the SDK of MCP nor anything else that plays it.
 * - A definition that cannot work is refused where it is written.
 */
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { z } from 'zod'
import type { EnvironmentDefinition } from '../contract/environment.ts'
import type { FirstWords } from '../external/definition.ts'
import { statedFacts } from '../external/stated-facts.ts'
import type { McpEnvironment } from './mcp-definition.ts'

/** Turns of an episode: tasks with tools take longer than a game of questions. */
const turnLimit = 30
const defaultLimits = { startSeconds: 60, callSeconds: 60, startedAhead: 2 } as const
const mostSeconds = 3600
/** Each is a process that waits. */
const mostAhead = 64

/**
 * The environment of that name.
 * @param name small letters, digits, `-` and `_`, at most 40
 * @throws RangeError a name, limit or server that cannot be used
 */
export function mcpEnvironment<
  State extends FirstWords,
  Item = undefined,
  Settings extends z.ZodObject = z.ZodObject<Record<never, never>>,
>(name: string, definition: McpEnvironment<State, Item, Settings>): EnvironmentDefinition {
  const facts = statedFacts(name, definition, { turnLimit, reward: 'what its grader pays' })
  const { replayable = false } = definition
  const limits = limitsOf(name, definition)
  const isProgram = 'command' in definition.server
  if (isProgram === 'url' in definition.server)
    throw new RangeError(`server of ${name} has a command or a url, one of both`)
  return {
    ...facts,
    replayable,
    replayableBecause: replayable
      ? 'its author says so (replayable: true)'
      : 'what a server does with the same actions is not known here; replayable: true says that it is the same',
    // The limits of single requests come first: they name the server. A server that was started ahead and is lost is started again.
    stepTimeoutSeconds: Math.max(limits.startSeconds * 2, limits.callSeconds) + 60,
    sources: 'command' in definition.server ? filesOf(definition.server) : [],
    async open(options) {
      const { openMcpTask } = await import('./mcp-task.ts')
      return await openMcpTask(name, { ...definition, ...limits, turnLimit: facts.turnLimit }, options)
    },
  }
}

function limitsOf(
  name: string,
  {
    startSeconds = defaultLimits.startSeconds,
    callSeconds = defaultLimits.callSeconds,
    startedAhead = defaultLimits.startedAhead,
  }: Partial<Record<keyof typeof defaultLimits, number>>,
): Record<keyof typeof defaultLimits, number> {
  for (const [key, seconds] of Object.entries({ startSeconds, callSeconds }))
    if (!(seconds >= 1 && seconds <= mostSeconds))
      throw new RangeError(`${key} of ${name} is ${seconds}, expected 1 to ${mostSeconds}`)
  if (!(Number.isInteger(startedAhead) && startedAhead >= 0 && startedAhead <= mostAhead))
    throw new RangeError(
      `startedAhead of ${name} is ${startedAhead}, expected a whole number to ${mostAhead}`,
    )
  return { startSeconds, callSeconds, startedAhead }
}

/** Absolute files of the command: answers follow from them. */
function filesOf({ command, args = [] }: { command: string; args?: readonly string[] }): readonly string[] {
  return [command, ...args].filter(
    (word) => isAbsolute(word) && statSync(word, { throwIfNoEntry: false })?.isFile() === true,
  )
}
