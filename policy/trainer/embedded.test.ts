import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { publishCheckpoint, readCheckpoint } from '../checkpoints/checkpoint.ts'
import type { Architecture } from '../transformer/architecture.ts'
import { plainLogits, plainLogSoftmax } from '../transformer/plain-decoder.testing.ts'
import type { UpdateBatch } from './batch.ts'
import { writeUpdateBatch } from './batch-file.ts'
import { createTrainer } from './embedded.ts'
import { initializeCheckpoint } from './initial-checkpoint.ts'
import type { Trainer, UpdateRequest, UpdateStatistics, WarmStartRequest } from './trainer.ts'
import { readTokenFigures } from './update/token-figures.ts'

const architecture: Architecture = {
  vocab_size: 29,
  hidden_size: 16,
  intermediate_size: 32,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 8,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  max_position_embeddings: 64,
}

let root: string
let trainer: Trainer
let batch: UpdateBatch
const at = (name: string): string => join(root, name)

/** Sequences in which the next token follows from the one before; the second half counts. */
function countingBatch(): UpdateBatch {
  const next = uniforms(3)
  const episodes = 24
  const length = 20
  const n = episodes * length
  const tokens = new Int32Array(n)
  for (let i = 0; i < n; i++)
    tokens[i] = i % length === 0 ? Math.floor(29 * next()) : ((tokens[i - 1] as number) * 3 + 1) % 29
  const lossMask = Uint8Array.from({ length: n }, (_, i) => (i % length >= 10 ? 1 : 0))
  return {
    tokens,
    offsets: Int32Array.from({ length: episodes + 1 }, (_, i) => i * length),
    lossMask,
    behaviourLogprobs: new Float32Array(n),
    versions: Int32Array.from(lossMask, (counts) => counts - 1),
    advantages: new Float32Array(n),
  }
}

const optimizer = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.01,
  gradientClip: 1,
}

function warmStart(changes: Partial<WarmStartRequest>): WarmStartRequest {
  return {
    demonstrationsFile: at('demonstrations'),
    fromCheckpointDir: at('0'),
    toCheckpointDir: at('warm'),
    version: 1,
    firstStep: 0,
    steps: 60,
    totalSteps: 60,
    batchTokens: 100,
    observationWeight: 0,
    warmUpSteps: 4,
    seed: 1,
    optimizer,
    microBatchTokens: 128,
    ...changes,
  }
}

function update(changes: Partial<UpdateRequest>): UpdateRequest {
  return {
    batchFile: at('batch'),
    fromCheckpointDir: at('warm'),
    toCheckpointDir: at('2'),
    version: 2,
    referenceCheckpointDir: at('0'),
    objective: {
      kind: 'policy',
      clipLow: 0.2,
      clipHigh: 0.2,
      dualClip: 3,
      klCoefficient: 1e-3,
      entropyCoefficient: 0.01,
      temperature: 0.8,
    },
    optimizer: { ...optimizer, learningRate: 0.001 },
    microBatchTokens: 128,
    ...changes,
  }
}

/** Every file of a checkpoint, as text of its bytes. */
async function bytesOf(dir: string): Promise<Record<string, string>> {
  const names = (await readdir(dir)).sort()
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name), 'latin1')])),
  )
}

/** Logprobs of the counted tokens under a checkpoint, by the plain decoder. */
async function plainLogprobs(dir: string, temperature: number): Promise<number[]> {
  const { weights } = await readCheckpoint(dir)
  const doubled = new Map([...weights].map(([name, weight]) => [name, Float64Array.from(weight)]))
  const logprobs = new Array<number>(batch.tokens.length).fill(0)
  for (let episode = 0; episode + 1 < batch.offsets.length; episode++) {
    const begin = batch.offsets[episode] as number
    const tokens = [...batch.tokens.slice(begin, batch.offsets[episode + 1])]
    for (const [position, logits] of plainLogits(architecture, doubled, tokens).entries()) {
      const next = begin + position + 1
      if (position + 1 < tokens.length && batch.lossMask[next] === 1)
        logprobs[next] = plainLogSoftmax(logits, temperature)[tokens[position + 1] as number] as number
    }
  }
  return logprobs
}

function logprobsOf(dir: string, temperature = 0.8): Promise<Float32Array> {
  const { tokens, offsets, lossMask } = batch
  return trainer.logprobs({
    checkpointDir: dir,
    tokens,
    offsets,
    lossMask,
    temperature,
    microBatchTokens: 128,
  })
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-trainer-'))
  trainer = createTrainer({ threads: 1 })
  batch = countingBatch()
  await initializeCheckpoint(at('0'), { architecture, tokenizer: '{}', chat: 'compact', seed: 1 })
  await writeUpdateBatch(at('demonstrations'), batch)
  await trainer.warmStart(warmStart({}))
  const next = uniforms(8)
  const behaviourLogprobs = await logprobsOf(at('warm'))
  const advantages = Float32Array.from(batch.lossMask, (counts) => counts * (next() - 0.5))
  await writeUpdateBatch(at('batch'), { ...batch, behaviourLogprobs, advantages })
})

afterAll(async () => {
  await trainer.close()
  await rm(root, { recursive: true, force: true })
})

describe('warm start', () => {
  test('a policy learns its demonstrations', async () => {
    const { loss, lastLoss } = await trainer.warmStart(warmStart({}))
    expect(loss).toBeLessThan(Math.log(29))
    expect(lastLoss).toBeLessThan(1)
  })

  test('what the expert reads is learnt by its weight, and reported losses are those of the actions', async () => {
    const tokens = batch.tokens.slice()
    for (let i = 0; i < tokens.length; i++)
      if (i % 20 > 0 && i % 20 < 10) tokens[i] = ((tokens[i - 1] as number) + 5) % 29 // a rule of its own
    await writeUpdateBatch(at('read'), { ...batch, tokens })
    const read = { tokens, offsets: batch.offsets, temperature: 1, microBatchTokens: 128 }
    const surprise = async (checkpointDir: string, counts: (place: number) => boolean): Promise<number> => {
      const lossMask = Uint8Array.from(tokens, (_, i) => (counts(i % 20) ? 1 : 0))
      const logprobs = await trainer.logprobs({ ...read, checkpointDir, lossMask })
      return -logprobs.reduce((sum, each) => sum + each, 0) / lossMask.filter((each) => each === 1).length
    }
    const imitate = async (observationWeight: number): Promise<readonly number[]> => {
      const toCheckpointDir = at(`read ${observationWeight}`)
      await trainer.warmStart(
        warmStart({ demonstrationsFile: at('read'), toCheckpointDir, observationWeight }),
      )
      const { lastLoss } = await trainer.warmStart(
        warmStart({
          demonstrationsFile: at('read'),
          fromCheckpointDir: toCheckpointDir,
          toCheckpointDir: at(`once more ${observationWeight}`),
          version: 2,
          steps: 1,
          batchTokens: 24 * 19, // one step over all demonstrations
          observationWeight,
        }),
      )
      const actions = await surprise(toCheckpointDir, (place) => place >= 10)
      expect(lastLoss).toBeCloseTo(actions, 4)
      return [await surprise(toCheckpointDir, (place) => place > 0 && place < 10), actions]
    }
    const [unread = 0] = await imitate(0)
    const [half = 0, actions = 0] = await imitate(0.5)
    expect(unread).toBeGreaterThan(2)
    expect(half).toBeLessThan(2)
    expect(actions).toBeLessThan(2)
  })

  // [IMITATED-1]
  test.each([0, 0.3])(
    'a demonstration of weight 2 counts as the same demonstration twice, at an observation weight of %d',
    async (observationWeight) => {
      const long = batch.tokens.subarray(0, 20)
      const short = batch.tokens.subarray(20, 36)
      const mask = (tokens: Int32Array) => Array.from(tokens, (_, place) => (place >= 10 ? 1 : 0))
      const normOf = async (name: string, demonstrations: readonly Int32Array[], weights?: Float32Array) => {
        const tokens = Int32Array.from(demonstrations.flatMap((each) => [...each]))
        const offsets = [0]
        for (const { length } of demonstrations) offsets.push((offsets.at(-1) as number) + length)
        const file = at(`${name} ${observationWeight}`)
        await writeUpdateBatch(file, {
          ...{ tokens, offsets: Int32Array.from(offsets) },
          lossMask: Uint8Array.from(demonstrations.flatMap(mask)),
          behaviourLogprobs: new Float32Array(tokens.length),
          versions: new Int32Array(tokens.length).fill(-1),
          advantages: new Float32Array(tokens.length),
          ...(weights && { weights }),
        })
        const step = { steps: 1, batchTokens: tokens.length - demonstrations.length, observationWeight }
        const toCheckpointDir = at(`${name} ${observationWeight} after`)
        return (await trainer.warmStart(warmStart({ demonstrationsFile: file, toCheckpointDir, ...step })))
          .gradientNorm
      }
      const twice = await normOf('twice', [long, long, short])
      // Rewards 2 and 1 of ten and six actions: 2/26 and 1/26 each.
      const counted = [...mask(long).map((one) => (2 * one) / 26), ...mask(short).map((one) => one / 26)]
      expect(await normOf('weighted', [long, short], Float32Array.from(counted))).toBeCloseTo(twice, 5)
      expect(Math.abs((await normOf('alike', [long, short])) - twice)).toBeGreaterThan(1e-3)
    },
  )

  test('a chunk with a file of its own begins with the first of its demonstrations', async () => {
    const lossOf = async (name: string, changes: Partial<WarmStartRequest>) => {
      const request = warmStart({ ...changes, steps: 1, toCheckpointDir: at(name) })
      return (await trainer.warmStart(request)).loss
    }
    const first = await lossOf('plan-0', {})
    expect(await lossOf('plan-20', { firstStep: 20, planStart: 20 })).toBe(first)
    expect(await lossOf('plan-21', { firstStep: 21 })).not.toBe(first)
  })

  test('a warm start in one chunk and in three give the same weights and moments', async () => {
    const chunk = { steps: 20 }
    await trainer.warmStart(warmStart({ ...chunk, toCheckpointDir: at('a1') }))
    await trainer.warmStart(
      warmStart({
        ...chunk,
        firstStep: 20,
        fromCheckpointDir: at('a1'),
        toCheckpointDir: at('a2'),
        version: 2,
      }),
    )
    const fresh = createTrainer({ threads: 1 }) // reads what the other one has in memory
    await fresh.warmStart(
      warmStart({
        ...chunk,
        firstStep: 40,
        fromCheckpointDir: at('a2'),
        toCheckpointDir: at('a3'),
        version: 3,
      }),
    )
    await fresh.close()
    const [whole, cut] = [await bytesOf(at('warm')), await bytesOf(at('a3'))]
    expect(cut['model.safetensors']).toBe(whole['model.safetensors'])
    expect(cut['optimizer.safetensors']).toBe(whole['optimizer.safetensors'])
  })

  test('one that is given up ends between two steps, publishes nothing and leaves the trainer to others', async () => {
    const givingUp = new AbortController()
    const steps = 100_000 // hours
    const request = warmStart({ steps, totalSteps: steps, toCheckpointDir: at('given-up') })
    const giveUpAtTwo = (done: number) => {
      if (done === 2) givingUp.abort(new Error('stopped'))
    }
    const given = trainer.warmStart(request, giveUpAtTwo, givingUp.signal)
    await expect(given).rejects.toThrow('stopped')
    const next = await trainer.warmStart(warmStart({ steps: 2, toCheckpointDir: at('next') }))
    expect(next.loss).toBeGreaterThan(0)
    expect(existsSync(at('given-up'))).toBe(false)
  })
})

describe('logprobs', () => {
  test('they are those of the plain decoder at the temperature asked for', async () => {
    for (const temperature of [1, 0.7]) {
      const logprobs = await logprobsOf(at('warm'), temperature)
      const expected = await plainLogprobs(at('warm'), temperature)
      for (const [i, logprob] of logprobs.entries())
        expect(Math.abs(logprob - (expected[i] as number))).toBeLessThan(1e-4)
    }
  })
})

describe('update', () => {
  test('an update makes what was rewarded likelier, and starts from ratio one', async () => {
    const rewarded = at('rewarded')
    const advantages = Float32Array.from(batch.lossMask)
    const behaviourLogprobs = await logprobsOf(at('warm'))
    await writeUpdateBatch(rewarded, { ...batch, behaviourLogprobs, advantages })
    const request = update({ batchFile: rewarded, toCheckpointDir: at('rewarded-2') })
    const statistics = await trainer.update(request)
    expect(statistics.kl).toBeLessThan(1e-9)
    expect(statistics.clipFraction).toBe(0)
    expect(statistics.referenceKl).toBeGreaterThan(0)
    expect(statistics.tokens).toBe(batch.tokens.length)
    const sum = (values: Float32Array): number => values.reduce((a, b) => a + b, 0)
    expect(sum(await logprobsOf(at('rewarded-2')))).toBeGreaterThan(sum(behaviourLogprobs))
  })

  test('the same update gives the same bytes again, from memory and from files', async () => {
    await trainer.update(update({ toCheckpointDir: at('b2') }))
    await trainer.update(update({ fromCheckpointDir: at('b2'), toCheckpointDir: at('b3'), version: 3 }))
    const fresh = createTrainer({ threads: 1 })
    await fresh.update(update({ toCheckpointDir: at('c2') }))
    await fresh.close()
    const again = createTrainer({ threads: 1 })
    await again.update(update({ fromCheckpointDir: at('c2'), toCheckpointDir: at('c3'), version: 3 }))
    await again.close()
    expect(await bytesOf(at('c2'))).toEqual(await bytesOf(at('b2')))
    expect(await bytesOf(at('c3'))).toEqual(await bytesOf(at('b3')))
  })

  test('the figures of each token are in a file before the version is published, and change nothing of it', async () => {
    const [found, other] = [at('found.tokens'), at('other.tokens')]
    const behaviourLogprobs = await logprobsOf(at('0'))
    await writeUpdateBatch(at('found'), { ...batch, behaviourLogprobs })
    const request = update({ batchFile: at('found'), toCheckpointDir: at('found-2') })
    await trainer.update({ ...request, tokenFile: found })
    await trainer.update({ ...request, toCheckpointDir: at('found-3') })
    expect(await bytesOf(at('found-3'))).toEqual(await bytesOf(at('found-2')))
    const figures = await readTokenFigures(found, batch.tokens.length)
    const logprobs = await logprobsOf(at('warm'))
    for (const [place, ratio] of (figures?.logRatios ?? []).entries())
      expect(Math.abs(ratio - ((logprobs[place] ?? 0) - (behaviourLogprobs[place] ?? 0)))).toBeLessThan(1e-4)
    // However the update is divided, they are those of the policy that it starts from.
    const division = { minibatches: 3, passes: 2, seed: 5 }
    await trainer.update({ ...request, division, toCheckpointDir: at('found-4'), tokenFile: other })
    const divided = await readTokenFigures(other, batch.tokens.length)
    for (const name of ['logRatios', 'entropies'] as const)
      for (const [place, value] of (figures?.[name] ?? []).entries())
        expect(Math.abs(Number(divided?.[name][place]) - value), `${name} ${place}`).toBeLessThan(1e-5)
  })

  // [VALUES-1]
  test('values are fitted to their targets by an update, and asking for them changes nothing of it', async () => {
    const begins = (place: number) => batch.lossMask[place] === 1 && batch.lossMask[place - 1] === 0
    const turnStarts = batch.lossMask.map((_, place) => (begins(place) ? 1 : 0))
    // The token before a turn tells its target.
    const valueTargets = Float32Array.from(
      turnStarts,
      (one, place) => one * ((batch.tokens[place - 1] ?? 0) / 29),
    )
    const behaviourLogprobs = await logprobsOf(at('warm'))
    await writeUpdateBatch(at('valued'), { ...batch, behaviourLogprobs, turnStarts, valueTargets })
    const request = update({ batchFile: at('valued') })
    const valuesOf = (checkpointDir: string) =>
      trainer.values({ batchFile: at('valued'), checkpointDir, microBatchTokens: 64 })
    await trainer.update({ ...request, toCheckpointDir: at('valued-2') })
    const before = await valuesOf(at('warm'))
    expect(before.length).toBeGreaterThan(10)
    expect(before.every((value) => value === 0)).toBe(true)
    await trainer.update({ ...request, toCheckpointDir: at('valued-3') })
    expect(await bytesOf(at('valued-3'))).toEqual(await bytesOf(at('valued-2')))
    const targets = valueTargets.filter((_, place) => turnStarts[place] === 1)
    const missed = (values: readonly number[]) =>
      values.reduce((sum, value, turn) => sum + (value - (targets[turn] ?? 0)) ** 2, 0)
    const after = await valuesOf(at('valued-2'))
    expect(missed(after)).toBeLessThan(missed(before) / 4)
    // From its files too, and kept by an update that fits none.
    const next = update({ fromCheckpointDir: at('valued-2'), toCheckpointDir: at('valued-4'), version: 3 })
    await trainer.update(next)
    const { valueHead } = (await readCheckpoint(at('valued-4'))).state.facts
    expect(valueHead).toEqual((await readCheckpoint(at('valued-2'))).state.facts.valueHead)
    const fresh = createTrainer({ threads: 1 })
    expect(
      await fresh.values({ batchFile: at('valued'), checkpointDir: at('valued-2'), microBatchTokens: 64 }),
    ).toEqual(after)
    await fresh.close()
  })

  // [UPDATE-FIGURES-1]
  test.each([undefined, { importanceLimit: 5 }])(
    'figures by origin are those before the first step, and what the update moves is drift (decoupled: %o)',
    async (decoupled) => {
      const name = decoupled === undefined ? 'origins' : 'decoupled'
      // The policy that the update starts from sampled the fresh tokens, version 0 the stale ones.
      const [fresh, older] = await Promise.all([logprobsOf(at('warm')), logprobsOf(at('0'))])
      const isStale = (place: number) => Math.floor(place / 20) % 4 === 0
      const sampled = (value: (place: number) => number, otherwise = 0) =>
        Array.from(batch.lossMask, (counts, place) => (counts === 1 ? value(place) : otherwise))
      await writeUpdateBatch(at(name), {
        ...batch,
        behaviourLogprobs: Float32Array.from(sampled((i) => Number((isStale(i) ? older : fresh)[i]))),
        versions: Int32Array.from(sampled((i) => (isStale(i) ? 0 : 1), -1)),
        stale: Uint8Array.from(sampled((i) => (isStale(i) ? 1 : 0))),
        advantages: Float32Array.from(sampled((i) => (i % 40 < 20 ? 1 : -1))),
      })
      const request = update({ batchFile: at(name) })
      const made = (minibatches: number) =>
        trainer.update({
          ...request,
          objective: { ...request.objective, decoupled },
          division: { minibatches, passes: 2, seed: 5 },
          toCheckpointDir: at(`${name}-${minibatches}`),
        })
      const [whole, divided] = [await made(1), await made(6)]
      expect(whole.origins?.map(({ version, stale }) => [version, stale])).toEqual([
        [0, true],
        [1, false],
      ])
      for (const [index, origin] of (divided.origins ?? []).entries()) {
        const { tokens = 0, divergence = 0, ratios = 0 } = whole.origins?.[index] ?? {}
        expect(origin.tokens).toBe(tokens)
        expect(origin.divergence / tokens).toBeCloseTo(divergence / tokens, 6)
        expect(origin.ratios / tokens).toBeCloseTo(ratios / tokens, 5)
      }
      // Tokens of the very weights do not diverge from them, whatever the update does to these.
      expect((divided.origins?.[1]?.divergence ?? 1) / (divided.origins?.[1]?.tokens ?? 1)).toBeLessThan(1e-6)
      expect(divided.drift).toBeGreaterThan(1e-4)
      expect(divided.drift).toBeGreaterThan(Number(whole.drift))
      const alone = { ...request, toCheckpointDir: at(`${name}-alone`) }
      expect(await trainer.update(alone)).toMatchObject({ drift: 0 })
    },
  )

  test('of tokens that the policy itself has sampled, all divergence is drift', async () => {
    await writeUpdateBatch(at('own'), {
      ...batch,
      behaviourLogprobs: Float32Array.from(await logprobsOf(at('warm'))),
      advantages: Float32Array.from(batch.lossMask, (counts, i) =>
        counts === 1 ? (i % 40 < 20 ? 1 : -1) : 0,
      ),
    })
    const division = { minibatches: 6, passes: 1, seed: 5 }
    const { kl, drift = 0 } = await trainer.update(
      update({ batchFile: at('own'), toCheckpointDir: at('own-2'), division }),
    )
    expect(drift).toBeGreaterThan(1e-4)
    expect(kl / drift).toBeCloseTo(1, 2)
  })

  test('moments of the warm start are not used by the policy objective', async () => {
    const state = await readCheckpoint(at('warm'), { optimizer: true })
    await publishCheckpoint(at('plain'), { ...state, optimizer: undefined })
    await trainer.update(update({ fromCheckpointDir: at('plain'), toCheckpointDir: at('d2') }))
    await trainer.update(update({ toCheckpointDir: at('e2') }))
    expect(await bytesOf(at('d2'))).toEqual(await bytesOf(at('e2')))
  })

  test('a finished update is found, not done again', async () => {
    const first = await trainer.update(update({ toCheckpointDir: at('f2') }))
    const calls: number[] = []
    const second = await trainer.update(update({ toCheckpointDir: at('f2') }), (done) => calls.push(done))
    expect(calls).toEqual([])
    expect({ ...second, seconds: 0 }).toEqual({ ...first, seconds: 0 })
  })

  test('progress counts micro-batches up to their number', async () => {
    const calls: [number, number][] = []
    const request = update({ toCheckpointDir: at('g2') })
    await trainer.update(request, (done, total) => calls.push([done, total]))
    const total = calls.length
    expect(calls).toEqual(Array.from({ length: total }, (_, i) => [i + 1, total]))
  })
})

describe('faults', () => {
  test('another checkpoint under the asked name is refused', async () => {
    const request = update({ toCheckpointDir: at('0') })
    await expect(trainer.update(request)).rejects.toMatchObject({ kind: 'bad_checkpoint' })
  })

  test('two passes are two updates with the same batch, and minibatches are steps of their own that repeat to the byte', async () => {
    const twice = { minibatches: 1, passes: 2, seed: 7 }
    const both = await trainer.update(update({ toCheckpointDir: at('passes-2'), division: twice }))
    const first = await trainer.update(update({ toCheckpointDir: at('pass-2') }))
    const second = await trainer.update(
      update({ fromCheckpointDir: at('pass-2'), toCheckpointDir: at('pass-3'), version: 3 }),
    )
    const [passes, chained] = [await bytesOf(at('passes-2')), await bytesOf(at('pass-3'))]
    expect(passes['model.safetensors']).toBe(chained['model.safetensors'])
    expect(passes['optimizer.safetensors']).toBe(chained['optimizer.safetensors'])
    expect(both.kl).toBeCloseTo((first.kl + second.kl) / 2, 9)
    expect(both.actionTokens).toBe(first.actionTokens)

    const divided = { minibatches: 3, passes: 2, seed: 7 }
    await trainer.update(update({ toCheckpointDir: at('parts-2'), division: divided }))
    await trainer.update(update({ toCheckpointDir: at('parts-again-2'), division: divided }))
    expect(await bytesOf(at('parts-2'))).toEqual(await bytesOf(at('parts-again-2')))
    const before = (await readCheckpoint(at('warm'))).state.step
    expect((await readCheckpoint(at('parts-2'))).state.step).toBe(before + 6)
  })

  test('a missing batch, or one with a token outside the vocabulary, is final', async () => {
    const foreign = { ...batch, tokens: batch.tokens.map(() => 29) }
    await writeUpdateBatch(at('foreign'), foreign)
    for (const batchFile of [at('nowhere'), at('foreign')])
      await expect(trainer.update(update({ batchFile, toCheckpointDir: at('h2') }))).rejects.toMatchObject({
        name: 'TrainerFault',
        kind: 'bad_batch',
        permanent: true,
      })
  })

  test('a missing checkpoint, or a missing reference, is named', async () => {
    const missing = update({ fromCheckpointDir: at('nowhere'), toCheckpointDir: at('i2') })
    await expect(trainer.update(missing)).rejects.toMatchObject({ kind: 'bad_checkpoint' })
    const alone = update({ referenceCheckpointDir: undefined, toCheckpointDir: at('i2') })
    await expect(trainer.update(alone)).rejects.toThrow('no reference checkpoint')
  })

  test('a gradient that is not finite leaves no checkpoint', async () => {
    const { weights, ...rest } = await readCheckpoint(at('0'))
    const broken = new Map(weights)
    broken.set('model.norm.weight', new Float32Array(16).fill(Number.NaN))
    await publishCheckpoint(at('broken'), { ...rest, weights: broken })
    const request = update({ fromCheckpointDir: at('broken'), toCheckpointDir: at('j2') })
    await expect(trainer.update(request)).rejects.toMatchObject({ kind: 'not_finite', permanent: true })
    expect(await readdir(root)).not.toContain('j2')
  })

  test('a gradient above what is allowed leaves no checkpoint, and the same update with a higher limit is made', async () => {
    const request = update({ gradientLimit: 1e-6, toCheckpointDir: at('l2') })
    await expect(trainer.update(request)).rejects.toMatchObject({ kind: 'exploded', permanent: true })
    expect(await readdir(root)).not.toContain('l2')
    const { gradientNorm } = await trainer.update({ ...request, gradientLimit: 1e6 })
    expect(gradientNorm).toBeGreaterThan(1e-6)
  })

  // [EMBEDDED-TRAINER-1]
  test.each([
    ['never answers', 'for (;;);', 500, /^the algorithm "own" of .* did not answer within 0\.5 s$/],
    [
      'ends the process',
      'process.exit(0)',
      60_000,
      /^the algorithm "own" of .* fails: .* called process\.exit\(0\)/,
    ],
  ])('a loss that %s is refused by name, and the next update is made', async (name, body, stallMs, words) => {
    const module = at(`${name.replaceAll(' ', '-')}.ts`)
    await writeFile(
      module,
      `export const own = { name: 'own', advantagesOf() {}, loss: { lossesOf() { ${body} } } }`,
    )
    const watched = createTrainer({ threads: 1, stallMs })
    try {
      const { objective } = update({})
      const own = update({
        toCheckpointDir: at('m2'),
        objective: { ...objective, loss: { name: 'own', module } },
      })
      await expect(watched.update(own)).rejects.toMatchObject({
        kind: 'bad_loss',
        permanent: true,
        message: expect.stringMatching(words),
      })
      await watched.update(update({ toCheckpointDir: at(`${name} m3`) }))
    } finally {
      await watched.close()
    }
  })

  /** An update by an algorithm that has these properties beside those of GRPO. */
  async function updateBy(name: string, properties: string, passes: number): Promise<UpdateStatistics> {
    const module = at(`${name}.ts`)
    await writeFile(
      module,
      `import { algorithms } from 'perdure'\nexport const own = { ...algorithms.grpo, name: '${name}', ${properties} }`,
    )
    const objective = {
      ...update({}).objective,
      loss: { name, module },
      klCoefficient: 0,
      entropyCoefficient: 0,
    }
    const division = { minibatches: 1, passes, seed: 1 }
    return trainer.update(update({ toCheckpointDir: at(name), objective, division }))
  }

  // [SURROGATE-3]
  test.each([
    ['startLogprob', 'warm'],
    ['referenceLogprob', '0'],
  ])('the %s of a token is that of checkpoint %s, after a step too', async (field, checkpoint) => {
    const lossesOf = `(tokens) => tokens.map((token) => ({ loss: token.${field}, derivative: 1 }))`
    const { loss } = await updateBy(field, `loss: { readsReference: true, lossesOf: ${lossesOf} }`, 2)
    const logprobs = (await logprobsOf(at(checkpoint))).filter((_, i) => batch.lossMask[i] === 1)
    expect(loss).toBeCloseTo(logprobs.reduce((sum, logprob) => sum + logprob, 0) / logprobs.length, 4)
  })

  // [TRAINING-POLICY-1]
  test('a rejected minibatch changes nothing and is counted; one that is not trains to the same bytes', async () => {
    const modelOf = async (name: string) => (await bytesOf(at(name)))['model.safetensors']
    const { objective } = update({})
    const plain = { ...objective, klCoefficient: 0, entropyCoefficient: 0 }
    const taken = await trainer.update(update({ toCheckpointDir: at('taken'), objective: plain }))
    expect(taken).not.toHaveProperty('rejected')
    expect(await updateBy('lenient', 'rejects: ({ gradientNorm }) => gradientNorm <= 0', 1)).toEqual({
      ...taken,
      rejected: 0,
      seconds: expect.any(Number),
    })
    expect(await modelOf('lenient')).toBe(await modelOf('taken'))
    expect(await updateBy('strict', 'rejects: ({ gradientNorm }) => gradientNorm > 0', 3)).toMatchObject({
      rejected: 3,
      drift: 0,
    })
    expect(await modelOf('strict')).toBe(await modelOf('warm'))
  })

  test('an update ends before the step that finds more than 1.5 times the target, and not at exactly as much', async () => {
    const made = (name: string, passes: number, targetKl?: number) =>
      trainer.update(
        update({ toCheckpointDir: at(name), division: { minibatches: 1, passes, seed: 1, targetKl } }),
      )
    const [one, two] = [await made('ends-1', 1), await made('ends-2', 2)]
    // The second step finds all drift, and the figure is the mean of both.
    const found = 2 * Number(two.drift)
    const modelOf = async (name: string) => (await bytesOf(at(name)))['model.safetensors']
    expect(await made('ends-below', 4, (0.99 * found) / 1.5)).toMatchObject({
      rejected: 3,
      actionTokens: one.actionTokens,
      tokens: one.tokens,
      origins: one.origins,
    })
    expect(await modelOf('ends-below')).toBe(await modelOf('ends-1'))
    expect(await made('ends-above', 2, (1.01 * found) / 1.5)).toMatchObject({ rejected: 0 })
    expect(await modelOf('ends-above')).toBe(await modelOf('ends-2'))
    expect(two).not.toHaveProperty('rejected')
  })

  test('closing fails the calls in progress and every later one', async () => {
    const closing = createTrainer({ threads: 2 })
    const inHand = expect(closing.update(update({ toCheckpointDir: at('k2') }))).rejects.toMatchObject({
      kind: 'crashed',
      permanent: false,
    })
    await closing.close()
    await inHand
    await expect(closing.update(update({ toCheckpointDir: at('k2') }))).rejects.toThrow('closed')
  })
})
