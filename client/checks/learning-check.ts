/**
 * Checks before a start whether the custom advantage, losses and trainer of a configuration can be loaded.
 *
 * Invariants
 * - A module that cannot be used is refused by the key that names it.
 * - A trainer that cannot be started, or does not offer what the run needs, is refused; it is ended before the run starts.
 */
import { advantageOf, lossChoices } from '../../activities/update/custom-learning.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { ExternalFault } from '../../machine/modules/external-module.ts'
import { importTrainer } from '../../policy/trainer/foreign/module-trainer.ts'
import { type LossChoice, TrainerFault } from '../../policy/trainer/trainer.ts'
import { checkOffer } from '../../policy/trainer/update/losses.ts'
import { createTrainers } from '../../workers/trainers.ts'
import { badValue } from './bad-value.ts'

/** @throws ConfigFault */
export async function checkLearning({ learning, tasks, policy }: RunConfig): Promise<void> {
  await loading('learning.advantage', learning.advantage, () => advantageOf(learning.advantage, []))
  const of = (objective: string) => () => lossChoices({ learning: { objective }, tasks: [{ task: '' }] })
  await loading('learning.objective', learning.objective, of(learning.objective))
  for (const [index, { objective }] of tasks.entries())
    if (objective !== undefined) await loading(`tasks.${index}.objective`, objective, of(objective))
  await checkTrainer(policy, await lossChoices({ learning, tasks }))
}

/** PyTorch is imported within it, also by several ranks on a busy machine. */
const helloSeconds = 120

/** Starts a trainer that is not Perdure's and asks what it can do. */
async function checkTrainer(
  { trainer, threads, trainerStallSeconds }: RunConfig['policy'],
  losses: readonly LossChoice[],
): Promise<void> {
  if (trainer === 'embedded') return
  if (typeof trainer === 'string') await loading('policy.trainer', trainer, () => importTrainer(trainer))
  const trainers = createTrainers()
  const settings = { trainer, threads, trainerStallSeconds: Math.min(trainerStallSeconds, helloSeconds) }
  try {
    await checkOffer(losses, trainers.of(settings))
  } catch (cause) {
    if (!(cause instanceof TrainerFault)) throw cause
    throw badValue('policy.trainer', trainer, `a trainer that can be started: ${cause.message}`, cause)
  } finally {
    await trainers.closeAll()
  }
}

async function loading(key: string, value: string, load: () => Promise<unknown>): Promise<void> {
  try {
    await load()
  } catch (cause) {
    if (!(cause instanceof ExternalFault)) throw cause
    throw badValue(key, value, `a module that can be used: ${cause.message}`, cause)
  }
}
