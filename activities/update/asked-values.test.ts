import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import type { ValuesRequest } from '../../policy/trainer/trainer.ts'
import type { Trajectory } from '../../storage/trajectories/trajectory.ts'
import { askedValues } from './asked-values.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-values-'))
  return () => rm(folder, { recursive: true })
})

/** Two turns of two tokens and one, and between them one that ended before its first token. */
const played = {
  tokens: Int32Array.from([4, 5, 6, 7, 8]),
  lossMask: Uint8Array.from([0, 1, 1, 0, 1]),
  logprobs: Float32Array.from([0, -1, -1, 0, -1]),
  versions: Int32Array.from([-1, 3, 3, -1, 3]),
  turns: [
    { begin: 1, end: 3 },
    { begin: 4, end: 4 },
    { begin: 4, end: 5 },
  ],
} as unknown as Trajectory

function asked(algorithm: string, answer: readonly number[]) {
  const requests: ValuesRequest[] = []
  const values = askedValues(
    algorithm,
    () => ({
      values: async (request) => {
        requests.push(request)
        return answer
      },
    }),
    async () => ({ batchFile: join(folder, 'batch'), checkpointDir: 'checkpoints/7', microBatchTokens: 64 }),
  )
  return { values, requests }
}

// [ASKED-VALUES-1]
it('each turn with a token has the value that the trainer gives it under the checkpoint of the update', async () => {
  const { values, requests } = asked('turn_ppo', [0.5, 0.25, 1, 2])
  expect(await (await values)?.([played, played])).toEqual([
    [0.5, 0, 0.25],
    [1, 0, 2],
  ])
  expect(requests).toEqual([
    { batchFile: join(folder, 'batch'), checkpointDir: 'checkpoints/7', microBatchTokens: 64 },
  ])
  const { turnStarts = [] } = await readUpdateBatch(join(folder, 'batch'))
  expect([...turnStarts]).toEqual([0, 1, 0, 0, 1, 0, 1, 0, 0, 1])
})

it('a trainer that gives another number of values is refused, and an algorithm without values asks for none', async () => {
  const { values } = asked('turn_ppo', [1])
  await expect((await values)?.([played])).rejects.toThrow(
    'the trainer gives 1 values, and the batch has 2 turns',
  )
  expect(await asked('grpo', []).values).toBeUndefined()
})
