import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { writeSafetensors } from '../files/safetensors.ts'
import type { UpdateBatch } from './batch.ts'
import { readUpdateBatch, writeUpdateBatch } from './batch-file.ts'

const batch: UpdateBatch = {
  tokens: new Int32Array([5, 6, 7, 8, 9]),
  offsets: new Int32Array([0, 3, 5]),
  lossMask: new Uint8Array([0, 1, 1, 0, 1]),
  behaviourLogprobs: new Float32Array([0, -0.5, -1, 0, -2]),
  versions: new Int32Array([-1, 3, 3, -1, 4]),
  advantages: new Float32Array([0, 1, 1, 0, -1]),
}

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-batch-'))
  return () => rm(folder, { recursive: true })
})

describe('an update batch', () => {
  test('is read with the weights, the imitation and the stale turns that it was written with', async () => {
    const whole = {
      ...batch,
      weights: new Float32Array([0, 0.25, 0.25, 0, 0.5]),
      imitation: new Float32Array([0, 0.125, 0, 0, 3]),
      stale: new Uint8Array([0, 0, 0, 0, 1]),
    }
    await writeUpdateBatch(join(folder, 'a'), whole)
    expect(await readUpdateBatch(join(folder, 'a'))).toEqual(whole)
  })

  test('is read as it was written, in the same bytes each time', async () => {
    await writeUpdateBatch(join(folder, 'a'), batch)
    await writeUpdateBatch(join(folder, 'b'), batch)
    expect(await readUpdateBatch(join(folder, 'a'))).toEqual(batch)
    expect(await readFile(join(folder, 'a'))).toEqual(await readFile(join(folder, 'b')))
  })

  test.each<[string, Partial<UpdateBatch>, string]>([
    ['lengths that differ', { advantages: new Float32Array(4) }, 'advantages has 4 elements, tokens has 5'],
    ['offsets that end early', { offsets: new Int32Array([0, 3]) }, 'offsets must run from 0 to 5'],
    ['offsets that fall', { offsets: new Int32Array([0, 4, 3, 5]) }, 'offsets[2] is 3, below'],
    ['a first token that counts', { offsets: new Int32Array([0, 2, 5]) }, 'episode 1 counts its first token'],
    [
      'a turn that begins at a token that was read',
      { turnStarts: new Uint8Array([1, 0, 0, 0, 0]) },
      'token 0 has turn_starts 1',
    ],
    [
      'a target where no turn begins',
      { turnStarts: new Uint8Array([0, 1, 0, 0, 0]), valueTargets: new Float32Array([0, 1, 1, 0, 0]) },
      'token 2 has turn_starts 0 and value_targets 1',
    ],
    ['targets without turns', { valueTargets: new Float32Array(5) }, 'without turn_starts'],
    ['weights of other lengths', { weights: new Float32Array(4) }, 'weights has 4 elements, tokens has 5'],
    [
      'a weight below 0',
      { weights: new Float32Array([0, -1, 0, 0, 0]) },
      'weights[1] is -1, expected 0 to 1',
    ],
    [
      'a token that is read with a weight',
      { weights: new Float32Array([1, 0, 0, 0, 0]) },
      'token 0 does not count',
    ],
    [
      'a first token that is imitated',
      { weights: new Float32Array(5), imitation: new Float32Array([0, 0, 0, 1, 0]) },
      'episode 1 counts its first token',
    ],
    ['imitation without weights', { imitation: new Float32Array(5) }, 'imitation is given without weights'],
    [
      'an imitation below 0',
      { weights: new Float32Array(5), imitation: new Float32Array([0, -1, 0, 0, 0]) },
      'imitation[1] is -1, expected a finite number',
    ],
    ['a stale token beyond 1', { stale: new Uint8Array([0, 2, 0, 0, 0]) }, 'stale[1] is 2, expected 0 or 1'],
    ['a mask beyond 1', { lossMask: new Uint8Array([0, 2, 1, 0, 1]) }, 'loss_mask[1] is 2'],
    ['a negative token', { tokens: new Int32Array([0, -1, 0, 0, 0]) }, 'tokens[1] is -1'],
    [
      'a number that is not finite',
      { advantages: new Float32Array([0, NaN, 0, 0, 0]) },
      'token 1 is not finite',
    ],
    [
      'an advantage without a mask',
      { advantages: new Float32Array([1, 1, 1, 1, 1]) },
      'token 0 does not count',
    ],
  ])('with %s is refused by what is wrong', async (_, change, message) => {
    await expect(writeUpdateBatch(join(folder, 'a'), { ...batch, ...change })).rejects.toThrow(message)
  })

  test('another tensor file is refused as foreign', async () => {
    const file = join(folder, 'a')
    await writeSafetensors(
      file,
      new Map([['tokens', { dtype: 'F32', shape: [1], data: new Float32Array(1) }]]),
    )
    await expect(readUpdateBatch(file)).rejects.toMatchObject({
      kind: 'foreign',
      message: expect.stringContaining('tensor "tokens" is F32 of shape [1], expected I32'),
    })
  })
})
