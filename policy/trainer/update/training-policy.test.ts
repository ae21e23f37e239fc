/** The embedded trainer on adapters. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uniforms } from '../../../identity/identity.ts'
import { publishCheckpoint, readCheckpoint } from '../../checkpoints/checkpoint.ts'
import { readWithMoments } from '../../checkpoints/restoring.ts'
import { type AdapterShape, adapterGradients, adapterSpecs } from '../../transformer/adapter.ts'
import { elementCount } from '../../transformer/architecture.ts'
import { smallArchitecture } from '../../transformer/small-architecture.testing.ts'
import type { UpdateBatch } from '../batch.ts'
import { writeUpdateBatch } from '../batch-file.ts'
import { createTrainer } from '../embedded.ts'
import { initializeAdapter, initializeCheckpoint } from '../initial-checkpoint.ts'
import type { Trainer, UpdateRequest } from '../trainer.ts'
import { normOf, squares } from './adamw.ts'

const shape: AdapterShape = { rank: 2, alpha: 3, targets: ['q_proj', 'o_proj', 'up_proj'] }
let root: string
let trainer: Trainer
let batch: UpdateBatch
const at = (name: string | number): string => join(root, String(name))

const optimizer = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  gradientClip: 1e9,
}

function update(changes: Partial<UpdateRequest>): UpdateRequest {
  return {
    ...{ batchFile: at('batch'), fromCheckpointDir: at(1), toCheckpointDir: at(2), version: 2 },
    ...{ referenceCheckpointDir: at('base'), optimizer, microBatchTokens: 128 },
    objective: {
      ...{ kind: 'policy', clipLow: 0.2, clipHigh: 0.2, dualClip: 3 },
      ...{ klCoefficient: 0.1, entropyCoefficient: 0.01, temperature: 0.8 },
    },
    ...changes,
  }
}

function drawnBatch(): UpdateBatch {
  const next = uniforms(3)
  const length = 60
  const lossMask = Uint8Array.from({ length }, (_, place) => (place % 12 > 4 ? 1 : 0))
  return {
    tokens: Int32Array.from({ length }, () => Math.floor(next() * smallArchitecture.vocab_size)),
    offsets: Int32Array.from({ length: length / 12 + 1 }, (_, episode) => 12 * episode),
    lossMask,
    behaviourLogprobs: new Float32Array(length),
    versions: Int32Array.from(lossMask, (counts) => counts - 1),
    advantages: Float32Array.from(lossMask, (counts) => counts * (next() - 0.5)),
  }
}

const weightsOf = (dir: string) => readFile(join(dir, 'adapter_model.safetensors'))

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-adapter-training-'))
  trainer = createTrainer({ threads: 1 })
  await initializeCheckpoint(at('base'), {
    ...{ architecture: smallArchitecture, tokenizer: '{}', chat: 'compact', seed: 1 },
  })
  await initializeAdapter(at(0), { baseDir: at('base'), shape, seed: 1 })
  const first = await readCheckpoint(at(0))
  const next = uniforms(9)
  // B away from 0, where the gradient of A would be 0.
  const weights = new Map(
    adapterSpecs(smallArchitecture, shape).map(({ name, shape: dims }) => [
      name,
      Float32Array.from({ length: elementCount(dims) }, () => 0.3 * (next() - 0.5)),
    ]),
  )
  const adapter = first.adapter && { ...first.adapter, weights }
  await publishCheckpoint(at(1), { ...first, adapter, state: { ...first.state, version: 1 } })
  batch = drawnBatch()
  const { tokens, offsets, lossMask } = batch
  const behaviourLogprobs = await trainer.logprobs({
    ...{ checkpointDir: at(1), tokens, offsets, lossMask, temperature: 0.8, microBatchTokens: 128 },
  })
  batch = { ...batch, behaviourLogprobs }
  await writeUpdateBatch(at('batch'), batch)
})

afterAll(async () => {
  await trainer.close()
  await rm(root, { recursive: true, force: true })
})

describe('an update of an adapter', () => {
  it('has the gradient that the chain rule makes of that of the merged policy', async () => {
    const { weights, adapter, tokenizer, state } = await readCheckpoint(at(1))
    if (adapter === undefined) throw new Error('the checkpoint has no adapter')
    // The same policy as a whole: its first moment after one step is (1 − β₁) times the gradient.
    await publishCheckpoint(at('whole'), { architecture: smallArchitecture, weights, tokenizer, state })
    await trainer.update(update({ fromCheckpointDir: at('whole'), toCheckpointDir: at('whole-2') }))
    const whole = await readWithMoments(at('whole-2'))
    const { gradientNorm } = await trainer.update(update({}))
    const own = await readWithMoments(at(2))
    const expected = new Map(
      [...adapter.weights].map(([name, { length }]) => [name, new Float32Array(length)]),
    )
    adapterGradients(smallArchitecture, adapter, whole.optimizer?.first ?? new Map(), expected)
    expect([...(own.optimizer?.first.keys() ?? [])]).toEqual([...expected.keys()])
    for (const [name, moment] of own.optimizer?.first ?? [])
      for (const [place, value] of moment.entries())
        expect(Math.abs(value - (expected.get(name)?.[place] ?? Number.NaN))).toBeLessThan(1e-7)
    // Clip and norm are of the adapter alone.
    const norm = normOf([...(own.optimizer?.first.values() ?? [])].map(squares)) / (1 - optimizer.beta1)
    expect(gradientNorm / norm).toBeCloseTo(1, 5)
  })

  // [ADAPTER-TRAINING-1]
  it('changes the adapter alone, and gives the same bytes when it is done again', async () => {
    await trainer.update(update({}))
    await trainer.update(update({ toCheckpointDir: at('again') }))
    expect(await weightsOf(at('again'))).toEqual(await weightsOf(at(2)))
    expect(await weightsOf(at(2))).not.toEqual(await weightsOf(at(1)))
    expect((await readCheckpoint(at(2))).adapter?.baseWeights).toEqual(
      (await readCheckpoint(at('base'))).weights,
    )
  })

  it('continued in memory gives the bytes of one that begins with the files', async () => {
    await trainer.update(update({ toCheckpointDir: at('two') }))
    const next = {
      fromCheckpointDir: at('two'),
      version: 3,
      division: { minibatches: 2, passes: 2, seed: 1 },
    }
    await trainer.update(update({ ...next, toCheckpointDir: at('remembered') }))
    const other = createTrainer({ threads: 1 })
    await other.update(update({ ...next, toCheckpointDir: at('reread') })).finally(() => other.close())
    expect(await weightsOf(at('remembered'))).toEqual(await weightsOf(at('reread')))
  })
})
