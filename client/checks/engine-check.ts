/**
 * Checks the engine of a configuration before anything starts: whether it can be loaded, and do what the run needs.
 *
 * Invariants
 * - An engine that cannot is refused by the key that asks for more.
 * - A server that does not answer, or is of another kind, is refused by its address.
 */
import { unmetDemand } from '../../activities/play/engine-demands.ts'
import { engineDefinition } from '../../activities/play/engines.ts'
import { withSecrets } from '../../config/files/secrets.ts'
import { isEngineName } from '../../config/schema/engine-name.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import { ExternalFault } from '../../machine/modules/external-module.ts'
import { type EngineDefinition, EngineFault } from '../../policy/engines/engine.ts'
import { badValue } from './bad-value.ts'

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
