import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { configSchema, type RunConfig } from '../config/schema.ts'
import { type WarmStartSettings, warmStartKey } from './warm-start-key.ts'

const dir = mkdtempSync(join(tmpdir(), 'perdure-key-'))
afterAll(() => rmSync(dir, { recursive: true }))

const settings: WarmStartSettings = {
  version: 0,
  totalSteps: 10,
  batchTokens: 512,
  observationWeight: 0,
  warmUpSteps: 1,
  optimizer: { learningRate: 0.1, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, weightDecay: 0, gradientClip: 1 },
  microBatchTokens: 512,
  seed: 7,
}

function keyOf(
  { first = 'weights', demonstrations = 'tokens' },
  changed: {
    readonly threads?: number
    readonly chunks?: number
    readonly settings?: object
    readonly corrected?: RunConfig
  } = {},
): Promise<string> {
  const demonstrationsFile = join(dir, 'demonstrations.safetensors')
  writeFileSync(join(dir, 'manifest.json'), first)
  writeFileSync(demonstrationsFile, demonstrations)
  const { threads = 2, chunks = 4 } = changed
  return warmStartKey({
    firstDir: dir,
    demonstrationsFile,
    settings: { ...settings, ...changed.settings },
    chunks,
    threads,
    corrected: changed.corrected,
  })
}

it('what a warm start follows from changes its key, and nothing else does', async () => {
  // [WARM-KEY-1]
  const key = await keyOf({})
  expect(key).toMatch(/^[0-9a-f]{64}$/)
  expect(await keyOf({})).toBe(key)
  const others = [
    await keyOf({ first: 'other weights' }),
    await keyOf({ demonstrations: 'other tokens' }),
    await keyOf({}, { threads: 1 }),
    await keyOf({}, { chunks: 1 }),
    await keyOf({}, { settings: { seed: 8 } }),
    await keyOf({}, { settings: { totalSteps: 11 } }),
  ]
  expect(new Set([key, ...others]).size).toBe(7)
})

it('[WARM-KEY-2] corrections count by what their episodes are played with', async () => {
  const config = (changes: object) => configSchema.parse({ warmStart: { corrections: 1 }, ...changes })
  const keys = [
    await keyOf({}),
    await keyOf({}, { corrected: config({}) }),
    await keyOf({}, { corrected: config({ seed: 2 }) }),
    await keyOf({}, { corrected: config({ warmStart: { corrections: 2 } }) }),
    await keyOf({}, { corrected: config({ tasks: [{ turnLimit: 9 }] }) }),
    await keyOf({}, { corrected: config({ rollout: { maxTokensPerTurn: 20 } }) }),
  ]
  expect(new Set(keys).size).toBe(keys.length)
  expect(await keyOf({}, { corrected: config({ training: { updates: 7 } }) })).toBe(keys[1])
})
