import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { publishCheckpoint, readCheckpoint } from '../../checkpoints/checkpoint.ts'
import { tinyArchitecture, tinyWeights } from '../../checkpoints/policy.testing.ts'
import { createTrainer } from '../embedded.ts'
import type { Trainer, UpdateRequest } from '../trainer.ts'
import { createModuleTrainer } from './module-trainer.ts'

let root: string
let trainer: Trainer | undefined
let count = 0

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-module-'))
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

/** A trainer whose update has this body; `half` moves the first weight, as a real update moves all. */
async function trainerThat(body: string, more = '', stallMs = 60_000): Promise<Trainer> {
  const path = join(root, `trainer-${++count}.ts`)
  const room = (name: string) => JSON.stringify(join(import.meta.dirname, '..', '..', name))
  await writeFile(
    path,
    `import { publishCheckpoint } from ${room('checkpoints/checkpoint.ts')}
import { readWithMoments } from ${room('checkpoints/restoring.ts')}
import { appendFileSync } from 'node:fs'
const note = (text) => appendFileSync(${JSON.stringify(join(root, 'notes'))}, text + '\\n')
const statistics = { loss: 1, kl: 0, referenceKl: 0, entropy: 2, clipFraction: 0, gradientNorm: 0.5, actionTokens: 3, tokens: 4 }
async function half({ fromCheckpointDir, toCheckpointDir, version }) {
  const before = await readWithMoments(fromCheckpointDir)
  const weights = new Map([...before.weights].map(([name, weight]) => [name, weight.slice()]))
  weights.values().next().value[0] += 0.5
  const state = { ...before.state, version, step: before.state.step + 1, facts: { statistics, objective: 'policy' } }
  await publishCheckpoint(toCheckpointDir, { ...before, weights, state })
  return { ...statistics, seconds: 1 }
}
export const trainer = {
  name: 'half',
  async openTrainer(options) {
    note('opened')
    return { async update(request, onProgress, signal) { ${body} }, close: async () => note('closed'), ${more} }
  },
}
`,
  )
  trainer = createModuleTrainer({ path, stallMs, threads: 1 }, createTrainer({ threads: 1 }))
  return trainer
}

function update(): UpdateRequest {
  return {
    batchFile: join(root, 'batch'),
    fromCheckpointDir: join(root, '0'),
    toCheckpointDir: join(root, '1'),
    version: 1,
    objective: {
      kind: 'policy',
      ...{
        clipLow: 0.2,
        clipHigh: 0.2,
        dualClip: 3,
        klCoefficient: 0,
        entropyCoefficient: 0,
        temperature: 1,
      },
    },
    optimizer: { learningRate: 1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, gradientClip: 1 },
    microBatchTokens: 64,
  }
}

describe('a trainer of a module', () => {
  test('makes the next version, and a result that is there is found', async () => {
    const own = await trainerThat(
      'onProgress(1, 2); const made = await half(request); onProgress(2, 2); return made',
    )
    const progress: number[] = []
    const { loss } = await own.update(update(), (done) => progress.push(done))
    expect({ loss, progress }).toEqual({ loss: 1, progress: [1, 2] })
    const [before, after] = await Promise.all(
      ['0', '1'].map((version) => readCheckpoint(join(root, version))),
    )
    const first = (content: typeof before) => [...(content?.weights.values() ?? [])][0]?.[0] ?? 0
    expect(first(after) - first(before)).toBeCloseTo(0.5)
    const never = await trainerThat('throw new Error("asked")')
    expect(await never.update(update())).toMatchObject({ loss: 1 })
  })

  // [MODULE-TRAINER-1]
  test.each([
    ['throws', 'throw new Error("no GPU")', 'backend', 'failed: no GPU'],
    [
      'answers wrongly',
      'await half(request); return { loss: "low" }',
      'bad_answer',
      'answered "update" wrongly',
    ],
    ['writes nothing', 'return { ...statistics, seconds: 1 }', 'bad_answer', 'cannot be used'],
    ['tells more than there is', 'onProgress(3, 2); return await half(request)', 'bad_answer', '3 of 2'],
  ])('that %s is named, and leaves nothing', async (_, body, kind, words) => {
    const own = await trainerThat(body)
    await expect(own.update(update())).rejects.toMatchObject({
      kind,
      message: expect.stringContaining(words),
    })
    expect((await readdir(root)).sort().filter((name) => !/^(trainer|notes)/.test(name))).toEqual(['0'])
  })

  // [MODULE-TRAINER-1]
  test('without progress for too long is given up, asked to stop, and opened again', async () => {
    const own = await trainerThat(
      "if (globalThis.hung) return half(request); globalThis.hung = true; signal.addEventListener('abort', () => note('aborted')); await new Promise(() => {})",
      '',
      500,
    )
    await expect(own.update(update())).rejects.toMatchObject({ kind: 'stalled' })
    expect(await own.update(update())).toMatchObject({ loss: 1 })
    expect((await readCheckpoint(join(root, '1'))).state.version).toBe(1)
    const { readFile } = await import('node:fs/promises')
    expect((await readFile(join(root, 'notes'), 'utf8')).trim().split('\n')).toEqual([
      'opened',
      'aborted',
      'closed',
      'opened',
    ])
  })

  test('ends with the reason of a signal', async () => {
    const own = await trainerThat('await new Promise(() => {})')
    const giving = new AbortController()
    const asked = own.update(update(), undefined, giving.signal)
    giving.abort(new Error('stopped by a person'))
    await expect(asked).rejects.toThrow('stopped by a person')
    expect(existsSync(join(root, '1'))).toBe(false)
  })

  test('is offered losses only where it lists them', async () => {
    const own = await trainerThat('return half(request)', "losses: async () => ['mine']")
    expect(await own.losses?.()).toEqual(['mine'])
    const objective = { ...update().objective, loss: { name: 'other', module: '/x' } }
    await expect(own.update({ ...update(), objective })).rejects.toMatchObject({ kind: 'unsupported' })
  })

  // [MODULE-TRAINER-2]
  test('has the embedded trainer for what it leaves out', async () => {
    const own = await trainerThat('return half(request)')
    const tokens = Int32Array.of(0, 1, 2)
    const asked = { checkpointDir: join(root, '0'), tokens, offsets: Int32Array.of(0, 3), temperature: 1 }
    const found = await own.logprobs({ ...asked, lossMask: Uint8Array.of(0, 1, 1), microBatchTokens: 8 })
    expect(found.every((value) => value <= 0)).toBe(true)
  })

  test('that does not load is named with what to do', async () => {
    const missing = createModuleTrainer(
      { path: join(root, 'none.ts'), stallMs: 1000, threads: 1 },
      createTrainer({ threads: 1 }),
    )
    await expect(missing.update(update())).rejects.toMatchObject({
      kind: 'backend',
      message: expect.stringContaining('does not exist'),
    })
    await missing.close()
  })
})
