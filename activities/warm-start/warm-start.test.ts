import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { openRun } from '../../bench/learning/opened-run.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { prepareWarmStart } from './warm-start.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-warm-start-'))
  return () => rm(folder, { recursive: true })
})

// [WARM-START-2]
it('imitates as many demonstrations as are asked for, though its tokenizer needs more', async () => {
  const config = configSchema.parse({
    tasks: [{ task: 'alfworld', settings: { difficulty: 'easy' } }],
    policy: { hiddenSize: 32, layers: 1, heads: 2, keyValueHeads: 1, vocabularySize: 512 },
    warmStart: { demonstrations: 3, chunks: 1 },
  })
  await using run = await openRun(folder, config)
  await prepareWarmStart(run.opened, () => undefined, new AbortController().signal)
  const { offsets } = await readUpdateBatch(run.opened.directory.demonstrationsFile)
  expect(offsets).toHaveLength(3 + 1)
})
