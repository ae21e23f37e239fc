/**
 * Checks the models that the environment of a task asks.
 *
 * Invariants
 * - A model that is missing, or that nothing asks, is refused by its key.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { askedRoles } from '../../envs/contract/question.ts'
import { badValue } from './start-check.ts'

/** Whether the models are configured that the environment asks, and no others. @throws ConfigFault */
export function checkAskedModels(
  index: number,
  task: RunConfig['tasks'][number],
  { name, asks = [] }: EnvironmentDefinition,
): void {
  for (const role of askedRoles) {
    const key = `tasks.${index}.${role}`
    const isAsked = asks.includes(role)
    if (isAsked && task[role] === undefined)
      throw badValue(
        key,
        'missing',
        `a model, because ${name} asks a ${role}: \`{ from: policy }\` or an endpoint`,
      )
    if (!isAsked && task[role] !== undefined)
      throw badValue(
        key,
        task[role].from,
        `nothing, because ${name} asks no ${role} (\`asks\` of its definition)`,
      )
  }
}
