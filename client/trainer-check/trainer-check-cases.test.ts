import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import type { Trainer } from '../../policy/trainer/trainer.ts'
import { figuresOf, type UpdateFigures } from './trainer-check.testing.ts'
import { checkedCases, fixtureIn, type TrainerFixture } from './trainer-check-cases.ts'

let folder: string
let embedded: Trainer
let fixture: TrainerFixture
let expected: Readonly<Record<string, UpdateFigures>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-figures-'))
  embedded = createTrainer({ threads: 1 })
  fixture = await fixtureIn(folder, embedded)
  expected = JSON.parse(await readFile(join(import.meta.dirname, 'trainer-check.expected.json'), 'utf8'))
})

afterAll(async () => {
  await embedded.close()
  await rm(folder, { recursive: true, force: true })
})

// The numbers are PyTorch's: its automatic differentiation of the losses as trainers/pytorch writes them out.
test.each(checkedCases)(
  '$name: loss and gradient are within 1e-4 of PyTorch, ratios up to e^±2',
  async ({ name, changes }) => {
    const { request } = fixture
    const toCheckpointDir = join(folder, name)
    const found = await figuresOf(embedded, { ...request, ...changes(request), toCheckpointDir })
    const { statistics, moments } = expected[name] as UpdateFigures
    for (const [figure, value] of Object.entries(statistics))
      expect(Math.abs((found.statistics[figure] ?? Number.NaN) - value), figure).toBeLessThanOrEqual(
        1e-4 * Math.max(Math.abs(value), 1e-3),
      )
    for (const [weight, { norm, projection }] of Object.entries(moments)) {
      expect(Math.abs((found.moments[weight]?.norm ?? Number.NaN) - norm) / norm, weight).toBeLessThan(1e-4)
      expect(
        Math.abs((found.moments[weight]?.projection ?? Number.NaN) - projection) / norm,
        weight,
      ).toBeLessThan(1e-4)
    }
  },
)
