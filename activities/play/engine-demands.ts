/**
 * The demands of a run's configuration on its engine.
 *
 * Invariants
 * - [DEMAND-1] An engine that cannot do what the configuration needs is refused before anything is sampled, and the
 *   refusal names the key and what would be possible.
 */
import type { RunConfig } from '../../config/schema/schema.ts'
import { isSynchronous } from '../../learning/rollout/admission.ts'
import type { EngineDefinition } from '../../policy/engines/engine.ts'

/** A key that asks for more than the engine can do. */
export interface UnmetDemand {
  readonly key: string
  readonly value: unknown
  /** Ready to follow "expected". */
  readonly allowed: string
}

/** Whether a run changes its policy, so that its engine has to have more than what it begins with. */
export function changesPolicy({ training, warmStart }: Pick<RunConfig, 'training' | 'warmStart'>): boolean {
  return training.updates > 0 || warmStart.demonstrations > 0
}

/** The first such key; undefined where the engine will do. */
export function unmetDemand(
  config: RunConfig,
  { name, capabilities }: Pick<EngineDefinition, 'name' | 'capabilities'>,
): UnmetDemand | undefined {
  const { policy, rollout, training } = config
  const { adapters = false, exact } = capabilities
  const learns = training.updates > 0
  if (policy.lora !== undefined && learns && !adapters)
    return {
      key: 'policy.lora',
      value: policy.lora,
      allowed: `nothing, because the engine ${name} loads no adapters`,
    }
  const ofServers = unmetByServers(config, { name, capabilities })
  if (ofServers !== undefined || !learns) return ofServers
  // Adapters are there beside one another.
  const ofNewest =
    capabilities.versions === 'latest' && policy.lora === undefined ? unmetByNewest(config, name) : undefined
  if (ofNewest !== undefined) return ofNewest
  if (!exact && isSynchronous(rollout))
    return {
      key: 'rollout.maxStaleness',
      value: rollout.maxStaleness,
      allowed: `1 or more: a synchronous run is repeatable to the byte, and the engine ${name} is not`,
    }
  return undefined
}

/** Demands that servers cannot meet which are started with a model before the run is. */
function unmetByServers(
  config: RunConfig,
  { name, capabilities: { versions, adapters = false, served = false } }: Parameters<typeof unmetDemand>[1],
): UnmetDemand | undefined {
  const { policy, training, warmStart } = config
  if (versions === 'first') {
    const byAdapters = adapters ? ', unless policy.lora makes versions adapters, which it loads' : ''
    if (training.updates > 0 && policy.lora === undefined)
      return {
        key: 'training.updates',
        value: training.updates,
        allowed: `0, because the engine ${name} serves the one model that its server was started with${byAdapters}`,
      }
  } else if (!served) return undefined
  const { demonstrations } = warmStart
  if (demonstrations > 0 && (versions === 'first' || policy.lora !== undefined))
    return {
      key: 'warmStart.demonstrations',
      value: demonstrations,
      allowed: `0, because the engine ${name} serves ${policy.lora === undefined ? 'the one model' : 'as base the model'} that its server was started with`,
    }
  if (policy.from === undefined)
    return {
      key: 'policy.from',
      value: '',
      allowed: `the checkpoint that its server was started with, because the engine ${name} ${versions === 'first' || policy.lora !== undefined || !changesPolicy(config) ? 'serves that' : 'loads each version in its place'}`,
    }
  return undefined
}

/** Demands that an engine cannot meet which has the newest version alone. */
function unmetByNewest({ tasks, crossPolicy, evaluation }: RunConfig, name: string): UnmetDemand | undefined {
  for (const [index, task] of tasks.entries())
    for (const role of ['judge', 'user'] as const) {
      const { [role]: model } = task
      if (model?.from === 'policy' && model.version !== 'newest')
        return {
          key: `tasks.${index}.${role}.version`,
          value: model.version ?? 0,
          allowed: `newest, because the engine ${name} samples from the newest version alone; or an endpoint`,
        }
    }
  if (crossPolicy.staleShare > 0)
    return {
      key: 'crossPolicy.staleShare',
      value: crossPolicy.staleShare,
      allowed: `0, because the engine ${name} samples from the newest version alone`,
    }
  if (evaluation.suites.length > 0 && !evaluation.blocking)
    return {
      key: 'evaluation.blocking',
      value: evaluation.blocking,
      allowed: `true, because the engine ${name} samples from the newest version alone: an update has to wait until its version is measured; or no evaluation.suites`,
    }
  return undefined
}
