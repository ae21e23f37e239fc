import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import type { Chat } from '../../policy/chat/chat.ts'
import type { SampledTokens, SamplingRequest } from '../../policy/engines/engine.ts'
import { openStore, type Store } from '../../storage/store.ts'
import type { OpenRun } from '../stored/open-runs.ts'
import { createSamplingActivities, type SampleRequest } from './sampling.ts'

const run = runId('sampling')
const episode = episodeId(groupId(run, 0), 0, 0)
const request: SampleRequest = {
  ...{ episode, run, turn: 0, version: 'current', temperature: 1, maxTokens: 8, seed: 11 },
}
const newer: SampledTokens = {
  version: 5,
  spans: [
    { version: 5, tokens: 2 },
    { version: 6, tokens: 1 },
  ],
  ...{ tokens: Int32Array.of(7, 8, 9), logprobs: Float32Array.of(-1, -2, -3), finish: 'length' },
}
const chat = {
  stopTokens: [3],
  parseAction: () => ({ message: { role: 'assistant', content: 'hm' }, problems: [] }),
}

let dir: string
let store: Store
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-sampling-'))
  store = await openStore(join(dir, 'store.db'))
  await store.runs.insert({ id: run, config: configSchema.parse({}), created: 1 })
  await store.runs.publish(run, { version: 4, state: {} })
  await store.episodes.insert({ id: episode, task: 'alfworld', instance: 'i', created: 1 })
  const said = { messages: [{ role: 'user', content: 'go' } as const], reward: 0, done: false, info: {} }
  await store.observations.put({ ...said, episode, turn: 0 })
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Samples a turn with an engine that answers as given. @returns the result, what the engine was asked, and the limits of tokenizing */
async function sample(change: Partial<SampleRequest>, answer: SampledTokens) {
  const asked: SamplingRequest[] = []
  const limits: number[] = []
  function encodeTurnWithin(most: number): Int32Array | undefined {
    limits.push(most)
    return most < 2 ? undefined : Int32Array.of(1, 2)
  }
  const { sampleAction } = createSamplingActivities({
    store,
    runs: { get: async () => ({ config: configSchema.parse({}) }) as OpenRun, close: async () => undefined },
    serving: {
      sample: async (_, of) => {
        asked.push(of)
        return answer
      },
      chat: async () => ({ ...chat, encodeTurnWithin }) as unknown as Chat,
    },
  })
  const context = {
    cancellationSignal: new AbortController().signal,
    info: { attempt: 1 },
  } as unknown as Context
  const result = await asyncLocalStorage.run(context, () => sampleAction({ ...request, ...change }))
  return { result, asked, limits }
}

// [SAMPLING-1]
it('a turn that newer versions sampled than was asked is stored with them, token by token', async () => {
  const { result, asked } = await sample({}, newer)
  expect(asked).toMatchObject([{ version: 4, exactVersion: false }])
  expect(result).toMatchObject({ kind: 'sampled', version: 5, tokens: 3 })
  const { version, spans, tokens, logprobs } = newer
  expect(await store.actions.get(episode, 0)).toMatchObject({ version, spans, tokens, logprobs })
})

// [SAMPLING-2]
it('a turn that names its version is asked of that one alone', async () => {
  const { asked } = await sample({ version: 4 }, { ...newer, version: 4, spans: undefined as never })
  expect(asked).toMatchObject([{ version: 4, exactVersion: true }])
})

// [SAMPLING-3] The default context has 1024 tokens, of which the action may take all but one.
it('an observation is tokenized no further than there is room for it, and ends the episode where there is none', async () => {
  const full = await sample({ maxTokens: 1023 }, newer)
  expect(full).toEqual({ result: { kind: 'context_full' }, asked: [], limits: [1] })
  const fitting = await sample({ maxTokens: 1022 }, newer)
  expect(fitting).toMatchObject({ result: { kind: 'sampled' }, limits: [2] })
})
