/**
 * Demonstrations of built-in problems: the gold statement, then the answers.
 *
 * Invariants
 * - A demonstration solves its problem; where the task was a change, "done" is committed.
 */
import type { Demonstration, InstanceId } from '../environment.ts'
import { calling } from '../tool-call.ts'
import type { Problem } from './builtin/problem.ts'
import { commitTool, executeTool } from './problem-session.ts'

/** What an expert does who knows the statement. */
export function demonstrate(instance: InstanceId, { statement, answers }: Problem): Demonstration {
  return {
    instance,
    actions: [
      calling(executeTool, { query: statement }),
      calling(commitTool, { answers: answers === undefined ? ['done'] : [...answers] }),
    ],
  }
}
