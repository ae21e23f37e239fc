import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type OpenedRun, openRun } from '../../bench/learning/opened-run.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { openChat } from '../../policy/chat/chat.ts'
import { createEmbeddedEngine, type EmbeddedEngine } from '../../policy/embedded-engine/embedded.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import { type CorrectedPolicy, collectCorrections } from './corrections.ts'
import { demonstrate, placesOf } from './demonstrations.ts'
import { imitate, prepareWarmStart } from './warm-start.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const { signal } = new AbortController()
let folder: string
let run: OpenedRun
let engine: EmbeddedEngine
let policy: CorrectedPolicy
const corrected: string[] = []

/** A policy that has learnt how commands look, and little of where they lead. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-corrections-'))
  const config = configSchema.parse({
    tasks: [
      { task: 'alfworld', turnLimit: 12, settings: { difficulty: 'easy' } },
      { task: 'kg', settings: { difficulty: 'easy' } },
    ],
    policy: { hiddenSize: 48, layers: 2, heads: 2, keyValueHeads: 1, vocabularySize: 600, threads: 1 },
    warmStart: {
      demonstrations: 60,
      epochs: 12,
      batchTokens: 1024,
      learningRate: 0.004,
      chunks: 3,
      corrections: 1,
    },
    evaluation: { suites: [] },
  })
  run = await openRun(join(folder, 'home'), config)
  const trainer = createTrainer({ threads: 1 })
  await prepareWarmStart(run.opened, () => undefined, signal)
  const onCorrection = (done: number, total: number) => corrected.push(`${done} of ${total}`)
  const tools = {
    trainerOf: () => trainer,
    onProgress: () => undefined,
    onCorrection,
    signal,
    log: () => undefined,
  }
  for (const part of [0, 1, 2]) await imitate(run.opened, part, tools)
  await trainer.close()
  const checkpoint = run.opened.directory.checkpointDir(0)
  engine = await createEmbeddedEngine({
    threads: 1,
    maxBatch: 32,
    contextLength: config.policy.contextLength,
  })
  await engine.load(0, checkpoint)
  policy = { engine, version: 0, chat: await openChat(checkpoint) }
})

afterAll(async () => {
  await engine.close()
  await run[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

async function collected() {
  const places = (await placesOf(run.opened, 200)).slice(0, 40)
  return await collectCorrections(run.opened, places, policy, () => undefined, signal)
}

test('[CORRECTIONS-1] what the policy did otherwise is played and not imitated, and the expert has the way on from there', async () => {
  const households = (await collected()).filter(({ tools }) => tools[0]?.function.name === 'take_action')
  const steps = households.flatMap((episode) => episode.steps)
  const mistakes = steps.filter(({ mistake }) => mistake === true)
  expect(mistakes.length).toBeGreaterThan(20)
  expect(mistakes.length).toBeLessThan(steps.length)
  const { task } = await run.opened.task(0)
  for (const { steps } of households) {
    const environment = await task.create()
    const instance = instanceOf(steps[0]?.messages.at(-1)?.content ?? '', await games())
    const adviser = task.advise?.(instance)
    let seen = await environment.reset(instance)
    await adviser?.see(seen)
    for (const { messages, action, mistake } of steps) {
      expect(seen.messages).toEqual(messages)
      if (mistake === true) expect(await adviser?.advise()).not.toEqual(action)
      else expect(await adviser?.advise()).toEqual(action)
      const after = await environment.step(action)
      await adviser?.see(after, action)
      seen = after
    }
    await environment.close()
  }
})

/** The first observation of each game that may be met. */
async function games(): Promise<ReadonlyMap<string, string>> {
  const { task } = await run.opened.task(0)
  const environment = await task.create()
  const found = new Map<string, string>()
  for (let index = 0; index < 40; index++) {
    const instance = task.instanceAt('train', index)
    found.set((await environment.reset(instance)).messages.at(-1)?.content ?? '', instance)
  }
  await environment.close()
  return found
}

function instanceOf(observation: string, known: ReadonlyMap<string, string>): string {
  return known.get(observation) ?? ''
}

test('[CORRECTIONS-2] they are the same each time', async () => {
  expect(await collected()).toEqual(await collected())
})

test('a task without an adviser is demonstrated as it is without the policy', async () => {
  const places = (await placesOf(run.opened, 20)).filter(({ index }) => index === 1)
  const played = await collectCorrections(run.opened, places, policy, () => undefined, signal)
  const plain = await Promise.all(places.map((place) => demonstrate(run.opened, place)))
  expect(played).toEqual(plain.filter((episode) => episode !== undefined))
  expect(played.length).toBeGreaterThan(0)
})

test('[WARM-START-2] the last part corrects the policy in as many episodes as another part imitates', async () => {
  const { directory } = run.opened
  const plain = await readUpdateBatch(directory.demonstrationsFile)
  const corrections = await readUpdateBatch(directory.correctionsFile(2))
  expect(plain.offsets).toHaveLength(40 + 1)
  expect(corrections.offsets.length).toBeGreaterThan(15)
  expect(corrections.offsets.length).toBeLessThanOrEqual(20 + 1)
  expect(corrected.at(-1)).toBe('20 of 20')
})
