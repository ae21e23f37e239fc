/**
 * Demonstrations of built-in problems: the gold statement, then the answers.
 *
 * Invariants
 * - A demonstration solves its problem; where the task was a change, "done" is committed.
 */
import type { AssistantMessage, Demonstration, InstanceId, JsonObject } from '../environment.ts'
import type { Problem } from './builtin/problem.ts'
import { commitTool, executeTool } from './tools.ts'

/** What an expert does who knows the statement. */
export function demonstrate(instance: InstanceId, { statement, answers }: Problem): Demonstration {
  return {
    instance,
    actions: [
      called(executeTool, { query: statement }),
      called(commitTool, { answers: answers === undefined ? ['done'] : [...answers] }),
    ],
  }
}

function called(name: string, args: JsonObject): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name, arguments: args }] }
}
