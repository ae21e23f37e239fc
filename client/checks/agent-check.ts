/**
 * Checks the program that plays the episodes of a task, where one does.
 *
 * Invariants
 * - [AGENT-CHECK-1] A program that cannot be found is refused by its key, and so is one for an environment of several turns: that
 *   environment is played by its own tools, step by step, and a program has no way to them.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { badValue } from './start-check.ts'

/** @throws ConfigFault */
export function checkAgent(
  index: number,
  { agent }: RunConfig['tasks'][number],
  { name, turnLimit }: EnvironmentDefinition,
): void {
  if (agent === undefined) return
  const key = `tasks.${index}.agent`
  if (turnLimit !== 1)
    throw badValue(
      key,
      agent.command,
      `nothing: ${name} steps by itself, over up to ${turnLimit} turns; an agent's own program plays environments of one turn, whose first words are its prompt and whose step is its grader`,
    )
  const [program = ''] = agent.command
  if (!isProgram(program))
    throw badValue(
      `${key}.command`,
      agent.command,
      `a program on the PATH or a path that begins with ./, ../ or /: "${program}" is none`,
    )
}

function isProgram(word: string): boolean {
  if (word.includes('/')) return isExecutable(word)
  return (process.env.PATH ?? '').split(delimiter).some((folder) => isExecutable(join(folder, word)))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
