import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { nameBeside } from '../../machine/processes/partial-file.ts'
import { moduleThere, namespaceMissing } from '../../test/host/pid-namespace.ts'
import { writeDurably } from '../files/durable-file.ts'
import { type CheckpointContent, publishCheckpoint, readCheckpoint, verifyCheckpoint } from './checkpoint.ts'
import { tinyArchitecture, tinyWeights } from './policy.testing.ts'
import { checkpointDir, deleteCheckpoint, latestGoodCheckpoint, publishedVersions } from './versions.ts'

const missing = namespaceMissing()
if (missing !== undefined) console.warn(`writers in other PID namespaces are not tested: ${missing}`)

function filled(value: number): Map<string, Float32Array> {
  return tinyWeights((tensor, element) => value + tensor + element / 8)
}

function contentOf(version: number): CheckpointContent {
  return {
    architecture: tinyArchitecture,
    weights: filled(version),
    tokenizer: '{"text": "é"}\n',
    state: { version, step: version, chat: 'compact', facts: { loss: 0.5 } },
    optimizer: { step: version, first: filled(100), second: filled(200) },
  }
}

async function allBytes(dir: string): Promise<Record<string, Buffer>> {
  const names = (await readdir(dir)).sort()
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name))])),
  )
}

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-checkpoint-'))
  return () => rm(root, { recursive: true })
})

describe('publishCheckpoint', () => {
  test('what was published is what is read', async () => {
    const dir = checkpointDir(root, 3)
    expect(await publishCheckpoint(dir, contentOf(3))).toBe(true)
    expect(await readCheckpoint(dir, { optimizer: true })).toEqual(contentOf(3))
    expect((await readCheckpoint(dir)).optimizer).toBeUndefined()
    expect((await readdir(dir)).sort()).toEqual([
      'config.json',
      'manifest.json',
      'model.safetensors',
      'optimizer.safetensors',
      'state.json',
      'tokenizer.json',
    ])
  })

  // [CHECKPOINT-4]
  test('the same content gives the same bytes', async () => {
    await publishCheckpoint(join(root, '1'), contentOf(1))
    await publishCheckpoint(join(root, 'again'), contentOf(1))
    expect(await allBytes(join(root, '1'))).toEqual(await allBytes(join(root, 'again')))
  })

  // [CHECKPOINT-2]
  test('a complete checkpoint is never overwritten', async () => {
    const dir = checkpointDir(root, 1)
    await publishCheckpoint(dir, contentOf(1))
    expect(await publishCheckpoint(dir, { ...contentOf(1), weights: filled(9) })).toBe(false)
    expect((await readCheckpoint(dir)).weights).toEqual(filled(1))
  })

  // [CHECKPOINT-1] [DURABLE-1]
  test('of several publishers at once exactly one wins and nothing partial stays', async () => {
    const dir = checkpointDir(root, 1)
    const published = await Promise.all([1, 2, 3].map(() => publishCheckpoint(dir, contentOf(1))))
    expect(published.filter(Boolean)).toHaveLength(1)
    expect(await readdir(root)).toEqual(['1'])
    await verifyCheckpoint(dir)
  })

  test('a broken checkpoint in the way is replaced', async () => {
    const dir = checkpointDir(root, 1)
    await publishCheckpoint(dir, contentOf(1))
    await writeFile(join(dir, 'model.safetensors'), 'torn')
    expect(await publishCheckpoint(dir, contentOf(1))).toBe(true)
    expect(await readCheckpoint(dir, { optimizer: true })).toEqual(contentOf(1))
  })

  // [PARTIAL-1]
  test('what a killed publisher of another machine left behind is removed once it is old', async () => {
    const [old, fresh] = [
      '.7.ffffffff-p1s2b3-aaaaaaaaaaaa.partial',
      '.8.ffffffff-p1s2b3-bbbbbbbbbbbb.partial',
    ]
    for (const name of [old, fresh]) await mkdir(join(root, name))
    await utimes(join(root, old), 0, 0)
    await publishCheckpoint(join(root, '1'), contentOf(1))
    expect((await readdir(root)).sort()).toEqual([fresh, '1'])
  })

  // [PARTIAL-1]
  test('what a publisher left that has died is removed at once, what one writes that lives is not', async () => {
    const publishing = spawnSync(process.execPath, ['--input-type=module', '-e', nameBesideIn(root)])
    const living = nameBeside(join(root, '8'))
    await mkdir(living)
    const twoHoursAgo = new Date(Date.now() - 2 * 60 * 60 * 1000) // by a clock that has jumped since
    await utimes(living, twoHoursAgo, twoHoursAgo)
    expect(await readdir(root)).toHaveLength(2)
    expect(publishing.status).toBe(0)
    await publishCheckpoint(join(root, '1'), contentOf(1))
    expect((await readdir(root)).sort()).toEqual([basename(living), '1'])
  })

  // [PARTIAL-1] [PROCESS-1]
  test.skipIf(missing !== undefined)(
    'what a publisher in another container writes is left until it is old',
    async () => {
      const { status, stderr } = spawnSync('unshare', moduleThere('container', nameBesideIn(root)))
      expect(String(stderr)).toBe('')
      expect(status).toBe(0)
      const [partial = ''] = await readdir(root)
      await publishCheckpoint(join(root, '1'), contentOf(1))
      expect((await readdir(root)).sort()).toEqual([partial, '1'])
      await utimes(join(root, partial), 0, 0)
      await publishCheckpoint(join(root, '2'), contentOf(2))
      expect((await readdir(root)).sort()).toEqual(['1', '2'])
    },
  )

  test('a folder that goes while it is written to is a fault that a second write repairs', async () => {
    await expect(writeDurably(join(root, 'gone', 'file'), ['text'])).rejects.toMatchObject({
      kind: 'io',
      permanent: false,
    })
  })

  test('weights that do not fit the architecture are refused and leave nothing behind', async () => {
    const weights = filled(1)
    weights.delete('model.norm.weight')
    await expect(publishCheckpoint(join(root, '1'), { ...contentOf(1), weights })).rejects.toMatchObject({
      kind: 'foreign',
      message: expect.stringContaining('weight "model.norm.weight" is missing'),
    })
    expect(await readdir(root)).toEqual([])
  })
})

/** A program that begins a write and is gone. */
function nameBesideIn(folder: string): string {
  const module = new URL('../../machine/processes/partial-file.ts', import.meta.url).href
  return `import { mkdirSync } from 'node:fs'
    import { nameBeside } from ${JSON.stringify(module)}
    mkdirSync(nameBeside(${JSON.stringify(join(folder, '7'))}))`
}

describe('a reader', () => {
  // [CHECKPOINT-3] [MANIFEST-1]
  test('refuses any checkpoint with one byte flipped, naming checkpoint and file', async () => {
    const dir = checkpointDir(root, 1)
    await publishCheckpoint(dir, contentOf(1))
    for (const [name, bytes] of Object.entries(await allBytes(dir))) {
      const stride = name === 'manifest.json' ? 3 : 211
      for (let at = 0; at < bytes.length; at += stride) {
        const flipped = Buffer.from(bytes)
        flipped[at] = (flipped[at] as number) ^ (1 << (at % 8))
        await writeFile(join(dir, name), flipped)
        const refusal = expect.objectContaining({
          kind: expect.stringMatching(/^(corrupt|missing)$/),
          message: expect.stringContaining(`checkpoint ${dir}: ${name}`),
        })
        if (name === 'manifest.json')
          await expect(verifyCheckpoint(dir), `${name} at ${at}`).rejects.toMatchObject({
            name: 'CheckpointFault',
          })
        else {
          await expect(verifyCheckpoint(dir), `${name} at ${at}`).rejects.toEqual(refusal)
          await expect(readCheckpoint(dir, { optimizer: true })).rejects.toEqual(refusal)
        }
      }
      await writeFile(join(dir, name), bytes)
    }
    await verifyCheckpoint(dir)
  })

  test('refuses truncated and missing files by name', async () => {
    const dir = checkpointDir(root, 1)
    await publishCheckpoint(dir, contentOf(1))
    await writeFile(join(dir, 'state.json'), '{')
    await expect(verifyCheckpoint(dir)).rejects.toThrow('state.json has 1 bytes, its manifest says')
    await rm(join(dir, 'state.json'))
    await expect(readCheckpoint(dir)).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining(join(dir, 'state.json')),
    })
  })

  test('asked for moments that were not published says so', async () => {
    const { optimizer: _, ...without } = contentOf(1)
    await publishCheckpoint(join(root, '1'), without)
    await expect(readCheckpoint(join(root, '1'), { optimizer: true })).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining('published without optimizer.safetensors'),
    })
  })
})

describe('latestGoodCheckpoint', () => {
  // [VERSIONS-1] [VERSIONS-2]
  test('passes over broken and unfinished ones and says why', async () => {
    for (const version of [2, 9, 10, 11])
      await publishCheckpoint(checkpointDir(root, version), contentOf(version))
    const model = await readFile(join(root, '11', 'model.safetensors'))
    model[model.length - 1] = (model.at(-1) as number) ^ 1
    await writeFile(join(root, '11', 'model.safetensors'), model)
    await rm(join(root, '10', 'manifest.json'))
    await writeFile(join(root, 'notes.txt'), '')
    for (const name of ['.12.0badc0de.partial', '012', '13 copy', '-1', '1e3']) await mkdir(join(root, name))
    expect(await publishedVersions(root)).toEqual([2, 9, 10, 11])
    const { found, refused } = await latestGoodCheckpoint(root)
    expect(found).toMatchObject({ version: 9, dir: join(root, '9'), state: contentOf(9).state })
    expect(refused.map(({ version, fault }) => [version, fault.kind])).toEqual([
      [11, 'corrupt'],
      [10, 'missing'],
    ])
    expect(refused[0]?.fault.message).toContain('model.safetensors')
    expect((await latestGoodCheckpoint(root, 8)).found?.version).toBe(2)
    expect((await latestGoodCheckpoint(root, 1)).found).toBeUndefined()
  })

  // [VERSIONS-1]
  test('one that cannot be read at the moment is not passed over', async () => {
    for (const version of [2, 3]) await publishCheckpoint(checkpointDir(root, version), contentOf(version))
    const model = join(root, '3', 'model.safetensors')
    await rename(model, `${model}.away`)
    await symlink('model.safetensors', model)
    await expect(latestGoodCheckpoint(root)).rejects.toMatchObject({ kind: 'io', permanent: false })
    await rename(`${model}.away`, model)
    expect((await latestGoodCheckpoint(root)).found?.version).toBe(3)
  })

  test('a folder renamed to another version is passed over', async () => {
    await publishCheckpoint(checkpointDir(root, 5), contentOf(4))
    expect((await latestGoodCheckpoint(root)).refused[0]?.fault.message).toContain(
      'it says that it is version 4',
    )
  })

  test('a folder that does not exist has no versions', async () => {
    expect(await latestGoodCheckpoint(join(root, 'absent'))).toEqual({ found: undefined, refused: [] })
  })

  test('a deleted version is gone, deleting it again does nothing', async () => {
    await publishCheckpoint(checkpointDir(root, 1), contentOf(1))
    await deleteCheckpoint(checkpointDir(root, 1))
    await deleteCheckpoint(checkpointDir(root, 1))
    expect(await publishedVersions(root)).toEqual([])
  })
})
