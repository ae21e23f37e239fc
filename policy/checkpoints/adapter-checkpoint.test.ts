import { mkdtemp, readdir, readFile, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readSafetensors } from '../files/safetensors.ts'
import { initializeAdapter } from '../trainer/initial-checkpoint.ts'
import { type AdapterShape, adapterSpecs, mergedWeights } from '../transformer/adapter.ts'
import { elementCount } from '../transformer/architecture.ts'
import { publishCheckpoint, readCheckpoint, verifyCheckpoint, weightBytes } from './checkpoint.ts'
import { tinyArchitecture, tinyWeights } from './policy.testing.ts'
import { readPretrained } from './pretrained.ts'
import { readWithMoments, restoreCheckpoint } from './restoring.ts'
import { latestGoodCheckpoint } from './versions.ts'

const shape: AdapterShape = { rank: 2, alpha: 4, targets: ['q_proj', 'down_proj'] }
const base = tinyWeights((tensor, element) => Math.sin(tensor * 31 + element))
let root: string
const at = (name: string | number): string => join(root, String(name))

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-adapters-'))
  await publishCheckpoint(at('base'), {
    architecture: tinyArchitecture,
    weights: base,
    tokenizer: '{}',
    state: { version: 0, step: 7, chat: 'compact', facts: {} },
  })
  await initializeAdapter(at(0), { baseDir: at('base'), shape, seed: 1 })
})

afterEach(() => rm(root, { recursive: true, force: true }))

function drawn(factor: number): Map<string, Float32Array> {
  return new Map(
    adapterSpecs(tinyArchitecture, shape).map(({ name, shape: dims }, tensor) => [
      name,
      Float32Array.from({ length: elementCount(dims) }, (_, at) => factor * Math.cos(tensor * 7 + at)),
    ]),
  )
}

/** Version 1: another adapter over the same base, with moments. */
async function publishNext(): Promise<void> {
  const first = await readCheckpoint(at(0))
  const weights = drawn(0.3)
  const adapter = first.adapter && { ...first.adapter, weights }
  const optimizer = { step: 1, first: drawn(0.1), second: drawn(0.01) }
  const state = { ...first.state, version: 1, step: 1 }
  await publishCheckpoint(at(1), { ...first, adapter, state, optimizer })
}

describe('the checkpoint of an adapter', () => {
  it('has the files of PEFT and none of the base, and its manifest names the base by hash', async () => {
    await publishNext()
    expect((await readdir(at(1))).sort()).toEqual([
      'adapter_config.json',
      'adapter_model.safetensors',
      'config.json',
      'manifest.json',
      'optimizer.safetensors',
      'state.json',
      'tokenizer.json',
    ])
    const { tensors } = await readSafetensors(join(at(1), 'adapter_model.safetensors'))
    expect([...tensors.keys()]).toContain('base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight')
    const manifest = JSON.parse(await readFile(join(at(1), 'manifest.json'), 'utf8'))
    expect(manifest.base).toEqual({ folder: 'base', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
  })

  // [PEFT-1]
  it('describes plain LoRA to PEFT and servers', async () => {
    const config = JSON.parse(await readFile(join(at(0), 'adapter_config.json'), 'utf8'))
    expect(config).toMatchObject({
      ...{ peft_type: 'LORA', r: 2, lora_alpha: 4, target_modules: ['q_proj', 'down_proj'] },
      ...{ bias: 'none', lora_dropout: 0, use_dora: false, use_rslora: false, modules_to_save: null },
    })
  })

  // [CHECKPOINT-5]
  it('is read as the policy of base and adapter together, with the moments of the adapter alone', async () => {
    await publishNext()
    const { weights, adapter, optimizer } = await readWithMoments(at(1))
    expect(adapter?.weights).toEqual(drawn(0.3))
    expect(weights).toEqual(mergedWeights(tinyArchitecture, base, { shape, weights: drawn(0.3) }))
    expect(weights).not.toEqual(base)
    expect([...(optimizer?.first.keys() ?? [])]).toEqual([...drawn(1).keys()])
    expect((await readCheckpoint(at(0))).weights).toEqual(base)
    expect(await weightBytes(at(1))).toBe(await weightBytes(at('base')))
    expect((await readPretrained(at(1))).weights).toEqual(weights)
  })

  it('is restored under a later number as it was', async () => {
    await publishNext()
    expect(await restoreCheckpoint(root, { to: 0, from: 1 })).toBe(2)
    expect((await readWithMoments(at(2))).adapter).toEqual((await readCheckpoint(at(0))).adapter)
  })

  // [CHECKPOINT-5]
  it('is not used beside a base that is damaged or another one', async () => {
    await truncate(join(at('base'), 'model.safetensors'), 100)
    await expect(verifyCheckpoint(at(0))).rejects.toThrow(/base: model.safetensors has 100 bytes/)
    expect((await latestGoodCheckpoint(root)).found).toBeUndefined()
    await rm(at('base'), { recursive: true })
    await expect(readCheckpoint(at(0))).rejects.toMatchObject({ kind: 'missing' })
    await publishCheckpoint(at('base'), {
      ...{ architecture: tinyArchitecture, weights: tinyWeights(() => 1), tokenizer: '{}' },
      state: { version: 0, step: 7, chat: 'compact', facts: {} },
    })
    await expect(readCheckpoint(at(0))).rejects.toThrow(/put the base back that it was trained on/)
  })
})
