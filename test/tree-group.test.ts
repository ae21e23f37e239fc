/** Tree groups on the real server: a group that was lost as a whole is played on from a turn of one of its episodes. */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLearntGroups } from '../client/learnt-groups.ts'
import { openSession, type TrainingSession } from '../client/training-session.ts'
import { EnvironmentFault } from '../envs/environment.ts'
import { groupId, parseEpisodeId, runId } from '../identity/identity.ts'
import { groupAdvantages } from '../learning/advantage.ts'
import { readUpdateBatch } from '../policy/trainer/batch-file.ts'
import type { StoredGroup } from '../storage/groups.ts'
import { homeAt } from '../storage/home.ts'
import { openStore, type Store } from '../storage/store.ts'
import { createEchoTask } from './echo-task.ts'
import { fetchHistories, replay } from './executions.ts'
import { removeHome, temporaryHome } from './perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, saying, tinyConfig } from './tiny-run.ts'

const home = temporaryHome()
const run = runId('tree')
const groupSize = 2
const treeSamples = 3
const config = tinyConfig({
  rollout: { groupSize, groupsPerUpdate: 2, maxTokensPerTurn: 64, refill: 0, maxStaleness: 0, treeSamples },
  learning: { taskNormalization: 'none' },
  training: { updates: 2 },
})
/** Sessions that are lost in the middle of what plays on. */
let faults = 2
let session: TrainingSession
let store: Store
let groups: readonly StoredGroup[]

beforeAll(async () => {
  const echo = createEchoTask({
    beforeStep(session, sessions) {
      const ofInstance = sessions.filter(({ instance }) => instance === session.instance)
      if (faults === 0 || ofInstance.indexOf(session) < groupSize) return
      faults -= 1
      throw new EnvironmentFault('not_replayable', 'this session is gone for good')
    },
  })
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () =>
      Promise.resolve(
        createSpeakingEngine(({ cacheKey }) => {
          const { parent, sample } = parseEpisodeId(cacheKey)
          if (sample < groupSize) return saying(`m${sample}`)
          // In every second group one of those that play on wins.
          const wins = sample === groupSize && parent !== groupId(run, 1)
          return saying(wins ? 'yes' : 'no')
        }),
      ),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => echo.definition,
  })
  store = await openStore(homeAt(home).storeFile)
  await session.start(run, config)
  await session.result(run)
  groups = await store.groups.list(run, { status: 'complete' })
}, 180_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  removeHome(home)
})

describe('a group that was lost as a whole', () => {
  it('is played on from a turn of one of its episodes, whose turns before are the same token for token [GROUP-4]', async () => {
    expect(groups.length).toBeGreaterThanOrEqual(4)
    for (const { id, result } of groups) {
      const { episodes = [], tree } = result ?? {}
      expect(episodes.map((episode) => parseEpisodeId(episode).sample)).toEqual([0, 1, 2, 3, 4])
      expect(tree).toMatchObject({ firstSample: groupSize })
      if (tree === undefined) return
      expect(parseEpisodeId(tree.episode)).toMatchObject({ parent: id })
      expect([1, 2]).toContain(tree.turn)
      const origin = await store.actions.list(tree.episode)
      for (const episode of episodes.slice(groupSize)) {
        const actions = await store.actions.list(episode)
        expect(actions).toHaveLength(3)
        for (const [turn, action] of actions.entries()) {
          const { tokens } = origin[turn] ?? {}
          if (turn < tree.turn) expect(action.tokens).toEqual(tokens)
          else expect(action.tokens).not.toEqual(tokens)
        }
      }
    }
  })

  it('survives infrastructure failures of those that play on, as any group does', async () => {
    expect(faults).toBe(0)
    const attempts = groups.flatMap(({ result }) =>
      (result?.episodes ?? []).map((episode) => parseEpisodeId(episode).attempt),
    )
    expect(attempts.reduce((sum, attempt) => sum + attempt, 0)).toBe(2)
  })

  it('teaches by what was played on, from that turn on; nothing where that was lost as well [TREE-GROUP-3] [TREE-GROUP-4]', async () => {
    const batch = await readUpdateBatch(homeAt(home).run(run).batchFile(1))
    const [taught] = groups.filter(({ id }) => id === groupId(run, 0))
    const { episodes = [], tree } = taught?.result ?? {}
    if (tree === undefined) throw new Error('the first group was not played on from')
    // Of group 1 nothing is in the batch: all of it was lost.
    const compared = [tree.episode, ...episodes.slice(groupSize)]
    expect(batch.offsets).toHaveLength(compared.length + 1)
    const advantages = groupAdvantages([0, 1, 0, 0], 'grpo')
    for (const [index, episode] of compared.entries()) {
      const { turns } = await store.episodes.trajectory(episode)
      const start = batch.offsets[index] ?? 0
      for (const [turn, { begin, end }] of turns.entries()) {
        const isLearnt = turn >= tree.turn
        const [mask, own] = [batch.lossMask, batch.advantages].map((all) =>
          [...all.subarray(start + begin, start + end)].map(Number),
        )
        expect(mask?.every((each) => each === (isLearnt ? 1 : 0))).toBe(true)
        for (const each of own ?? []) expect(each).toBeCloseTo(isLearnt ? (advantages[index] ?? 0) : 0, 6)
      }
    }
  })

  it('is counted as lost, and the figures say how many were played on from and taught something', async () => {
    const first = (await store.updates.get(run, 1))?.statistics
    expect(first).toMatchObject({
      trees: { groups: 2, taught: 1 },
      episodes: 2 * (groupSize + treeSamples),
      success: { echo: 0 },
      samples: { echo: 2 * groupSize },
      groupsWithPreference: 1,
      signal: { lost: 2 },
    })
  })

  // [LEARNT-1] [LEARNT-2]
  it('is shown with the advantages of its update as long as that keeps its batch file, and without any afterwards', async () => {
    const read = () => createLearntGroups({ home: homeAt(home), store }).update(run, 1)
    const file = homeAt(home).run(run).batchFile(1)
    const { advantages, offsets } = await readUpdateBatch(file)
    const kept = await read()
    expect(kept?.isKept).toBe(true)
    const shown = [...(kept?.episodes ?? [])]
    expect(shown.map(([episode]) => parseEpisodeId(episode).parent)).toEqual(
      Array.from({ length: 1 + treeSamples }, () => groupId(run, 0)),
    )
    for (const [row, [, learnt]] of shown.entries())
      expect(learnt.advantages).toEqual(advantages.subarray(offsets[row], offsets[row + 1]))
    rmSync(file)
    expect(await read()).toMatchObject({ isKept: false, episodes: new Map() })
  })

  it('replays what its workflows executed', async () => {
    const histories = await fetchHistories(home)
    expect(histories.length).toBeGreaterThan(groups.length)
    expect(await replay(histories)).toEqual([])
  })
})
