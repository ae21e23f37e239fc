/**
 * Checks what a configuration has of someone's own for learning before anything starts: whether it can be loaded.
 *
 * Invariants
 * - A module that cannot be used is refused by the key that names it.
 */
import { advantageOf, lossChoices } from '../activities/own-learning.ts'
import type { RunConfig } from '../config/schema.ts'
import { ExternalFault } from '../machine/external-module.ts'
import { importTrainer } from '../policy/trainer/module-trainer.ts'
import { badValue } from './bad-value.ts'

/** @throws ConfigFault */
export async function checkLearning({ learning, tasks, policy: { trainer } }: RunConfig): Promise<void> {
  if (trainer !== 'embedded' && typeof trainer === 'string')
    await loading('policy.trainer', trainer, () => importTrainer(trainer))
  await loading('learning.advantage', learning.advantage, () => advantageOf(learning.advantage))
  const of = (objective: string) => () => lossChoices({ learning: { objective }, tasks: [{ task: '' }] })
  await loading('learning.objective', learning.objective, of(learning.objective))
  for (const [index, { objective }] of tasks.entries())
    if (objective !== undefined) await loading(`tasks.${index}.objective`, objective, of(objective))
}

async function loading(key: string, value: string, load: () => Promise<unknown>): Promise<void> {
  try {
    await load()
  } catch (cause) {
    if (!(cause instanceof ExternalFault)) throw cause
    throw badValue(key, value, `a module that can be used: ${cause.message}`, cause)
  }
}
