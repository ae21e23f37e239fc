import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { digestFile } from '../files/durable-file.ts'
import { type CheckpointContent, publishCheckpoint, readCheckpoint, verifyCheckpoint } from './checkpoint.ts'
import { manifestFile, readManifest, renderManifest } from './manifest.ts'
import { tinyArchitecture, tinyWeights } from './policy.testing.ts'
import { promotionFile, readPromotion, writePromotion } from './promotion.ts'
import { readWithMoments, restoreCheckpoint } from './restoring.ts'
import { checkpointDir, latestGoodCheckpoint } from './versions.ts'

function filled(value: number): Map<string, Float32Array> {
  return tinyWeights(() => value)
}

function contentOf(version: number): CheckpointContent {
  return {
    architecture: tinyArchitecture,
    weights: filled(version),
    tokenizer: '{}\n',
    state: { version, step: version, chat: 'compact', facts: { objective: 'policy' } },
    ...(version === 0 ? {} : { optimizer: { step: version, first: filled(100), second: filled(200) } }),
  }
}

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-restoring-'))
  for (const version of [0, 1, 2]) await publishCheckpoint(checkpointDir(root, version), contentOf(version))
  return () => rm(root, { recursive: true })
})

describe('restoreCheckpoint', () => {
  test('weights, moments and their objective are those of the earlier version, under a new number', async () => {
    expect(await restoreCheckpoint(root, { to: 1, from: 2 })).toBe(3)
    const restored = await readWithMoments(checkpointDir(root, 3))
    const { weights, optimizer } = contentOf(1)
    expect(restored).toMatchObject({ weights, optimizer })
    expect(restored.state).toMatchObject({ version: 3, step: 1, facts: { objective: 'policy' } })
    expect((await latestGoodCheckpoint(root)).found?.version).toBe(3)
  })

  // [RESTORE-1] [RESTORE-2]
  test('restoring twice gives the same version, and no checkpoint of other work is overwritten', async () => {
    // [COPY-2] A trainer that outlived its run left an unreported version.
    await publishCheckpoint(checkpointDir(root, 3), contentOf(3))
    const asked = { to: 1, from: 2 }
    expect([await restoreCheckpoint(root, asked), await restoreCheckpoint(root, asked)]).toEqual([4, 4])
    expect((await readCheckpoint(checkpointDir(root, 3))).weights).toEqual(filled(3))
    // Going back once more is another restoring.
    expect(await restoreCheckpoint(root, { to: 1, from: 4 })).toBe(5)
  })

  test('a version without moments is restored without them', async () => {
    const version = await restoreCheckpoint(root, { to: 0, from: 2 })
    expect((await readWithMoments(checkpointDir(root, version))).optimizer).toBeUndefined()
  })

  // [RESTORE-3] [COPY-1]
  test('files that only its trainer knows are restored with it, and one that was changed is refused', async () => {
    const [from, moments] = [checkpointDir(root, 1), 'optimizer-0-of-2.safetensors']
    await writeFile(join(from, moments), 'a part of the moments')
    const { files, ...manifest } = await readManifest(from)
    const listed = { ...files, [moments]: await digestFile(join(from, moments)) }
    await writeFile(join(from, manifestFile), renderManifest({ ...manifest, files: listed }))
    const to = checkpointDir(root, await restoreCheckpoint(root, { to: 1, from: 2 }))
    await verifyCheckpoint(to)
    expect((await readdir(to)).sort()).toEqual((await readdir(from)).sort())
    for (const name of Object.keys(listed))
      if (name !== 'state.json')
        expect((await readFile(join(to, name))).equals(await readFile(join(from, name))), name).toBe(true)
    await writeFile(join(from, moments), 'a part of other moments')
    await expect(restoreCheckpoint(root, { to: 1, from: 3 })).rejects.toThrow(moments)
    expect(await readdir(root)).toEqual(['0', '1', '2', '3'])
  })

  test('a version that is not there is refused by name', async () => {
    await expect(restoreCheckpoint(root, { to: 7, from: 9 })).rejects.toMatchObject({ kind: 'missing' })
  })
})

describe('a promotion', () => {
  const promotion = { version: 2, time: '2026-01-02T03:04:05.000Z', by: 'ada' }

  test('is what was last written, and absent before', async () => {
    expect(await readPromotion(root)).toBeUndefined()
    await writePromotion(root, { ...promotion, version: 1 })
    await writePromotion(root, promotion)
    expect(await readPromotion(root)).toEqual(promotion)
    // It is no version to look at.
    expect((await latestGoodCheckpoint(root)).refused).toEqual([])
  })

  // [PROMOTION-1]
  test('is whole whenever it is read, also while another one is written', async () => {
    const long = { ...promotion, by: 'a'.repeat(1 << 20) }
    await writePromotion(root, long)
    let isWriting = true
    const seen = new Set<number>()
    const reading = (async () => {
      while (isWriting) {
        const read = await readPromotion(root)
        expect(read?.by).toHaveLength(1 << 20)
        seen.add(read?.version ?? -1)
      }
    })()
    for (let version = 3; version < 23; version++) await writePromotion(root, { ...long, version })
    isWriting = false
    await reading
    expect(seen.size).toBeGreaterThan(1)
    expect(await readdir(root)).toEqual(expect.not.arrayContaining([expect.stringContaining('partial')]))
  })

  test.each(['', '{"version": -1}', '[]'])('%j is no mark and is refused by name', async (text) => {
    await writeFile(promotionFile(root), text)
    await expect(readPromotion(root)).rejects.toMatchObject({ kind: 'foreign' })
  })
})
