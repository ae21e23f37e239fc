/** The PyTorch trainer keeps the contract of trainers, with one rank and with two, and loses nothing with a rank. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkTrainer } from '../../client/trainer-check/trainer-check.ts'
import { fixtureIn, type TrainerFixture } from '../../client/trainer-check/trainer-check-cases.ts'
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { createProcessTrainer } from '../../policy/trainer/foreign/examined-trainer.ts'
import type { Trainer } from '../../policy/trainer/trainer.ts'
import { combinations, gradientError, preparedIn } from '../gradient/combinations.ts'
import { customModule } from '../gradient/plain-update.ts'
import { rankMark, ranksOf } from './ranks.ts'
import { pythonWithTorch, trainerFolder } from './torch.ts'

const python = pythonWithTorch()
const command = (ranks: number): readonly string[] => [
  python ?? '',
  ...(ranks === 1 ? [] : ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', String(ranks)]),
  '-m',
  'perdure_trainer',
]
/** ‖a − b‖ / ‖a‖ over all arrays together. */
function apart(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  let [difference, size] = [0, 0]
  for (const [at, values] of a.entries())
    for (const [i, value] of values.entries()) {
      difference += (value - (b[at]?.[i] ?? Number.NaN)) ** 2
      size += value ** 2
    }
  return Math.sqrt(difference / size)
}

/** Loading PyTorch takes half a minute where all cores are taken. */
const stallMs = 300_000
/** Where a rank hangs it is waited for as long; a start must be faster. */
const hangMs = 45_000

describe.skipIf(python === undefined)('the PyTorch trainer (skipped where no PyTorch is installed)', () => {
  let folder: string
  let embedded: Trainer
  let fixture: TrainerFixture
  const before = process.env.PYTHONPATH

  beforeAll(async () => {
    process.env.PYTHONPATH = trainerFolder
    folder = await mkdtemp(join(tmpdir(), 'perdure-pytorch-'))
    process.env[rankMark] = folder
    // A thread of PyTorch that waits by itself takes the core that another test needs.
    process.env.OMP_WAIT_POLICY = 'passive'
    embedded = createTrainer({ threads: 1 })
    fixture = await fixtureIn(folder, embedded)
  })

  afterAll(async () => {
    if (before === undefined) delete process.env.PYTHONPATH
    else process.env.PYTHONPATH = before
    delete process.env[rankMark]
    delete process.env.OMP_WAIT_POLICY
    await embedded.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('its own tests pass', () => {
    const { status, stderr } = spawnSync(
      python ?? '',
      ['-m', 'unittest', 'discover', join(trainerFolder, 'tests')],
      { encoding: 'utf8' },
    )
    expect(status, stderr).toBe(0)
  })

  test.each([1, 2])(
    'with %i rank(s) it keeps every item of the contract',
    async (ranks) => {
      const checks = await checkTrainer({ trainer: command(ranks), stallMs })
      expect(checks.filter(({ ok }) => !ok)).toEqual([])
    },
    900_000,
  )

  test('an update goes on after a rank was killed and after one hangs, and gives the same bytes', async () => {
    const watched = { command: command(2), stallMs: hangMs, threads: 2 }
    const trainer = createProcessTrainer(watched, createTrainer({ threads: 1 }))
    // Many steps, so that the rank is lost in the middle of them.
    const request = {
      ...fixture.request,
      microBatchTokens: 64,
      division: { minibatches: 3, passes: 10, seed: 1 },
    }
    const whole = join(folder, 'whole')
    try {
      await trainer.update({ ...request, toCheckpointDir: whole })
      for (const [name, signal, kind] of [
        ['killed', 'SIGKILL', 'crashed'],
        ['hanging', 'SIGSTOP', 'stalled'],
      ] as const) {
        const after = join(folder, name)
        let isSent = false
        const lost = trainer.update({ ...request, toCheckpointDir: after }, () => {
          if (!isSent) signalSecondRank(signal)
          isSent = true
        })
        await expect(lost).rejects.toMatchObject({ kind })
        await trainer.update({ ...request, toCheckpointDir: after })
        for (const file of readdirSync(whole))
          expect((await readFile(join(after, file))).equals(await readFile(join(whole, file))), file).toBe(
            true,
          )
      }
    } finally {
      await trainer.close()
    }
    await expect.poll(() => ranksOf(folder), { timeout: 60_000 }).toEqual([])
  }, 900_000)

  test('activations computed again change nothing above 1e-6, and bfloat16 nothing above 5 %', async () => {
    const made = async (name: string, ...flags: string[]) => {
      const trainer = createProcessTrainer(
        { command: [...command(1), ...flags], stallMs, threads: 2 },
        createTrainer({ threads: 1 }),
      )
      try {
        const toCheckpointDir = join(folder, name)
        const { loss, gradientNorm } = await trainer.update({ ...fixture.request, toCheckpointDir })
        const { optimizer } = await readCheckpoint(toCheckpointDir, { optimizer: true })
        // After one step from no moments they are the gradient times a factor.
        return { loss, gradientNorm, moments: [...(optimizer?.first.values() ?? [])] }
      } finally {
        await trainer.close()
      }
    }
    const plain = await made('plain')
    for (const [name, limit, flags] of [
      ['again', 1e-6, ['--checkpoint-activations']],
      ['short', 0.05, ['--dtype', 'bfloat16', '--checkpoint-activations']],
    ] as const) {
      const other = await made(name, ...flags)
      expect(Math.abs(other.loss / plain.loss - 1), name).toBeLessThan(limit)
      expect(Math.abs(other.gradientNorm / plain.gradientNorm - 1), name).toBeLessThan(limit)
      expect(apart(plain.moments, other.moments), name).toBeLessThan(limit)
    }
  }, 900_000)

  test('its gradient is within 1e-4 of the plain one for every combination that a configuration may name', async () => {
    const home = await mkdtemp(join(folder, 'matrix-'))
    const ground = await preparedIn(home)
    const custom = join(home, 'custom.mjs')
    await writeFile(custom, customModule)
    const trainer = createProcessTrainer(
      { command: command(1), stallMs, threads: 1 },
      createTrainer({ threads: 1 }),
    )
    try {
      for (const combination of combinations(custom)) {
        const error = gradientError(combination, ground, trainer)
        if (combination.config.learning.algorithm === custom)
          await expect(error, combination.name).rejects.toMatchObject({ kind: 'unsupported' })
        else expect(await error, combination.name).toBeLessThan(1e-4)
      }
    } finally {
      await trainer.close()
    }
  }, 900_000)

  /** Once all ranks work, rank 0 waits for the second one. */
  function signalSecondRank(signal: NodeJS.Signals): void {
    const second = ranksOf(folder).find(({ rank }) => rank === 1)
    if (second !== undefined) process.kill(second.pid, signal)
  }
})
