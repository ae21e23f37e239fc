/**
 * Records what PyTorch makes of the updates on which trainers are checked: `node scripts/record/record-pytorch-figures.ts COMMAND…`.
 *
 * `client/trainer-check/trainer-check-cases.test.ts` compares the embedded trainer with it where PyTorch is not installed.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { figuresOf } from '../../client/trainer-check/trainer-check.testing.ts'
import { checkedCases, fixtureIn } from '../../client/trainer-check/trainer-check-cases.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { createProcessTrainer } from '../../policy/trainer/foreign/examined-trainer.ts'

const folder = await mkdtemp(join(tmpdir(), 'perdure-pytorch-'))
const embedded = createTrainer({ threads: 1 })
const pytorch = createProcessTrainer(
  { command: process.argv.slice(2), stallMs: 120_000, threads: 2 },
  createTrainer({ threads: 1 }),
)
try {
  const { request } = await fixtureIn(folder, embedded)
  const figures: Record<string, unknown> = {}
  for (const { name, changes } of checkedCases)
    figures[name] = await figuresOf(pytorch, {
      ...request,
      ...changes(request),
      toCheckpointDir: join(folder, name),
    })
  const file = join(import.meta.dirname, '..', '..', 'client', 'trainer-check', 'trainer-check.expected.json')
  await writeFile(file, `${JSON.stringify(figures, null, 2)}\n`)
} finally {
  await Promise.all([pytorch.close(), embedded.close()])
  await rm(folder, { recursive: true, force: true })
}
