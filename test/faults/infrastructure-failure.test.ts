/** Failures of environments never become the reward of an episode or a group. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSession, type RunProgress, type TrainingSession } from '../../client/session/training-session.ts'
import { type EpisodeId, firstAttemptOf, parseEpisodeId, runId } from '../../identity/identity.ts'
import type { SamplingRequest } from '../../policy/engines/engine.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { backendFault, createEchoTask, type EchoSession, type EchoTask } from '../support/echo-task.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const never = new Promise<void>(() => {})
let session: TrainingSession
let store: Store

/** The n-th session of its instance, from 0. */
function ordinal(session: EchoSession, all: readonly EchoSession[]): number {
  return all.filter(({ instance }) => instance === session.instance).indexOf(session)
}

const tasks = {
  /** The first session of each instance answers with a fault at its second step. */
  faulty: createEchoTask({
    name: 'faulty',
    beforeStep(session, all) {
      if (ordinal(session, all) === 0 && session.heard.length === 1) throw backendFault()
    },
  }),
  /** As before, and no other session can replay it. */
  forgetful: createEchoTask({
    name: 'forgetful',
    replayable: false,
    beforeStep(session, all) {
      if (ordinal(session, all) === 0 && session.heard.length === 1) throw backendFault()
    },
  }),
  /** As before, in a synchronous run. */
  repeatable: createEchoTask({
    name: 'repeatable',
    replayable: false,
    beforeStep(session, all) {
      if (ordinal(session, all) === 0 && session.heard.length === 1) throw backendFault()
    },
  }),
  /** The first session of each instance never answers its second step. */
  hanging: createEchoTask({
    name: 'hanging',
    stepTimeoutSeconds: 0.2,
    async beforeStep(session, all) {
      if (ordinal(session, all) === 0 && session.heard.length === 1) await never
    },
  }),
  /** The instance that comes first can never be played. */
  hopeless: createEchoTask({
    name: 'hopeless',
    replayable: false,
    beforeStep(session, all) {
      if (session.instance === all[0]?.instance && session.heard.length === 1) throw backendFault()
    },
  }),
  /** The last of three episodes of each instance hangs for longer than the group waits. */
  slow: createEchoTask({
    name: 'slow',
    async beforeStep(session, all) {
      if (ordinal(session, all) === 2) await never
    },
  }),
} satisfies Record<string, EchoTask>
type Name = keyof typeof tasks

const results = {} as Record<Name, RunProgress>
/** Requests to the engine. */
const asked: SamplingRequest[] = []

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(listen)),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: (name) => tasks[name as Name].definition,
  })
  store = await openStore(homeAt(home).storeFile)
  const rollout: Partial<Record<Name, object>> = {
    hopeless: { groupSize: 2, groupsPerUpdate: 2, maxTokensPerTurn: 64, maxAttempts: 2 },
    repeatable: { groupSize: 2, groupsPerUpdate: 2, maxTokensPerTurn: 64, maxStaleness: 0 },
    slow: { groupSize: 3, groupsPerUpdate: 2, maxTokensPerTurn: 64, quorum: 2, groupTimeoutSeconds: 2 },
  }
  await Promise.all(
    (Object.keys(tasks) as Name[]).map(async (name) => {
      await session.start(name, tinyConfig({ rollout: { ...rollout[name] }, training: { updates: 1 } }, name))
      results[name] = await session.result(name)
    }),
  )
}, 120_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  removeHome(home)
})

function listen(request: SamplingRequest): string {
  asked.push(request)
  return sayYesOrNo(request)
}

/** Seeds of the first turn by sample, one for each attempt. */
function firstSeeds(name: Name): readonly (readonly number[])[] {
  const first = asked.filter(
    ({ cacheKey, borders }) => cacheKey.startsWith(`${name}/`) && borders.length === 0,
  )
  const bySample = Map.groupBy(first, ({ cacheKey }) => firstAttemptOf(cacheKey as EpisodeId))
  return [...bySample.values()].map((requests) => requests.map(({ seed }) => seed))
}

async function consumed(name: Name) {
  const groups = await store.groups.list(runId(name), { consumed: true })
  return groups.flatMap(({ result }) => result?.episodes ?? [])
}

async function sealed(name: Name) {
  return (await store.episodes.page(runId(name), '', 1000)).map(({ id, seal }) => ({ id, ...seal }))
}

describe('an environment that fails', () => {
  it('costs no run its end', () => {
    for (const name of Object.keys(tasks) as Name[])
      expect(results[name], name).toMatchObject({ phase: 'done', step: 1 })
  })

  it('with a fault in a step is opened again and played up to there, within the same attempt', async () => {
    for (const { attempt } of (await consumed('faulty')).map(parseEpisodeId)) expect(attempt).toBe(0)
    for (const { outcome, turns } of await sealed('faulty'))
      expect({ outcome, turns }).toEqual({ outcome: 'completed', turns: 3 })
    expect(tasks.faulty.sessions.every(({ heard, closed }) => closed && heard.length <= 3)).toBe(true)
  })

  // [GROUP-1] [EPISODE-2]
  it('and cannot be replayed makes a new attempt; the failed one carries no reward', async () => {
    const episodes = await sealed('forgetful')
    const failed = episodes.filter(({ outcome }) => outcome === 'infrastructure_error')
    expect(failed.length).toBeGreaterThan(0)
    for (const { reward, id } of failed) {
      expect(reward).toBeNull()
      expect(parseEpisodeId(id).attempt).toBe(0)
    }
    const attempts = (await consumed('forgetful')).map((id) => parseEpisodeId(id).attempt)
    expect(attempts).toHaveLength(4)
    expect(attempts).toContain(1)
  })

  // [EPISODE-3]
  it('and makes a new attempt lets it draw what the failed one drew in a synchronous run, else other actions', () => {
    const again = (name: Name) => firstSeeds(name).filter((seeds) => seeds.length === 2)
    const distinct = (name: Name) => again(name).map((seeds) => new Set(seeds).size)
    expect(new Set(distinct('repeatable'))).toEqual(new Set([1]))
    expect(new Set(distinct('forgetful'))).toEqual(new Set([2]))
  })

  it('by hanging is given up after its time and opened again', async () => {
    for (const { outcome } of await sealed('hanging')) expect(outcome).toBe('completed')
    const hung = tasks.hanging.sessions.filter(({ heard }) => heard.length === 1)
    expect(hung.length).toBeGreaterThan(0)
    expect(hung.every(({ closed }) => closed)).toBe(true)
  })

  it('at every attempt makes a failed group, which takes part in no update and is replaced', async () => {
    const groups = await store.groups.list(runId('hopeless'))
    const abandoned = groups.filter(({ status }) => status === 'abandoned')
    expect(abandoned).toHaveLength(1)
    expect(abandoned[0]?.consumedBy).toBeUndefined()
    expect(groups.filter(({ consumedBy }) => consumedBy === 1)).toHaveLength(2)
    const attempts = (await sealed('hopeless')).filter(({ id }) => id.startsWith(`${abandoned[0]?.id}/`))
    expect(attempts.map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 4 }, () => 'infrastructure_error'),
    )
  })
})

describe('a group whose time is over', () => {
  // [GROUP-2] [EPISODE-1]
  it('ends at its quorum; the episode that hangs is cancelled and sealed without a reward', async () => {
    const groups = await store.groups.list(runId('slow'), { consumed: true })
    expect(groups.map(({ result }) => result?.episodes.length)).toEqual([2, 2])
    const cancelled = (await sealed('slow')).filter(({ outcome }) => outcome === 'cancelled')
    expect(cancelled.length).toBeGreaterThanOrEqual(2)
    for (const { reward } of cancelled) expect(reward).toBeNull()
  })
})

it('every execution replays', async () => {
  expect(await replay(await fetchHistories(home))).toEqual([])
})
