/**
 * The engine of a run, as its configuration names it: one that comes with Perdure, or one of a module.
 *
 * Invariants
 * - Each engine is loaded when a run first asks for it.
 * - A module that does not load, or exports no engine, is named with what to do.
 */

import { withSecrets } from '../../config/files/secrets.ts'
import { type EngineName, isEngineName } from '../../config/schema/engine-name.ts'
import type { RunConfig } from '../../config/schema/schema.ts'
import type { RunId } from '../../identity/identity.ts'
import { isSynchronous } from '../../learning/rollout/admission.ts'
import { type Engine, type EngineDefinition, EngineFault } from '../../policy/engines/engine.ts'
import { importEngine } from '../../policy/engines/module-engine.ts'
import { changesPolicy, unmetDemand } from './engine-demands.ts'

const named: Record<EngineName, () => Promise<EngineDefinition>> = {
  embedded: async () => (await import('../../policy/embedded-engine/embedded.ts')).embeddedEngine,
  'llama.cpp': async () => (await import('../../policy/dialects/llama-cpp.ts')).llamaCppEngine,
  vllm: async () => (await import('../../policy/dialects/vllm.ts')).vllmEngine,
  sglang: async () => (await import('../../policy/dialects/sglang.ts')).sglangEngine,
}

/** The engine that `policy.engine` names. @throws ExternalFault */
export async function engineDefinition(engine: string): Promise<EngineDefinition> {
  return isEngineName(engine) ? await named[engine]() : await importEngine(engine)
}

/**
 * The engine of a run.
 * @throws EngineFault `unsupported` where it cannot do what the configuration needs
 */
export async function openEngine(
  config: RunConfig,
  run: RunId,
  log: (line: string) => void,
): Promise<Engine> {
  const definition = await engineDefinition(config.policy.engine)
  const unmet = unmetDemand(config, definition)
  if (unmet !== undefined)
    throw new EngineFault(
      'unsupported',
      `\`${unmet.key}\` is ${JSON.stringify(unmet.value)}: expected ${unmet.allowed}`,
    )
  const { engineUrl = [], engineApiKey, threads, contextLength, engineTimeoutSeconds } = config.policy
  return await definition.open({
    run,
    urls: [withSecrets(engineUrl, 'policy.engineUrl')].flat(),
    apiKey: engineApiKey === undefined ? undefined : withSecrets(engineApiKey, 'policy.engineApiKey'),
    threads,
    contextLength,
    // Only a synchronous run is reproducible to the byte: what else is in flight follows from timing otherwise.
    exact: isSynchronous(config.rollout),
    trains: changesPolicy(config),
    answerMs: engineTimeoutSeconds * 1000,
    log,
  })
}
