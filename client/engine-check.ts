/**
 * Checks the engine of a configuration before anything starts: whether it can be loaded, and do what the run needs.
 *
 * Invariants
 * - An engine that cannot is refused by the key that asks for more; no server is asked for anything.
 */
import { unmetDemand } from '../activities/engine-demands.ts'
import { engineDefinition } from '../activities/engines.ts'
import type { RunConfig } from '../config/schema.ts'
import { ExternalFault } from '../machine/external-module.ts'
import type { EngineDefinition } from '../policy/engines/engine.ts'
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
