/**
 * Checks before a start whether the custom algorithms and trainer of a configuration can be loaded.
 *
 * Invariants
 * - A module that cannot be used is refused by the key that names it.
 * - A trainer that cannot be started, or does not offer what the run needs, is refused; it is ended before the run starts.
 * - An engine that cannot is refused by the key that asks for more.
 * - A server that does not answer, or is of another kind, is refused by its address.
 */

import { unmetDemand } from '../../activities/play/engine-demands.ts'
import { engineDefinition } from '../../activities/play/engines.ts'
import { advantagesBy } from '../../activities/update/advantage-thread.ts'
import { lossChoices } from '../../activities/update/loss-choices.ts'
import { ConfigFault } from '../../config/files/fault.ts'
import { withSecrets } from '../../config/files/secrets.ts'
import { isEngineName } from '../../config/schema/engine-name.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { reasonOf } from '../../faults/reason.ts'
import { isServerAddress } from '../../identity/tracker-place.ts'
import { probeFolder } from '../../machine/files/folder.ts'
import { ExternalFault } from '../../machine/modules/external-module.ts'
import { type EngineDefinition, EngineFault } from '../../policy/engines/engine.ts'
import { importTrainer } from '../../policy/trainer/foreign/module-trainer.ts'
import { type LossChoice, TrainerFault } from '../../policy/trainer/trainer.ts'
import { checkOffer } from '../../policy/trainer/update/losses.ts'
import { createTrainers } from '../../workers/trainers.ts'

/** @throws ConfigFault */
export async function checkLearning({ learning, tasks, policy }: RunConfig): Promise<void> {
  const load = (algorithm: string) => () => advantagesBy(algorithm, [], learning)
  await loading('learning.algorithm', learning.algorithm, load(learning.algorithm))
  for (const [index, { objective }] of tasks.entries())
    if (objective !== undefined) await loading(`tasks.${index}.objective`, objective, load(objective))
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

/** @throws ConfigFault */
export function checkTrackers({ trackers }: RunConfig): void {
  for (const [name, folder] of Object.entries(trackers)) {
    if (folder === undefined || isServerAddress(folder)) continue
    try {
      probeFolder(folder)
    } catch (error) {
      throw badValue(`trackers.${name}`, folder, `a folder that can be written (${reasonOf(error)})`, error)
    }
  }
}

/** @throws ConfigFault */
export async function checkEngine(config: RunConfig): Promise<void> {
  const unmet = unmetDemand(config, await definitionOf(config.policy.engine))
  if (unmet !== undefined) throw badValue(unmet.key, unmet.value, unmet.allowed)
}

async function definitionOf(engine: string): Promise<EngineDefinition> {
  try {
    return await engineDefinition(engine)
  } catch (cause) {
    if (!(cause instanceof ExternalFault)) throw cause
    throw badValue('policy.engine', engine, `a module with an engine: ${cause.message}`, cause)
  }
}

/** Servers answer this request at once, even while they sample. */
const answerMs = 10_000

/** Whether the servers are there that actions are sampled from. @throws ConfigFault */
export async function checkServers({ policy }: RunConfig): Promise<void> {
  const { engine, engineUrl = [], engineApiKey } = policy
  if (engine === 'embedded' || !isEngineName(engine)) return
  const { serverKind } = await import('../../policy/dialects/server-check.ts')
  const { shown } = await import('../../policy/served/server-call.ts')
  const apiKey = engineApiKey === undefined ? undefined : withSecrets(engineApiKey, 'policy.engineApiKey')
  for (const url of [withSecrets(engineUrl, 'policy.engineUrl')].flat()) {
    const refuse = (problem: string, cause?: unknown) =>
      badValue(
        'policy.engineUrl',
        engineUrl,
        `the address of a running server of ${engine}: ${problem}`,
        cause,
      )
    try {
      const { name } = await serverKind(url, apiKey, answerMs)
      if (name !== engine) throw refuse(`${shown(url)} is one of ${name}`)
    } catch (cause) {
      throw cause instanceof EngineFault ? refuse(cause.message, cause) : cause
    }
  }
}

/** @param allowed ready to follow "expected" */
export function badValue(key: string, value: unknown, allowed: string, cause?: unknown): ConfigFault {
  const text = JSON.stringify(value)
  const message = `\`${key}\` is ${text}: expected ${allowed}`
  return new ConfigFault('bad_value', [{ key, value: text, allowed, where: '', message }], { cause })
}
