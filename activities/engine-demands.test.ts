import { expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import type { EngineCapabilities } from '../policy/engines/engine.ts'
import { unmetDemand } from './engine-demands.ts'

const embedded: EngineCapabilities = { versions: 'many', scoring: false, exact: true }

function keyOf(config: object, capabilities: Partial<EngineCapabilities>): string | undefined {
  const definition = { name: 'other', capabilities: { ...embedded, ...capabilities } }
  return unmetDemand(configSchema.parse(config), definition)?.key
}

const evaluates = { training: { updates: 0 }, warmStart: { demonstrations: 0 }, policy: { from: '/x' } }

// [DEMAND-1]
it('what an engine cannot do is refused by the key that asks for it', () => {
  const synchronous = { rollout: { maxStaleness: 0 } }
  expect(keyOf({}, {})).toBeUndefined()
  expect(keyOf(synchronous, {})).toBeUndefined()
  expect(keyOf(synchronous, { exact: false })).toBe('rollout.maxStaleness')
  expect(keyOf({}, { exact: false })).toBeUndefined()
  expect(keyOf({}, { versions: 'latest' })).toBe('crossPolicy.staleShare')
  expect(keyOf({ crossPolicy: { staleShare: 0 } }, { versions: 'latest' })).toBeUndefined()
  expect(keyOf({}, { versions: 'first' })).toBe('training.updates')
  expect(keyOf(evaluates, { versions: 'first', exact: false })).toBeUndefined()
  expect(keyOf({ ...evaluates, warmStart: {} }, { versions: 'first' })).toBe('warmStart.demonstrations')
  expect(keyOf({ ...evaluates, policy: {} }, { versions: 'first' })).toBe('policy.from')
  const lora = { policy: { lora: {} } }
  expect(keyOf(lora, {})).toBe('policy.lora')
  expect(keyOf(lora, { adapters: true })).toBeUndefined()
  const served = { ...evaluates, policy: { from: '/x', lora: {} } }
  expect(keyOf(served, { versions: 'first', exact: false })).toBeUndefined()
})
