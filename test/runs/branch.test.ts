/** Branching on the real server: playing on from a turn of a recorded episode. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type BranchFindings,
  openSession,
  type TrainingSession,
} from '../../client/session/training-session.ts'
import { EnvironmentFault } from '../../envs/contract/environment.ts'
import { branchId, episodeId, groupId, parseEpisodeId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import {
  createCopyingTrainer,
  createSpeakingEngine,
  saying,
  sayYesOrNo,
  tinyConfig,
  tokensOf,
} from '../support/tiny-run.ts'

const home = temporaryHome()
const run = runId('tree')
const origin = episodeId(groupId(run, 0), 1, 0)
/** Faults that the sessions of branches still have to meet. */
let faults = 0
const turnsSampled: string[] = []
let session: TrainingSession
let store: Store
let found: BranchFindings

beforeAll(async () => {
  const echo = createEchoTask({
    beforeStep(_, sessions) {
      // Groups have been played by then.
      if (faults === 0 || sessions.length <= 12) return
      faults -= 1
      throw new EnvironmentFault('not_replayable', 'this session is gone for good')
    },
  })
  const deaf = createEchoTask({ name: 'deaf', replayable: false })
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () =>
      Promise.resolve(
        createSpeakingEngine((request, chat) => {
          const { parent, sample } = parseEpisodeId(request.cacheKey)
          if (!parent.includes('/b')) return sayYesOrNo(request)
          expect(request.background).toBe(true)
          turnsSampled.push(`${request.cacheKey} ${request.borders?.length} v${request.version}`)
          return tokensOf(chat, saying(sample === 0 ? 'yes' : `m${sample}`))
        }),
      ),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: (name) => (name === 'deaf' ? deaf.definition : echo.definition),
  })
  store = await openStore(homeAt(home).storeFile)
  await session.start(run, tinyConfig())
  await session.result(run)
  found = await session.branch(origin, { turn: 1, samples: 3 })
}, 180_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  removeHome(home)
})

describe('a branch', () => {
  const parent = branchId(origin, 1, 3)
  const samples = [0, 1, 2].map((sample) => episodeId(parent, sample, 0))

  it('plays on by the newest version and tells what came of each sample beside the recorded episode', () => {
    expect(found).toMatchObject({
      branch: parent,
      turn: 1,
      version: 3,
      origin: { episode: origin, outcome: 'completed', reward: 0, turns: 3, lastAction: 'say(no)' },
      samples: [
        { episode: samples[0], outcome: 'completed', reward: 1, turns: 3, lastAction: 'say(yes)' },
        { episode: samples[1], outcome: 'completed', reward: 0, turns: 3, lastAction: 'say(m1)' },
        { episode: samples[2], outcome: 'completed', reward: 0, turns: 3, lastAction: 'say(m2)' },
      ],
    })
  })

  // [EPISODE-4]
  it('has the turns before it bit for bit, and all later ones of its own', async () => {
    const before = await store.actions.list(origin)
    const observed = await store.observations.list(origin)
    for (const sample of samples) {
      const actions = await store.actions.list(sample)
      expect(actions).toHaveLength(3)
      expect(actions[0]).toEqual({ ...before[0], episode: sample })
      expect(actions.slice(1).map(({ version }) => version)).toEqual([3, 3])
      expect(actions[1]?.tokens).not.toEqual(before[1]?.tokens)
      const observations = await store.observations.list(sample)
      expect(observations.slice(0, 2)).toEqual(
        observed.slice(0, 2).map((observation) => ({ ...observation, episode: sample })),
      )
    }
    // Sampled only from turn 1 on.
    expect(turnsSampled.toSorted()).toEqual(
      samples.flatMap((sample) => [`${sample} 1 v3`, `${sample} 2 v3`]).toSorted(),
    )
  })

  it('leaves trajectories that are whole by themselves', async () => {
    for (const sample of samples) {
      const trajectory = await store.episodes.trajectory(sample)
      expect(trajectory.episode.instance).toBe((await store.episodes.get(origin))?.instance)
      expect([...new Set(trajectory.versions)].sort()).toEqual(
        [...new Set([-1, (await store.actions.get(origin, 0))?.version, 3])].sort(),
      )
      expect(trajectory.messages.filter(({ role }) => role === 'assistant')).toHaveLength(3)
    }
  })

  it('is found again when it is asked for again, and more samples are added to it', async () => {
    const sampled = turnsSampled.length
    expect(await session.branch(origin, { turn: 1, samples: 3 })).toEqual(found)
    expect(turnsSampled).toHaveLength(sampled)
    const more = await session.branch(origin, { turn: 1, samples: 4 })
    expect(more.samples.slice(0, 3)).toEqual(found.samples)
    expect(more.samples[3]).toMatchObject({ lastAction: 'say(m3)' })
    expect(turnsSampled).toHaveLength(sampled + 2)
  })

  it('can be of another version and of a branch', async () => {
    const old = await session.branch(origin, { turn: 2, version: 0 })
    expect(old).toMatchObject({ version: 0, samples: [{ reward: 1 }] })
    const [leaf] = old.samples
    const deeper = await session.branch(leaf?.episode ?? '', { turn: 0, samples: 2 })
    expect(deeper.branch).toBe(`${origin}/b2-v0/s0/a0/b0-v3`)
    expect(deeper.samples.map((row) => row?.reward)).toEqual([1, 0])
  })

  it('survives infrastructure failures as any episode does, by a new attempt', async () => {
    faults = 1
    const { samples: rows } = await session.branch(origin, { turn: 2, samples: 1 })
    expect(faults).toBe(0)
    expect(rows).toMatchObject([{ episode: `${origin}/b2-v3/s0/a1`, outcome: 'completed', reward: 1 }])
  })

  it('is part of no group, update or evaluation', async () => {
    const groups = await store.groups.list(run)
    expect(groups.flatMap(({ result }) => result?.episodes ?? []).filter((id) => id.includes('/b'))).toEqual(
      [],
    )
    expect(await store.evaluations.list(run)).toEqual([])
    expect((await store.episodes.get(origin))?.seal?.reward).toBe(0)
  })

  it('is refused by name for what cannot be branched', async () => {
    const refused = (episode: string, turn: number, version?: number) =>
      session.branch(episode, { turn, ...(version === undefined ? {} : { version }) })
    await expect(refused(origin, 3)).rejects.toMatchObject({
      kind: 'unknown_turn',
      message: `episode ${origin} has turns 0 to 2, not 3`,
    })
    await expect(refused(origin, 1, 9)).rejects.toMatchObject({ kind: 'unknown_version' })
    await expect(refused('tree/g77/s0/a0', 1)).rejects.toMatchObject({ kind: 'unknown_episode' })
    await expect(refused('tree/g0', 1)).rejects.toMatchObject({ kind: 'unknown_episode' })
    await expect(refused('nowhere/g0/s0/a0', 1)).rejects.toMatchObject({ kind: 'unknown_run' })
    await session.start('silent', tinyConfig({ training: { updates: 1 } }, 'deaf'))
    await session.result('silent')
    await expect(refused('silent/g0/s0/a0', 1)).rejects.toMatchObject({
      kind: 'not_replayable',
      message: expect.stringContaining('a test says so'),
    })
  })

  it('replays', async () => {
    const histories = await fetchHistories(home)
    expect(histories.filter(({ type }) => type === 'branch').length).toBeGreaterThanOrEqual(5)
    expect(await replay(histories)).toEqual([])
  })
})
