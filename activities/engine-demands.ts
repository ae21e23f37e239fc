/**
 * What a run needs of its engine.
 *
 * Invariants
 * - [DEMAND-1] An engine that cannot do what the configuration needs is refused before anything is sampled, and the
 *   refusal names the key and what would be possible.
 */
import type { RunConfig } from '../config/schema.ts'
import { isSynchronous } from '../learning/admission.ts'
import type { EngineDefinition } from '../policy/engines/engine.ts'

/** A key that asks for more than the engine can do. */
export interface UnmetDemand {
  readonly key: string
  readonly value: unknown
  /** Ready to follow "expected". */
  readonly allowed: string
}

/** The first such key; undefined where the engine will do. */
export function unmetDemand(
  { policy, rollout, crossPolicy, training, warmStart }: RunConfig,
  {
    name,
    capabilities: { versions, adapters = false, exact },
  }: Pick<EngineDefinition, 'name' | 'capabilities'>,
): UnmetDemand | undefined {
  const learns = training.updates > 0
  if (policy.lora !== undefined && learns && !adapters)
    return {
      key: 'policy.lora',
      value: policy.lora,
      allowed: `nothing, because the engine ${name} loads no adapters`,
    }
  if (versions === 'first') {
    const only = `because the engine ${name} serves the one model that its server was started with`
    const byAdapters = adapters ? ', unless policy.lora makes versions adapters, which it loads' : ''
    if (learns && policy.lora === undefined)
      return { key: 'training.updates', value: training.updates, allowed: `0, ${only}${byAdapters}` }
    if (warmStart.demonstrations > 0)
      return { key: 'warmStart.demonstrations', value: warmStart.demonstrations, allowed: `0, ${only}` }
    if (policy.from === undefined)
      return { key: 'policy.from', value: '', allowed: `the checkpoint that is served, ${only}` }
  }
  if (!learns) return undefined
  if (versions === 'latest' && crossPolicy.staleShare > 0)
    return {
      key: 'crossPolicy.staleShare',
      value: crossPolicy.staleShare,
      allowed: `0, because the engine ${name} samples from the newest version alone`,
    }
  if (!exact && isSynchronous(rollout))
    return {
      key: 'rollout.maxStaleness',
      value: rollout.maxStaleness,
      allowed: `1 or more: a synchronous run is repeatable to the byte, and the engine ${name} is not`,
    }
  return undefined
}
