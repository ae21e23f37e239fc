/** The check of trainers, on modules that keep the contract in their own way or break it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkTrainer } from './trainer-check.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-check-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const room = (file: string) => JSON.stringify(join(import.meta.dirname, '..', '..', 'policy', file))

/** Writes a module whose update has this body. */
async function moduleOf(name: string, update: string): Promise<string> {
  const path = join(folder, `${name}.ts`)
  await writeFile(
    path,
    `import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { copyCheckpoint } from ${room('checkpoints/copying.ts')}
import { readManifest, renderManifest } from ${room('checkpoints/manifest.ts')}

const [whole, divided] = ['optimizer.safetensors', 'optimizer-0-of-1.safetensors']

async function renamed(dir: string, from: string, to: string): Promise<void> {
  const { files, ...manifest } = await readManifest(dir)
  const { [from]: moved, ...others } = files
  await rename(join(dir, from), join(dir, to))
  await writeFile(join(dir, 'manifest.json'), renderManifest({ ...manifest, files: { ...others, [to]: moved } }))
}

export const trainer = {
  name: ${JSON.stringify(name)},
  openTrainer: async ({ embedded }) => ({
    losses: async () => ['clipped', 'cispo', 'gspo', 'dgg', 'epo', 'distillation', 'turn_ppo'],
    update: async (request, ...others) => {
      ${update}
    },
  }),
}
`,
  )
  return path
}

test('a trainer that keeps its moments in files of its own keeps the contract', async () => {
  const trainer = await moduleOf(
    'dividing',
    `const asked = { ...request }
      if (existsSync(join(request.fromCheckpointDir, divided))) {
        asked.fromCheckpointDir = \`\${request.toCheckpointDir}-from\`
        await rm(asked.fromCheckpointDir, { recursive: true, force: true })
        await copyCheckpoint(request.fromCheckpointDir, asked.fromCheckpointDir)
        await renamed(asked.fromCheckpointDir, divided, whole)
      }
      const statistics = await embedded.update(asked, ...others)
      if (existsSync(join(request.toCheckpointDir, whole))) await renamed(request.toCheckpointDir, whole, divided)
      return statistics`,
  )
  for (const only of ['trainer: clipped', 'continues from its own', 'result that is there']) {
    const [check, ...more] = await checkTrainer({ trainer, only, stallMs: 120_000 })
    expect(check, check?.detail).toMatchObject({ ok: true })
    expect(more).toEqual([])
    if (only.includes('clipped')) expect(check?.detail).toContain('gradient not compared')
  }
}, 120_000)

test('one that trains again where a result is there, and one that goes on without a gradient, are found', async () => {
  const again = await moduleOf(
    'doing-again',
    `await rm(request.toCheckpointDir, { recursive: true, force: true })
      return embedded.update(request, ...others)`,
  )
  expect(await checkTrainer({ trainer: again, only: 'result that is there', stallMs: 120_000 })).toEqual([
    expect.objectContaining({ ok: false, detail: 'it wrote the checkpoint once more' }),
  ])
  const small = await moduleOf(
    'never-stopping',
    `const learningRate = Math.min(0.001, request.optimizer.learningRate)
      return embedded.update({ ...request, optimizer: { ...request.optimizer, learningRate } }, ...others)`,
  )
  expect(await checkTrainer({ trainer: small, only: 'stop being finite', stallMs: 120_000 })).toEqual([
    expect.objectContaining({ ok: false, detail: 'expected the error not_finite, but it trained' }),
  ])
}, 120_000)
