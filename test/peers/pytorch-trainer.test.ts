/** The PyTorch trainer makes an update as the embedded one does; `pytorch-trainer.nightly.test.ts` proves the whole contract. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { fixtureIn } from '../../client/trainer-check/trainer-check-cases.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { createProcessTrainer } from '../../policy/trainer/foreign/examined-trainer.ts'
import { pythonWithTorch, trainerFolder } from './torch.ts'

const python = pythonWithTorch()
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-pytorch-'))
  vi.stubEnv('PYTHONPATH', trainerFolder)
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

test.skipIf(python === undefined)(
  'loss and gradient of an update in PyTorch are those of the embedded trainer within 1e-4 (skipped where no PyTorch is installed)',
  async () => {
    const embedded = createTrainer({ threads: 1 })
    // Loading PyTorch takes half a minute where all cores are taken.
    const options = { command: [python ?? '', '-m', 'perdure_trainer'], stallMs: 300_000, threads: 1 }
    const foreign = createProcessTrainer(options, createTrainer({ threads: 1 }))
    try {
      const { request } = await fixtureIn(folder, embedded)
      const ours = await embedded.update({ ...request, toCheckpointDir: join(folder, 'embedded') })
      const theirs = await foreign.update({ ...request, toCheckpointDir: join(folder, 'pytorch') })
      expect(ours.gradientNorm).toBeGreaterThan(0)
      expect(Math.abs(theirs.loss / ours.loss - 1)).toBeLessThan(1e-4)
      expect(Math.abs(theirs.gradientNorm / ours.gradientNorm - 1)).toBeLessThan(1e-4)
    } finally {
      await Promise.all([embedded.close(), foreign.close()])
    }
  },
  600_000,
)
