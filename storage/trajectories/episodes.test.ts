import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import { openStore, type Store } from '../store.ts'
import type { StoredAction } from './actions.ts'
import type { EpisodeEnding } from './episode.ts'
import { metricsKey, type StoredObservation } from './observations.ts'

const run = runId('demo')
const group = groupId(run, 0)
const episode = episodeId(group, 0, 0)

const observations: readonly StoredObservation[] = [
  {
    episode,
    turn: 0,
    messages: [
      { role: 'system', content: 'Rules.' },
      { role: 'user', content: 'put a mug in the café' },
    ],
    reward: 0,
    done: false,
    info: { admissible: ['look'] },
    tools: [{ type: 'function', function: { name: 'take_action', description: 'acts', parameters: {} } }],
  },
  {
    episode,
    turn: 1,
    messages: [{ role: 'tool', name: 'take_action', content: 'You see a mug.' }],
    reward: 0,
    done: false,
    info: {},
  },
  {
    episode,
    turn: 2,
    messages: [{ role: 'tool', name: 'take_action', content: 'You won.' }],
    reward: 1,
    done: true,
    outcome: 'completed',
    info: { won: true },
  },
]
const actions: readonly StoredAction[] = [
  {
    episode,
    turn: 0,
    prompt: Int32Array.of(1, 2, 3),
    tokens: Int32Array.of(7, 8),
    logprobs: Float32Array.of(-0.5, -0.25),
    version: 4,
    finish: 'stop',
    message: {
      role: 'assistant',
      content: '',
      tool_calls: [{ name: 'take_action', arguments: { action: 'look' } }],
    },
    problems: [],
  },
  {
    episode,
    turn: 1,
    prompt: Int32Array.of(9),
    tokens: Int32Array.of(10),
    logprobs: Float32Array.of(-1.5),
    version: 2,
    finish: 'length',
    message: { role: 'assistant', content: 'hm' },
    problems: [{ kind: 'no_call' }],
  },
]
const ending = { outcome: 'completed', reward: 1, ended: 99 } as const

let dir: string
let file: string
let store: Store
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-episodes-'))
  file = join(dir, 'store.db')
  store = await openStore(file)
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

async function play(): Promise<void> {
  await store.episodes.insert({ id: episode, task: 'alfworld', instance: 'game-1', created: 11 })
  for (const observation of observations) await store.observations.put(observation)
  for (const action of actions) await store.actions.put(action)
}

describe('turns', () => {
  it('tokens, logprobs, messages and facts are read back as they were written', async () => {
    await play()
    expect(await store.actions.list(episode)).toEqual(actions)
    expect(await store.actions.get(episode, 1)).toEqual(actions[1])
    expect(await store.observations.list(episode)).toEqual(observations)
    expect(await store.observations.get(episode, 2)).toEqual(observations[2])
    expect(await store.actions.get(episode, 5)).toBeUndefined()
    expect(await store.observations.get(episode, 5)).toBeUndefined()
  })

  it('tokens and logprobs are read back bit for bit, whatever they are', async () => {
    let turn = 0
    const pairs = fc.array(fc.tuple(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.float()), {
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(pairs, fc.int32Array({ maxLength: 30 }), async (sampled, prompt) => {
        turn += 1
        const tokens = Int32Array.from(sampled, ([token]) => token)
        // A view into a larger buffer: only its own part may be stored.
        const logprobs = Float32Array.from([1, ...sampled.map(([, logprob]) => logprob)]).subarray(1)
        await store.actions.put({ ...(actions[0] as StoredAction), turn, prompt, tokens, logprobs })
        const back = await store.actions.get(episode, turn)
        expect(back?.tokens).toEqual(tokens)
        expect(back?.prompt).toEqual(prompt)
        expect(new Uint8Array(back?.logprobs.buffer ?? new ArrayBuffer())).toEqual(
          new Uint8Array(logprobs.slice().buffer),
        )
      }),
      { numRuns: 50 },
    )
  })

  it('the first write of a turn is kept: a second sampler learns that it came late', async () => {
    const [first] = actions as [StoredAction]
    expect(await store.actions.put(first)).toBe('first')
    expect(await store.actions.put({ ...first, tokens: Int32Array.of(1, 1) })).toBe('already')
    expect((await store.actions.get(episode, 0))?.tokens).toEqual(first.tokens)
    const [observation] = observations as [StoredObservation]
    expect(await store.observations.put(observation)).toBe('first')
    expect(await store.observations.put({ ...observation, reward: 5 })).toBe('already')
    expect((await store.observations.get(episode, 0))?.reward).toBe(0)
  })

  it('the context is prompt 0, action 0, prompt 1, action 1, …', async () => {
    expect(await store.actions.context(episode)).toEqual({
      turns: 0,
      tokens: new Int32Array(0),
      borders: [],
    })
    await play()
    expect(await store.actions.context(episode)).toEqual({
      turns: 2,
      tokens: Int32Array.of(1, 2, 3, 7, 8, 9, 10),
      borders: [3, 6],
    })
  })

  it('an action without a logprob for each token is refused', async () => {
    const [first] = actions as [StoredAction]
    await expect(store.actions.put({ ...first, logprobs: new Float32Array(3) })).rejects.toThrow(RangeError)
  })
})

describe('sealing', () => {
  it('sealing happens once; sealing again gives back what the first sealing stored', async () => {
    await play()
    const first = await store.episodes.seal(episode, ending)
    expect(first.by).toBe('first')
    expect(first.episode).toMatchObject({
      run,
      parent: group,
      sample: 0,
      attempt: 0,
      seal: {
        ...ending,
        turns: 2,
        observations: 3,
        tokens: 7,
        actionTokens: 3,
        problems: 1,
        versionMin: 2,
        versionMax: 4,
      },
    })
    const second = await store.episodes.seal(episode, { ...ending, reward: 0, ended: 100 })
    expect(second).toEqual({ by: 'already', episode: first.episode })
    expect(await store.episodes.count(run)).toEqual({ completed: 1 })
  })

  it('the seal has the latest metrics, though an answer to an unusable action has none', async () => {
    await play()
    const [, , last] = observations
    await store.observations.put({
      ...(last as StoredObservation),
      turn: 3,
      info: { [metricsKey]: { score: 12.5, moves: 3 } },
    })
    await store.observations.put({ ...(last as StoredObservation), turn: 4, info: { problem: 'no call' } })
    const { episode: sealed } = await store.episodes.seal(episode, ending)
    expect(sealed.seal.metrics).toEqual({ score: 12.5, moves: 3 })
    expect((await store.episodes.list(group))[0]?.seal?.metrics).toEqual({ score: 12.5, moves: 3 })
  })

  // [TRAJECTORY-1]
  it('a trajectory has the tokens in order, and its mask marks exactly the sampled ones', async () => {
    await play()
    await store.episodes.seal(episode, ending)
    const trajectory = await store.episodes.trajectory(episode)
    expect(trajectory.tokens).toEqual(Int32Array.of(1, 2, 3, 7, 8, 9, 10))
    expect(trajectory.lossMask).toEqual(Uint8Array.of(0, 0, 0, 1, 1, 0, 1))
    expect(trajectory.logprobs).toEqual(Float32Array.of(0, 0, 0, -0.5, -0.25, 0, -1.5))
    expect(trajectory.versions).toEqual(Int32Array.of(-1, -1, -1, 4, 4, -1, 2))
    expect(trajectory.messages.map((message) => message.role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ])
  })

  // [KNOWN-2]
  it('an episode whose turns are not all stored is refused, and stays open', async () => {
    await play()
    await expect(store.episodes.seal(episode, ending, actions.length + 1)).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining(`${actions.length} of ${actions.length + 1} turns`),
    })
    expect((await store.episodes.get(episode))?.seal).toBeUndefined()
    expect((await store.episodes.seal(episode, ending, actions.length)).by).toBe('first')
  })

  it('what arrives after the sealing does not count and changes nothing', async () => {
    await play()
    await store.episodes.seal(episode, ending)
    const before = await store.episodes.trajectory(episode)
    await store.actions.put({ ...(actions[1] as StoredAction), turn: 2 })
    await store.observations.put({ ...(observations[2] as StoredObservation), turn: 3 })
    expect(await store.episodes.trajectory(episode)).toEqual(before)
  })

  // [TRAJECTORY-2]
  it('an episode with one byte changed anywhere is refused by name', async () => {
    await play()
    await store.episodes.seal(episode, ending)
    const changes = [
      "update actions set tokens = x'0700000009000000' where turn = 0",
      "update actions set prompt = x'0a000000' where turn = 1",
      "update actions set logprobs = x'0000c0be' where turn = 1",
      'update actions set version = 5 where turn = 0',
      "update actions set finish = 'stop' where turn = 1",
      "update actions set message = replace(message, 'hm', 'hn')",
      "update actions set problems = '[]' where turn = 1",
      'delete from actions where turn = 1',
      "update observations set messages = replace(messages, 'mug', 'mog') where turn = 1",
      'update observations set reward = 0.5 where turn = 2',
      "update observations set info = '{}' where turn = 0",
      'update observations set tools = null where turn = 0',
      'delete from observations where turn = 0',
      'update episodes set reward = 0',
      "update episodes set outcome = 'turn_limit'",
    ]
    const database = new DatabaseSync(file)
    for (const change of changes) {
      database.exec('savepoint before')
      expect(database.prepare(change).run().changes, change).toBeGreaterThan(0)
      database.exec('release before')
      await expect(store.episodes.trajectory(episode), change).rejects.toMatchObject({ kind: 'corrupt' })
      await expect(store.episodes.trajectory(episode), change).rejects.toThrow(episode)
      for (const table of ['actions', 'observations', 'episodes']) database.exec(`delete from ${table}`)
      await play()
      await store.episodes.seal(episode, ending)
      await expect(store.episodes.trajectory(episode)).resolves.toBeDefined()
    }
    database.close()
  })

  it('an infrastructure failure or a cancellation carries no reward; every other outcome carries a finite one', async () => {
    await play()
    const bad = [
      { outcome: 'infrastructure_error', reward: 0 },
      { outcome: 'cancelled', reward: -0.2 },
      { outcome: 'completed', reward: null },
      { outcome: 'turn_limit', reward: Number.NaN },
    ] as const
    for (const one of bad)
      await expect(store.episodes.seal(episode, { ...one, ended: 1 })).rejects.toThrow(RangeError)
    const { episode: sealed } = await store.episodes.seal(episode, {
      outcome: 'cancelled',
      reward: null,
      ended: 1,
    })
    expect(sealed.seal.reward).toBeNull()
  })

  it('an episode that was never stored or never sealed has no trajectory', async () => {
    await expect(store.episodes.trajectory(episode)).rejects.toMatchObject({ kind: 'missing' })
    await expect(store.episodes.seal(episode, ending)).rejects.toMatchObject({ kind: 'missing' })
    await store.episodes.insert({ id: episode, task: 't', instance: 'i', created: 0 })
    await expect(store.episodes.trajectory(episode)).rejects.toThrow('not sealed')
    expect(await store.episodes.count(run)).toEqual({ running: 1 })
  })

  it('an episode that ended before its first turn is sealed with nothing in it', async () => {
    await store.episodes.insert({ id: episode, task: 't', instance: 'i', created: 0 })
    await store.episodes.seal(episode, { outcome: 'infrastructure_error', reward: null, ended: 1 })
    const { tokens, messages, episode: sealed } = await store.episodes.trajectory(episode)
    expect(tokens).toHaveLength(0)
    expect(messages).toEqual([])
    expect(sealed.seal).toMatchObject({ turns: 0, versionMin: null, versionMax: null })
  })

  it('episodes are listed by sample and attempt, and paged by id without loss', async () => {
    for (let sample = 0; sample < 3; sample++)
      for (let attempt = 0; attempt < 2; attempt++) {
        const id = episodeId(group, sample, attempt)
        expect(await store.episodes.insert({ id, task: 't', instance: 'i', created: 0 })).toBe('first')
        if (attempt === 1) await store.episodes.seal(id, { outcome: 'turn_limit', reward: -0.2, ended: 1 })
      }
    const listed = await store.episodes.list(group)
    expect(listed.map((one) => [one.sample, one.attempt])).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
      [2, 0],
      [2, 1],
    ])
    const first = await store.episodes.page(run, '', 2)
    const rest = await store.episodes.page(run, first[1]?.id ?? '', 2)
    expect([...first, ...rest].map((one) => one.id)).toEqual(
      [0, 1, 2].map((sample) => episodeId(group, sample, 1)),
    )
  })

  it('an episode came too late where its group has a result and it was cancelled', async () => {
    const late = async (number: number, status: 'complete' | 'abandoned') => {
      const id = groupId(run, number)
      await store.groups.insert({ id, run, number, task: 't', instance: 'i', version: 0, created: 0 })
      const ids = [0, 1].map((sample) => episodeId(id, sample, 0))
      for (const [sample, each] of ids.entries()) {
        await store.episodes.insert({ id: each, task: 't', instance: 'i', created: 0 })
        const isLate = sample === 1
        const ending = isLate ? { outcome: 'cancelled', reward: null } : { outcome: 'completed', reward: 1 }
        await store.episodes.seal(each, { ...(ending as EpisodeEnding), ended: 1 })
      }
      await store.groups.complete(id, {
        ...{ status, episodes: ids.slice(0, 1), rewards: [1], oldestVersion: 0, ended: 2 },
      })
    }
    await late(1, 'complete')
    await late(2, 'abandoned')
    expect(await store.episodes.inTraining(run)).toEqual([
      { outcome: 'cancelled', episodes: 2, retried: 0, timedOut: 1 },
      { outcome: 'completed', episodes: 2, retried: 0, timedOut: 0 },
    ])
  })
})
