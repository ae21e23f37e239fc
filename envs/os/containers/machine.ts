/**
 * An official item as an assignment on a machine in a container.
 *
 * Invariants
 * - The agent's machine is made ready by the item's own scripts before the agent acts.
 * - A machine that the agent has ended answers that it has, and fulfils nothing but an answer to match.
 * - The engine is only spoken to when the first machine is needed; closing leaves no container.
 */

import type { Container } from '../../../worlds/containers/sandbox.ts'
import type { TaskOptions } from '../../contract/environment.ts'
import { isQuestion, type OsItem } from '../item.ts'
import type { Assignment, Machine, ScriptResult } from '../machine.ts'
import type { OsSettings } from '../settings.ts'
import { gradeItem } from './grader.ts'
import { createImages } from './image.ts'
import { continued } from './invocation.ts'
import { type MachineRoom, preparedMachine } from './preparation.ts'
import { openTaskSandbox } from './sandbox.ts'

/** The assignment of an item. */
export function containerAssignment(item: OsItem, room: () => Promise<MachineRoom>): Assignment {
  return {
    description: item.description,
    kind: isQuestion(item) ? 'question' : 'work',
    async open(): Promise<Machine> {
      return new ContainerMachine(item, await room(), await preparedMachine(item, await room()))
    },
  }
}

class ContainerMachine implements Machine {
  readonly #item: OsItem
  readonly #room: MachineRoom
  readonly #container: Container

  constructor(item: OsItem, room: MachineRoom, container: Container) {
    this.#item = item
    this.#room = room
    this.#container = container
  }

  async run(script: string): Promise<ScriptResult> {
    const { stdout, stderr, exitCode, timedOut, ended } = await this.#container.exec(continued(script), {
      deadlineMs: this.#room.scriptMs,
    })
    const output = `${stdout}${stderr}`
    if (ended !== undefined) return { output: `${output}${endings[ended]}\n`, exitCode }
    if (timedOut) return { output: `${output}bash: the script ran out of time and was stopped\n`, exitCode }
    return { output, exitCode }
  }

  grade(submission: Parameters<Machine['grade']>[0]): Promise<boolean> {
    const text = submission.kind === 'answer' ? submission.answer : submission.thought
    return gradeItem(this.#item, text, this.#container, this.#room)
  }

  close(): Promise<void> {
    return this.#container.release()
  }
}

const endings = {
  killed: 'The machine was shut down and cannot be used any more.',
  out_of_memory: 'The machine ran out of memory and cannot be used any more.',
  out_of_disk: 'The machine ran out of disk space and cannot be used any more.',
} as const

/** @throws EnvironmentFault backend where no engine answers, with what to do */
export async function openMachineRoom(
  { image, scriptSeconds, needs }: Pick<OsSettings, 'image' | 'scriptSeconds' | 'needs'>,
  { folder, leases }: Pick<TaskOptions, 'folder' | 'leases'> = {},
): Promise<MachineRoom & { close(): Promise<void> }> {
  const sandbox = await openTaskSandbox({ leases })
  return {
    sandbox,
    imageOf: createImages(sandbox, image, { folder, leases }),
    scriptMs: scriptSeconds * 1_000,
    needs,
    close: () => sandbox.close(),
  }
}
