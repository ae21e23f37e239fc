/**
 * A generated problem as an assignment on a virtual shell.
 *
 * Invariants
 * - The grader reads the file system and the processes past the shell and compares data: no script takes part.
 * - A question is not answered by finishing, nor work by answering.
 */
import type { Assignment, Machine, Submission } from '../machine.ts'
import type { OpenedProblem } from './library.ts'
import { isAnswer, isReached } from './problem.ts'
import type { Shell, ShellThreads } from './threads.ts'

/** The assignment of a problem; its machines live in the threads. */
export function shellAssignment(
  { problem, seed }: OpenedProblem,
  threads: () => Promise<ShellThreads>,
): Assignment {
  return {
    description: problem.description,
    async open(): Promise<Machine> {
      const shell = await (await threads()).open(problem.world, seed)
      return {
        run: (script) => shell.run(script),
        grade: (submission) => grade(problem, shell, submission),
        close: () => shell.close(),
      }
    },
  }
}

async function grade(
  { goal }: OpenedProblem['problem'],
  shell: Shell,
  submission: Submission,
): Promise<boolean> {
  if (goal.kind === 'answer') return submission.kind === 'answer' && isAnswer(submission.answer, goal.answer)
  if (submission.kind !== 'finish') return false
  const { entries, processes } = await shell.snapshot()
  return isReached(goal, { entries: new Map(entries), processes })
}
