/**
 * The registry: every task that can be played, trained on and evaluated.
 *
 * Invariants
 * - Names are unique; a task is listed by one line.
 */
import { Fault } from '../faults/fault.ts'
import { alfworld } from './alfworld/definition.ts'
import { bfcl } from './bfcl/definition.ts'
import type { EnvironmentDefinition } from './contract/environment.ts'
import { db } from './db/definition.ts'
import { kg } from './kg/definition.ts'
import { os } from './os/definition.ts'
import { webshop } from './webshop/definition.ts'

/** All tasks. */
export const environments: readonly EnvironmentDefinition[] = [alfworld, bfcl, db, kg, os, webshop]

/** A name that no task has. */
export class UnknownTask extends Fault<'unknown_task'> {
  override readonly name = 'UnknownTask'

  constructor(task: string) {
    super(
      'unknown_task',
      `there is no task "${task}": use ${environments.map(({ name }) => name).join(', ')}`,
    )
  }
}

/** The task of that name. @throws UnknownTask, naming the known ones */
export function findEnvironment(name: string): EnvironmentDefinition {
  const definition = environments.find((known) => known.name === name)
  if (definition === undefined) throw new UnknownTask(name)
  return definition
}
