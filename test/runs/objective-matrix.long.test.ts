/** The gradient of every combination that a configuration may name, beside a calculation that shares no code with the trainer. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { combinations, type Ground, gradientError, preparedIn } from '../gradient/combinations.ts'
import { customModule } from '../gradient/plain-update.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-objectives-'))
const custom = join(folder, 'custom.mjs')
writeFileSync(custom, customModule)
const trainer = createTrainer({ threads: 1 })
let ground: Ground

beforeAll(async () => {
  ground = await preparedIn(folder)
})
afterAll(async () => {
  await trainer.close()
  rmSync(folder, { recursive: true, force: true })
})

test.each(combinations(custom))(
  'the gradient is within 1e-4 of the plain one: $name',
  async (combination) => {
    expect(await gradientError(combination, ground, trainer)).toBeLessThan(1e-4)
  },
)
