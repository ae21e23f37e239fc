/**
 * Demonstrations: the solution's scripts, one a turn, then the submission.
 *
 * Invariants
 * - The submitted answer is the output of the last script; nothing else of the grader's knowledge is in it.
 */
import type { AssistantMessage } from '../../messages/message.ts'
import { calling } from '../contract/agent-tool.ts'
import type { Demonstration, InstanceId } from '../contract/environment.ts'
import { containerAssignment } from './containers/machine.ts'
import type { MachineRoom } from './containers/preparation.ts'
import type { OsItem } from './item.ts'

/** The agent's message that runs a script. */
export function runs(script: string): AssistantMessage {
  return calling('bash_action', { script })
}

/** The agent's message that answers. */
export function answers(answer: string): AssistantMessage {
  return calling('answer_action', { answer })
}

/** The agent's message that says the work is done. */
export function finishes(thought: string): AssistantMessage {
  return calling('finish_action', { thought })
}

/**
 * The example solution of an official item, played on a machine; undefined where there is none in bash or
 * where it does not fulfil the item.
 */
export async function demonstrateByExample(
  instance: InstanceId,
  item: OsItem,
  room: () => Promise<MachineRoom>,
): Promise<Demonstration | undefined> {
  const { example } = item
  if (example?.language !== 'bash') return undefined
  const machine = await containerAssignment(item, room).open()
  try {
    const answer = (await machine.run(example.code)).output.trim()
    const isQuestion = item.evaluation.kind !== 'check' || item.evaluation.chain.includes('example')
    const submission = isQuestion
      ? ({ kind: 'answer', answer } as const)
      : ({ kind: 'finish', thought: 'done' } as const)
    if (!(await machine.grade(submission))) return undefined
    return { instance, actions: [runs(example.code), isQuestion ? answers(answer) : finishes('done')] }
  } finally {
    await machine.close()
  }
}
