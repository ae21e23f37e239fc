import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { publishCheckpoint, readCheckpoint, verifyCheckpoint } from '../../checkpoints/checkpoint.ts'
import { tinyArchitecture, tinyWeights } from '../../checkpoints/policy.testing.ts'
import { createTrainer } from '../embedded.ts'
import type { Trainer, UpdateRequest } from '../trainer.ts'
import { createProcessTrainer } from './examined-trainer.ts'

const program = join(import.meta.dirname, 'foreign-program.testing.ts')

let root: string
let trainer: Trainer | undefined

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-foreign-'))
  await publishCheckpoint(join(root, '0'), {
    architecture: tinyArchitecture,
    weights: tinyWeights((tensor, element) => tensor + element / 100),
    tokenizer: '{}',
    state: { version: 0, step: 0, chat: 'compact', facts: {} },
  })
})

afterEach(async () => {
  await trainer?.close()
  trainer = undefined
  await rm(root, { recursive: true, force: true })
})

function trainerThat(trick: string, stallMs = 60_000): Trainer {
  const command = [process.execPath, program, trick, join(root, 'notes')]
  trainer = createProcessTrainer({ command, stallMs, threads: 1 }, createTrainer({ threads: 1 }))
  return trainer
}

function update(from = 0, to = 1): UpdateRequest {
  return {
    batchFile: join(root, 'batch'),
    fromCheckpointDir: join(root, String(from)),
    toCheckpointDir: join(root, String(to)),
    version: to,
    objective: {
      kind: 'policy',
      clipLow: 0.2,
      clipHigh: 0.2,
      dualClip: 3,
      klCoefficient: 0,
      entropyCoefficient: 0,
      temperature: 1,
    },
    optimizer: { learningRate: 1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, gradientClip: 1 },
    microBatchTokens: 64,
  }
}

/** The calls of the program: its process and the method, by line. */
async function asked(): Promise<readonly (readonly string[])[]> {
  const text = await readFile(join(root, 'notes'), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
}

/** Nothing but the checkpoints named, and the program's notes. */
async function expectOnly(...versions: readonly string[]): Promise<void> {
  expect((await readdir(root)).filter((name) => name !== 'notes')).toEqual(versions)
}

test('a program makes updates one after the other, and its progress is reported', async () => {
  const foreign = trainerThat('good')
  const progress: (readonly number[])[] = []
  const { loss, seconds } = await foreign.update(update(), (...counts) => progress.push(counts))
  expect({ loss, seconds, progress }).toEqual({
    loss: 1,
    seconds: 0.1,
    progress: [
      [1, 2],
      [2, 2],
    ],
  })
  await Promise.all([foreign.update(update(1, 2)), foreign.update(update(2, 3))])
  const { weights } = await readCheckpoint(join(root, '3'))
  expect([...weights.values()][0]?.[0]).toBe(1.5) // three times 0.5
  await expectOnly('0', '1', '2', '3')
})

// [FOREIGN-1] [FOREIGN-2]
test('one process serves all updates, and a result that is there is found without it', async () => {
  const foreign = trainerThat('good')
  const first = await foreign.update(update())
  expect(await foreign.update(update())).toEqual({ ...first, seconds: expect.any(Number) })
  await foreign.update(update(1, 2))
  const lines = await asked()
  expect(lines.map(([, method]) => method)).toEqual(['hello', 'update', 'update'])
  expect(new Set(lines.map(([process]) => process)).size).toBe(1)
})

test('a program that does not report the steps that it left out cannot end an update at a divergence, and makes no version', async () => {
  const division = { minibatches: 2, passes: 2, seed: 1 }
  const foreign = trainerThat('good')
  await expect(
    foreign.update({ ...update(), division: { ...division, targetKl: 0.01 } }),
  ).rejects.toMatchObject({
    kind: 'unsupported',
    permanent: true,
    message: expect.stringContaining('learning.targetKl'),
  })
  await expectOnly('0')
  await foreign.update({ ...update(), division })
})

test.each([
  [{ loss: { name: 'gated', module: '/my/gated.ts' } }, '"gated" of /my/gated.ts'],
  [{ losses: ['clipped', 'gspo'] as const }, '"clipped" beside others in one batch'],
])(
  'a loss that the program does not offer is refused by name, and the program goes on: %j',
  async (chosen, words) => {
    const foreign = trainerThat('good')
    const { objective, ...request } = update()
    expect(await foreign.losses?.()).toEqual([])
    await expect(
      foreign.update({ ...request, objective: { ...objective, ...chosen } }),
    ).rejects.toMatchObject({
      kind: 'unsupported',
      permanent: true,
      message: expect.stringContaining(words),
    })
    await foreign.update(update())
    expect((await asked()).map(([, method]) => method)).toEqual(['hello', 'update'])
  },
)

// [FOREIGN-1] [TRAINER-PROCESS-1]
test('a process that dies is named with its end, and started again by the next update', async () => {
  const foreign = trainerThat('dies')
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(foreign.update(update())).rejects.toMatchObject({
      name: 'TrainerFault',
      kind: 'crashed',
      message: expect.stringContaining('ended with code 3'),
    })
  expect(new Set((await asked()).map(([process]) => process)).size).toBe(2)
  await expectOnly('0')
})

// [TRAINER-PROCESS-2]
test.each([
  ['hangs', 'reported nothing about "update" for 4 s'],
  ['still', 'reported nothing about "update" for 4 s'],
  ['silent', 'reported nothing about "hello" for 4 s'],
])('a process that %s is ended after the stall limit', async (trick, message) => {
  // Loading the program counts as silence too, so this test gives it the time that it needs.
  const foreign = trainerThat(trick, 4000)
  await expect(foreign.update(update())).rejects.toMatchObject({
    kind: 'stalled',
    message: expect.stringContaining(message),
  })
  await expectOnly('0')
})

// [FOREIGN-3] [EXAMINED-1] [TRAINER-PROCESS-1]
describe('what is wrong with an answer is named, and nothing of it is published', () => {
  test.each([
    ['garbage', 'bad_answer', 'torch says hello'],
    ['beyond', 'bad_answer', 'cannot be'],
    ['not-a-number', 'bad_answer', 'answers nothing'],
    ['other-id', 'bad_answer', 'answers nothing'],
    ['other', 'bad_answer', 'offers fold'],
    ['floods', 'crashed', 'a line of more than'],
    ['nan', 'not_finite', 'model.embed_tokens.weight is not finite'],
    ['nothing-written', 'bad_answer', 'no checkpoint here'],
    ['damaged', 'bad_answer', 'model.safetensors has 5 bytes'],
    ['other-version', 'bad_answer', 'says that it is version 99'],
    ['no-step', 'bad_answer', 'at optimizer step 0'],
    ['other-tokenizer', 'bad_answer', 'another tokenizer.json'],
    ['other-statistics', 'bad_answer', 'facts.statistics of another form: kl'],
    ['reports', 'exploded', 'the norm is 7'],
  ])('%s', async (trick, kind, message) => {
    const foreign = trainerThat(trick)
    await expect(foreign.update(update())).rejects.toMatchObject({
      name: 'TrainerFault',
      kind,
      message: expect.stringContaining(message),
    })
    await expectOnly('0')
  })
})

test('an answer too many ends the process, and not the update before it', async () => {
  const foreign = trainerThat('twice')
  await foreign.update(update())
  await foreign.update(update(1, 2)).catch((fault: unknown) => {
    expect(fault).toMatchObject({ kind: 'bad_answer', message: expect.stringContaining('answers nothing') })
  })
  await expect(verifyCheckpoint(join(root, '1'))).resolves.toMatchObject({ version: 1 })
})

// [FOREIGN-4] [TRAINER-PROCESS-3]
test('an update that is cancelled ends its process, and fails with the reason', async () => {
  const foreign = trainerThat('hangs')
  const cancelling = new AbortController()
  const reason = new Error('the run was stopped')
  const updating = foreign.update(update(), () => cancelling.abort(reason), cancelling.signal)
  await expect(updating).rejects.toBe(reason)
  await foreign.close()
  const [[pid] = []] = await asked()
  expect(existsSync(`/proc/${pid}`)).toBe(false)
  await expectOnly('0')
})

test('what a program does not offer is done by the embedded trainer', async () => {
  const foreign = trainerThat('good')
  const logprobs = await foreign.logprobs({
    checkpointDir: join(root, '0'),
    tokens: Int32Array.of(1, 2, 3),
    offsets: Int32Array.of(0, 3),
    lossMask: Uint8Array.of(0, 0, 1),
    temperature: 1,
    microBatchTokens: 64,
  })
  expect(logprobs[2]).toBeLessThan(0)
  expect(existsSync(join(root, 'notes'))).toBe(false)
})

test('a command that cannot be started is named', async () => {
  trainer = createProcessTrainer(
    { command: ['no-such-program', 'x'], stallMs: 1000, threads: 1 },
    createTrainer({ threads: 1 }),
  )
  await expect(trainer.update(update())).rejects.toThrow(/the trainer no-such-program x cannot be started/)
})
