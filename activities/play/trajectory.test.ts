/** A run that was away receives from the store the groups that ended meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import type { EpisodeResult } from '../../contract/messages.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { type EpisodeId, episodeId, type GroupId, groupId, runId } from '../../identity/identity.ts'
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import { createHome } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { stateKey } from '../../storage/trajectories/observations.ts'
import { createEchoTask } from '../../test/support/echo-task.ts'
import { createOpenRuns } from '../stored/open-runs.ts'
import { collectBatch } from '../update/update-batch.ts'
import { createTrajectoryActivities, type TrajectoryActivities } from './trajectory.ts'

const run = runId('demo')
const group = groupId(run, 0)
const episode = episodeId(group, 0, 0)
let folder: string
let store: Store
let activities: TrajectoryActivities

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-trajectory-'))
  const home = createHome(folder)
  store = await openStore(home.storeFile)
  const runs = createOpenRuns({ home, store })
  activities = createTrajectoryActivities({ store, runs, onSealed: () => undefined })
  await store.runs.insert({ id: run, config: configSchema.parse({}), created: 0 })
  await store.episodes.insert({ id: episode, task: 'alfworld', instance: 'i', created: 0 })
  await store.episodes.seal(episode, { outcome: 'completed', reward: 1, ended: 0 })
  const added = { id: group, run, number: 0, task: 'alfworld', instance: 'i', version: 0, created: 0 }
  await store.groups.insert(added)
  const result = { episodes: [episode], rewards: [1], oldestVersion: 0, ended: 0 }
  await store.groups.complete(group, { status: 'complete', ...result })
  await store.groups.consume([group], 1)
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

/** How many episodes the report of the group has. */
async function reported(step: number): Promise<number> {
  const { reports } = await activities.findReports({ run, groups: [group], step })
  return reports[0]?.episodes.length ?? -1
}

it('the groups of an update that the run has not heard of are reported in full', async () => {
  await store.updates.put({ run, step: 1, version: 1, statistics: {}, groups: [group], created: 0 }, [])
  expect(await reported(0)).toBe(1)
})

it('a group of an update that the run counts brings no episodes', async () => {
  await store.updates.put({ run, step: 1, version: 1, statistics: {}, groups: [group], created: 0 }, [])
  expect(await reported(1)).toBe(0)
  expect(await reported(2)).toBe(0)
})

it('a group whose update has only begun is reported in full', async () => {
  expect(await reported(1)).toBe(1)
})

describe('an episode that hits its limit of turns', () => {
  const echo = createEchoTask().definition
  let ordinal = 0

  async function sealed(task: object, definition: EnvironmentDefinition = echo): Promise<EpisodeResult> {
    const other = runId(`limit${++ordinal}`)
    const config = configSchema.parse({ tasks: [{ task: 'echo', ...task }], evaluation: { suites: [] } })
    await store.runs.insert({ id: other, config, created: 0 })
    const runs = createOpenRuns({ home: createHome(folder), store, findEnvironment: () => definition })
    const { sealTrajectory } = createTrajectoryActivities({ store, runs, onSealed: () => undefined })
    const sealing = { run: other, taskIndex: 0, outcome: 'turn_limit', reward: 0.75, failure: null } as const
    return await sealTrajectory({ ...sealing, episode: episodeId(groupId(other, 0), 0, 0), turns: 0 })
  }

  it('keeps what it earned where its task says so, and can be a success', async () => {
    expect(await sealed({})).toMatchObject({ outcome: 'turn_limit', reward: -0.2, success: false })
    expect(await sealed({ notCompleted: 'keep' })).toMatchObject({ reward: 0.75, success: false })
    expect(await sealed({ notCompleted: 'add' })).toMatchObject({ reward: 0.55, success: false })
    const success = { atLeast: 0.5 }
    expect(await sealed({ notCompleted: 'keep', success })).toMatchObject({ reward: 0.75, success: true })
  })

  it('has completed where its environment takes the last turn as the end', async () => {
    expect(await sealed({}, { ...echo, turnLimitCompletes: true })).toMatchObject({
      outcome: 'completed',
      reward: 0.75,
    })
  })
})

// [REWARDED-1]
it('an episode without a reward takes part in no group, and is refused by name', async () => {
  const failed = { ...ended(episodeId(group, 1, 0), 'infrastructure_error'), reward: null }
  const other = groupId(run, 1)
  const report = { group: other, number: 1, taskIndex: 0, task: 'alfworld', version: 0, episodes: [failed] }
  await expect(activities.recordGroup({ run, report })).rejects.toMatchObject({
    type: 'UnrewardedEpisode',
    nonRetryable: true,
    message: expect.stringContaining('demo/g0/s1/a0 ended with infrastructure_error'),
  })
  expect(await store.groups.get(other)).toBeUndefined()
})

it('an episode without a reward takes part in no update, and is refused by name', async () => {
  const lost = episodeId(group, 1, 0)
  await store.episodes.insert({ id: lost, task: 'alfworld', instance: 'i', created: 0 })
  await store.episodes.seal(lost, { outcome: 'infrastructure_error', reward: null, ended: 0 })
  const mixed = groupId(run, 2)
  await store.groups.insert({
    id: mixed,
    run,
    number: 2,
    task: 'alfworld',
    instance: 'i',
    version: 0,
    created: 0,
  })
  const result = { episodes: [episode, lost], rewards: [1, 0], oldestVersion: 0, ended: 0 }
  await store.groups.complete(mixed, { status: 'complete', ...result })
  await expect(collectBatch(store, [mixed], configSchema.parse({}))).rejects.toMatchObject({
    name: 'UnrewardedEpisode',
    kind: 'unrewarded',
    permanent: true,
  })
})

function ended(id: EpisodeId, outcome: Outcome): EpisodeResult {
  return { episode: id, outcome, reward: 1, success: true, turns: 1, tokens: 9, actionTokens: 3 }
}

/** An episode of a group, sealed or not. */
async function playedIn(group: GroupId, sample: number, isSealed: boolean): Promise<EpisodeId> {
  const id = episodeId(group, sample, 0)
  await store.episodes.insert({ id, task: 'alfworld', instance: 'i', created: 0 })
  if (isSealed) await store.episodes.seal(id, { outcome: 'completed', reward: 1, ended: 1 })
  return id
}

function reportOf(number: number, episodes: readonly EpisodeId[]) {
  const group = groupId(run, number)
  const of = { group, number, taskIndex: 0, task: 'alfworld', version: 0 }
  return { run, report: { ...of, episodes: episodes.map((id) => ended(id, 'completed')) } }
}

it('a group that was given up stays so, whatever it reports when it is played once more', async () => {
  expect(await activities.recordGroup(reportOf(1, []))).toEqual({ isAbandoned: true })
  const played = await playedIn(groupId(run, 1), 0, true)
  expect(await activities.recordGroup(reportOf(1, [played]))).toEqual({ isAbandoned: true })
})

// [KNOWN-2]
it('a group with an episode whose end the store has lost is not recorded; a lost end of one that does not count is entered', async () => {
  const group = groupId(run, 2)
  const [kept, lost] = [await playedIn(group, 0, true), await playedIn(group, 1, false)]
  await expect(activities.recordGroup(reportOf(2, [kept, lost]))).rejects.toMatchObject({
    type: 'StorageFault',
    nonRetryable: true,
    details: [{ kind: 'missing' }],
    message: expect.stringContaining(lost),
  })
  expect(await store.groups.get(group)).toBeUndefined()
  expect(await activities.recordGroup(reportOf(2, [kept]))).toEqual({ isAbandoned: false })
  expect((await store.episodes.get(lost))?.seal).toMatchObject({
    outcome: 'infrastructure_error',
    reward: null,
  })
})

it('a group of equal rewards is reported as one that teaches where its turns do, when it is recorded and when it is looked for', async () => {
  /** Wins in the last of some turns, all in one state. */
  async function wonIn(group: GroupId, sample: number, turns: number): Promise<EpisodeId> {
    const id = episodeId(group, sample, 0)
    await store.episodes.insert({ id, task: 'alfworld', instance: 'i', created: 0 })
    for (let turn = 0; turn <= turns; turn++) {
      const won = turn === turns
      const observation = { messages: [], reward: won ? 1 : 0, done: won, info: { [stateKey]: 'kitchen' } }
      await store.observations.put({ ...observation, episode: id, turn })
      const said = { message: { role: 'assistant', content: 'go' }, finish: 'stop', problems: [] } as const
      const tokens = { prompt: Int32Array.of(1), tokens: Int32Array.of(2), logprobs: Float32Array.of(-1) }
      if (!won) await store.actions.put({ ...said, ...tokens, episode: id, turn, version: 0 })
    }
    await store.episodes.seal(id, { outcome: 'completed', reward: 1, ended: 1 })
    return id
  }
  const learning = { stepGroups: { weight: 1 } }
  for (const [name, config, lengths, lesson] of [
    ['stepped', { learning }, [1, 3], { teaches: true }],
    ['alike', { learning }, [1, 1], {}],
    ['default', {}, [1, 3], {}],
  ] as const) {
    const other = runId(name)
    await store.runs.insert({ id: other, config: configSchema.parse(config), created: 0 })
    const group = groupId(other, 0)
    const episodes = [await wonIn(group, 0, lengths[0]), await wonIn(group, 1, lengths[1])]
    const { report } = reportOf(0, episodes)
    const request = { run: other, report: { ...report, group } }
    expect(await activities.recordGroup(request)).toEqual({ isAbandoned: false, ...lesson })
    const { reports } = await activities.findReports({ run: other, groups: [group], step: 0 })
    expect(reports.map(({ teaches }) => teaches)).toEqual(['teaches' in lesson ? true : undefined])
  }
})
