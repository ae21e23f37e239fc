import { beforeEach, expect, test, vi } from 'vitest'
import type { EpisodeResult } from '../../contract/messages.ts'
import { groupId, runId } from '../../identity/identity.ts'
import { type PlannedSample, playSamples } from './samples.ts'

class Cancelled extends Error {}

/** Samples that are being played, each to be ended by the test. */
const playing = new Map<number, PromiseWithResolvers<EpisodeResult | null>>()
const started: number[] = []

vi.mock('@temporalio/workflow', () => ({
  condition: async (isMet: () => boolean) => {
    while (!isMet()) await settled()
  },
  isCancellation: (error: unknown) => error instanceof Cancelled,
}))
vi.mock('./attempts.ts', () => ({
  playSample({ sample }: PlannedSample) {
    started.push(sample)
    const play = Promise.withResolvers<EpisodeResult | null>()
    playing.set(sample, play)
    return play.promise
  },
}))

beforeEach(() => {
  playing.clear()
  started.length = 0
})

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function samplesOf(count: number): PlannedSample[] {
  const parent = groupId(runId('run'), 0)
  return Array.from(
    { length: count },
    (_, sample) => ({ parent, sample, plan: {} }) as unknown as PlannedSample,
  )
}

test('samples start in their order, and no more are played at once than asked for', async () => {
  const ended: number[] = []
  const all = playSamples(samplesOf(4), { atOnce: 2, ended: (sample) => ended.push(sample) })
  await settled()
  expect(started).toEqual([0, 1])
  playing.get(1)?.resolve(null)
  await settled()
  await settled()
  expect(started).toEqual([0, 1, 2])
  playing.get(0)?.resolve(null)
  playing.get(2)?.resolve(null)
  await vi.waitUntil(() => playing.has(3))
  playing.get(3)?.resolve(null)
  expect(await all).toBe(4)
  expect(ended).toEqual([1, 0, 2, 3])
})

test('starting ends where it may not continue, and says how many were started', async () => {
  let left = 2
  const all = playSamples(samplesOf(4), { mayStart: () => left-- > 0, ended: () => undefined })
  for (const play of playing.values()) play.resolve(null)
  expect(await all).toBe(2)
  expect(started).toEqual([0, 1])
})

test('after a fault no more are started, and those that were are waited for', async () => {
  const ended: number[] = []
  let isOver = false
  const all = playSamples(samplesOf(4), { atOnce: 2, ended: (sample) => ended.push(sample) })
  const over = all.then(
    () => undefined,
    (fault: unknown) => {
      isOver = true
      return fault
    },
  )
  await settled()
  playing.get(0)?.reject(new Error('lost'))
  await settled()
  await settled()
  expect(started).toEqual([0, 1])
  expect(isOver).toBe(false)
  playing.get(1)?.resolve(null)
  expect(await over).toMatchObject({ message: 'lost' })
  expect(ended).toEqual([1])
})

test('the fault is thrown, not the cancellation of another sample that came before it', async () => {
  const all = playSamples(samplesOf(3), { ended: () => undefined })
  playing.get(2)?.reject(new Cancelled('cancelled'))
  playing.get(0)?.reject(new Cancelled('cancelled'))
  playing.get(1)?.reject(new Error('lost'))
  await expect(all).rejects.toThrow('lost')
})
