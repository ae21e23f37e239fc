import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { episodeId, evaluationId, type RunId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { removeHome, temporaryHome } from '../../test/support/perdure-process.ts'
import { compareFirstToLast, compareOnSuites } from './comparison.ts'

const said = {
  prompt: Int32Array.of(1),
  tokens: Int32Array.of(2),
  logprobs: Float32Array.of(-1),
  version: 0,
  finish: 'stop',
  message: { role: 'assistant', content: '' },
  problems: [],
} as const
const home = temporaryHome()
const [first, second] = [runId('first'), runId('second')]
let store: Store

/** Stores an evaluation: of each instance what its samples came to; null is an infrastructure failure. */
async function evaluated(
  run: RunId,
  version: number,
  suite: string,
  played: Readonly<Record<string, readonly (boolean | null)[]>>,
  turns = 0,
): Promise<void> {
  const id = evaluationId(run, suite, version, 1)
  await store.evaluations.insert({ id, run, suite, version, seed: 1, created: 0 })
  const all = Object.entries(played).flatMap(([instance, samples]) =>
    samples.map((won) => ({ instance, won })),
  )
  for (const [sample, { instance, won }] of all.entries()) {
    const episode = episodeId(id, sample, 0)
    await store.episodes.insert({ id: episode, task: 'echo', instance, created: 0 })
    for (let turn = 0; turn < turns; turn++)
      await store.actions.put({ ...said, episode, turn }, { seconds: 0, attempt: 1 })
    await store.episodes.seal(
      episode,
      won === null
        ? { outcome: 'infrastructure_error', reward: null, ended: 0 }
        : { outcome: 'completed', reward: won ? 1 : 0, ended: 0 },
    )
  }
  const ended = all.filter(({ won }) => won !== null)
  const success = ended.filter(({ won }) => won === true).length / ended.length
  const counts = { n: ended.length, planned: all.length, lost: {} }
  await store.evaluations.complete(id, { success, ...counts, episodes: [], statistics: {}, ended: 0 })
}

beforeAll(async () => {
  store = await openStore(homeAt(home).storeFile)
  await evaluated(first, 0, 'held_out', { a: [false], b: [false], c: [true], d: [false] })
  await evaluated(first, 3, 'held_out', { a: [true], b: [false], c: [true], d: [null] })
  await evaluated(first, 3, 'own', { a: [true] })
  await evaluated(second, 2, 'held_out', { b: [true, true], a: [true, false], e: [true, true] })
  await evaluated(second, 2, 'elsewhere', { a: [true] })
})

afterAll(async () => {
  await store?.close()
  removeHome(home)
})

describe('two policies are compared', () => {
  // [COMPARISON-1] [COMPARISON-2]
  it('on the instances that both have ended, by the share of their samples, at the newest versions', async () => {
    const [held, ...more] = await compareOnSuites(store, { run: first, version: 3 }, { run: second })
    expect(more).toEqual([])
    // a: 1 → ½, b: 0 → 1; c and e have one side, d has failed.
    expect(held).toMatchObject({
      suite: 'held_out',
      before: { run: 'first', version: 3, success: 2 / 3, n: 3, planned: 4 },
      after: { run: 'second', version: 2, success: 5 / 6, n: 6 },
      instances: 2,
      paired: { difference: 0.25, better: 1, worse: 1 },
    })
  })

  it('that are two versions of one run', async () => {
    const found = await compareOnSuites(store, { run: first, version: 0 }, { run: first, version: 3 })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ instances: 3, paired: { difference: 1 / 3, better: 1, worse: 0 } })
  })

  // [COMPARISON-2]
  it('at the newest version whose evaluation is complete, unless another one is named', async () => {
    const [held] = await compareOnSuites(store, { run: first }, { run: second })
    expect(held?.before).toMatchObject({ version: 0, n: 4, planned: 4 })
  })

  it('on nothing where no suite has both, and unpaired where no instance has', async () => {
    expect(await compareOnSuites(store, { run: first, version: 7 }, { run: second })).toEqual([])
    await evaluated(runId('third'), 1, 'own', { z: [true] })
    const [own] = await compareOnSuites(store, { run: first }, { run: runId('third') })
    expect(own).toMatchObject({ suite: 'own', instances: 0 })
    expect(own?.paired).toBeUndefined()
    // One success of one beside another one.
    expect(own?.unpaired).toMatchObject({ difference: 0 })
  })
})

it('by the measure that is asked for, in whose direction an instance is better', async () => {
  const [long, short] = [runId('long'), runId('short')]
  await evaluated(long, 1, 'held_out', { a: [true], b: [true] }, 4)
  await evaluated(short, 1, 'held_out', { a: [true], b: [false] }, 1)
  const [found] = await compareOnSuites(store, { run: long }, { run: short }, 'turns')
  // Without a spread there is no interval, where a share would have one.
  expect(found?.paired).toEqual({ difference: -3, low: -3, high: -3, better: 2, worse: 0 })
  const [byReward] = await compareOnSuites(store, { run: long }, { run: short }, 'reward')
  expect(byReward?.paired).toMatchObject({ difference: -0.5, better: 0, worse: 1 })
  expect(byReward?.measure).toEqual({ of: 'reward', words: 'mean reward', better: 'higher', isShare: false })
  expect(await compareOnSuites(store, { run: long }, { run: short }, 'score')).toEqual([])
})

it('the course of a run is the difference that a comparison of its first and its last complete version gives', async () => {
  const run = runId('course')
  await evaluated(run, 0, 'held_out', { a: [false], b: [false], c: [true], d: [true] })
  await evaluated(run, 2, 'held_out', { a: [true], b: [true], c: [true], d: [false] })
  await evaluated(run, 4, 'held_out', { a: [true], b: [null], c: [null], d: [null] })
  const course = await compareFirstToLast(store, run)
  expect(course).toEqual(await compareOnSuites(store, { run, version: 0 }, { run, version: 2 }))
  expect(course).toMatchObject([{ instances: 4, paired: { difference: 0.25, better: 2, worse: 1 } }])
})
