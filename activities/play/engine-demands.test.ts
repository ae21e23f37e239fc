import { expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import type { EngineCapabilities } from '../../policy/engines/engine.ts'
import { changesPolicy, unmetDemand } from './engine-demands.ts'

const embedded: EngineCapabilities = { versions: 'many', scoring: false, exact: true }

function keyOf(config: object, capabilities: Partial<EngineCapabilities>): string | undefined {
  const definition = { name: 'other', capabilities: { ...embedded, ...capabilities } }
  return unmetDemand(configSchema.parse(config), definition)?.key
}

const evaluates = { training: { updates: 0 }, warmStart: { demonstrations: 0 }, policy: { from: '/x' } }

const latest: Partial<EngineCapabilities> = { versions: 'latest', exact: false }
const alone = { crossPolicy: { staleShare: 0 }, evaluation: { blocking: true } }

// [DEMAND-1]
it('an engine of the newest version alone trains without a pool, where updates wait for evaluations', () => {
  expect(keyOf(alone, latest)).toBeUndefined()
  expect(keyOf({ ...alone, crossPolicy: {} }, latest)).toBe('crossPolicy.staleShare')
  expect(keyOf({ ...alone, evaluation: {} }, latest)).toBe('evaluation.blocking')
  expect(keyOf({ ...alone, evaluation: { suites: [] } }, latest)).toBeUndefined()
  expect(keyOf({ ...alone, rollout: { maxStaleness: 0 } }, latest)).toBe('rollout.maxStaleness')
  expect(keyOf({ training: { updates: 0 } }, latest)).toBeUndefined()
  const judged = (judge: object) => ({ ...alone, tasks: [{ judge }] })
  expect(keyOf(judged({}), latest)).toBe('tasks.0.judge.version')
  expect(keyOf(judged({}), {})).toBeUndefined()
  expect(keyOf(judged({ version: 'newest' }), latest)).toBeUndefined()
  expect(keyOf(judged({ from: 'http://judge/v1', model: 'm' }), latest)).toBeUndefined()
})

// [DEMAND-1]
it('of servers that are started with a model the run has to say with which', async () => {
  const { vllmEngine } = await import('../../policy/dialects/vllm.ts')
  const { sglangEngine } = await import('../../policy/dialects/sglang.ts')
  const { llamaCppEngine } = await import('../../policy/dialects/llama-cpp.ts')
  for (const { capabilities } of [vllmEngine, sglangEngine]) {
    const whole = { ...alone, policy: { from: '/x' } }
    expect(keyOf(whole, capabilities)).toBeUndefined() // a warm start too
    expect(keyOf(alone, capabilities)).toBe('policy.from')
    expect(keyOf(evaluates, capabilities)).toBeUndefined()
    const lora = { policy: { from: '/x', lora: {} } }
    expect(keyOf(lora, capabilities)).toBe('warmStart.demonstrations') // it would change the base
    expect(keyOf({ ...lora, warmStart: { demonstrations: 0 } }, capabilities)).toBeUndefined()
  }
  expect(keyOf({ ...alone, policy: { from: '/x' } }, llamaCppEngine.capabilities)).toBe('training.updates')
  expect(keyOf(evaluates, llamaCppEngine.capabilities)).toBeUndefined()
})

it('a run changes its policy by updates or by a warm start', () => {
  const changes = (config: object) => changesPolicy(configSchema.parse(config))
  expect(changes({})).toBe(true)
  expect(changes({ training: { updates: 0 } })).toBe(true)
  expect(changes({ warmStart: { demonstrations: 0 } })).toBe(true)
  expect(changes(evaluates)).toBe(false)
})

// [DEMAND-1]
it('what an engine cannot do is refused by the key that asks for it', () => {
  const synchronous = { rollout: { maxStaleness: 0 } }
  expect(keyOf({}, {})).toBeUndefined()
  expect(keyOf(synchronous, {})).toBeUndefined()
  expect(keyOf(synchronous, { exact: false })).toBe('rollout.maxStaleness')
  expect(keyOf({}, { exact: false })).toBeUndefined()
  expect(keyOf({}, { versions: 'latest' })).toBe('crossPolicy.staleShare')
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
