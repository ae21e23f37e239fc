/** The batch and the figures of an update, from groups as the store has them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { type EpisodeId, episodeId, type GroupId, groupId, runId } from '../../identity/identity.ts'
import { algorithmNames } from '../../learning/algorithms/algorithms.ts'
import { drawnFromPool } from '../../learning/rollout/cross-policy.ts'
import type { StoredGroup } from '../../storage/records/groups.ts'
import type { SealedEpisode } from '../../storage/trajectories/episode.ts'
import type { Trajectory } from '../../storage/trajectories/trajectory.ts'
import { collectBatch, type PlayedGroups, staleTurns } from './update-batch.ts'

const run = runId('batch')
const rules = configSchema.parse({
  seed: 7,
  learning: { taskNormalization: 'none' },
  crossPolicy: { staleShare: 0.5 },
})

interface Played {
  readonly reward: number
  readonly paid: number
  readonly outcome?: 'completed' | 'turn_limit'
  /** When it began; it ended at 3000. */
  readonly created?: number
  /** The state of all of its turns, of which the last is paid. */
  readonly state?: string
  readonly metrics?: Readonly<Record<string, number>>
  /** [turns] who sampled each, and how many tokens. */
  readonly turns: readonly (readonly [version: number, tokens: number])[]
}

/** Turns of one token read and some sampled ones. */
function trajectoryOf(
  id: EpisodeId,
  task: string,
  { reward, paid, outcome, turns, state, created = 1000, metrics }: Played,
): Trajectory {
  const time = turns.reduce((sum, [, tokens]) => sum + 1 + tokens, 0)
  const lossMask = new Uint8Array(time)
  const versions = new Int32Array(time).fill(-1)
  let at = 0
  const places = turns.map(([version, tokens], turn) => {
    const begin = at + 1
    at = begin + tokens
    lossMask.fill(1, begin, at)
    versions.fill(version, begin, at)
    if (state === undefined) return { version, begin, end: at, paid: 0 }
    return { version, begin, end: at, state, paid: turn === turns.length - 1 ? paid : 0 }
  })
  const actionTokens = turns.reduce((sum, [, tokens]) => sum + tokens, 0)
  const seal = {
    outcome: outcome ?? 'completed',
    reward,
    success: (reward ?? 0) >= 1,
    turns: turns.length,
    tokens: time,
    actionTokens,
    ended: 3000,
    ...(metrics && { metrics }),
  }
  return {
    episode: { id, task, created, seal, instance: '1' } as SealedEpisode,
    tokens: new Int32Array(time),
    lossMask,
    logprobs: new Float32Array(time),
    versions,
    turns: places,
    paid,
    unusable: 0,
    cutOff: 0,
    messages: [],
  }
}

/** A store of groups, each admitted at a version. */
function storeOf(
  groups: readonly {
    readonly task: string
    readonly version: number
    readonly episodes: readonly Played[]
  }[],
): { readonly store: PlayedGroups; readonly ids: readonly GroupId[] } {
  const trajectories = new Map<EpisodeId, Trajectory>()
  const stored = new Map<GroupId, StoredGroup>()
  for (const [number, { task, version, episodes }] of groups.entries()) {
    const id = groupId(run, number)
    const names = episodes.map((_, sample) => episodeId(id, sample, 1))
    for (const [sample, played] of episodes.entries()) {
      const name = names[sample] as EpisodeId
      trajectories.set(name, trajectoryOf(name, task, played))
    }
    stored.set(id, { id, task, version, result: { episodes: names } } as unknown as StoredGroup)
  }
  return {
    store: {
      groups: { get: (id) => Promise.resolve(stored.get(id)) },
      episodes: { trajectory: (id) => Promise.resolve(trajectories.get(id) as Trajectory) },
    },
    ids: [...stored.keys()],
  }
}

it('stale_share is the share of turns, not of tokens, that a version older than the group sampled', async () => {
  // Two of the five turns are older than version 4: 2/5. By tokens it would be 10/13: 1 + 1 + 9 + 1 + 1 = 13.
  const { store, ids } = storeOf([
    {
      task: 'db',
      version: 4,
      episodes: [
        {
          reward: 1,
          paid: 1,
          turns: [
            [4, 1],
            [5, 1],
            [2, 9],
          ],
        },
        {
          reward: 0,
          paid: 0,
          turns: [
            [2, 1],
            [4, 1],
          ],
        },
      ],
    },
  ])
  expect((await collectBatch(store, ids, rules)).figures.staleShare).toBeCloseTo(0.4, 12)
})

it('what was read counts as the weight says, together, up to the last action of each episode in the batch', async () => {
  // Read before a last action, but the first token of an episode: one token of the first episode, none of the second.
  const episodes = [
    {
      reward: 1,
      paid: 1,
      turns: [
        [0, 2],
        [0, 1],
      ],
    },
    { reward: 0, paid: 0, turns: [[0, 1]] },
  ] as const
  const { store, ids } = storeOf([{ task: 'db', version: 0, episodes }])
  const observing = configSchema.parse({ seed: 7, learning: { observationWeight: 0.25 } })
  const { batch } = await collectBatch(store, ids, observing)
  // read, 2 sampled, read, 1 sampled; read, 1 sampled
  expect([...(batch?.imitation ?? [])]).toEqual([0, 0, 0, 0.25, 0, 0, 0])
  expect([...(batch?.weights ?? [])]).toEqual([0, 0.25, 0.25, 0, 0.25, 0, 0.25])
  expect((await collectBatch(store, ids, rules)).batch?.imitation).toBeUndefined()
})

it('reward is what the environment paid, and the penalty of an episode that did not complete is in the shaped one', async () => {
  // paid (1 + 0.5) / 2 = 0.75; shaped (1 − 0.2) / 2 = 0.4
  const { store, ids } = storeOf([
    {
      task: 'db',
      version: 0,
      episodes: [
        { reward: 1, paid: 1, turns: [[0, 1]] },
        { reward: -0.2, paid: 0.5, outcome: 'turn_limit', turns: [[0, 1]] },
      ],
    },
  ])
  const { figures } = await collectBatch(store, ids, rules)
  expect(figures.reward.db).toBeCloseTo(0.75, 12)
  expect(figures.shapedReward?.db).toBeCloseTo(0.4, 12)
  expect(figures.success).toEqual({ db: 0.5 })
})

it('before the first update, when the pool is version 0 as the policy is, the draws of each episode tell its stale turns', async () => {
  const turns = Array.from({ length: 40 }, () => [0, 2] as const)
  const { store, ids } = storeOf([
    {
      task: 'db',
      version: 0,
      episodes: [
        { reward: 1, paid: 1, turns },
        { reward: 0, paid: 0, turns },
      ],
    },
  ])
  const { figures, batch } = await collectBatch(store, ids, rules)
  const draws = [0, 1].flatMap((sample) => {
    const episode = episodeId(ids[0] as GroupId, sample, 1)
    return drawnFromPool({ seed: 7, episode, attemptsDrawAlike: false, staleShare: 0.5 }, 40)
  })
  expect(figures.staleShare).toBe(draws.filter((drawn) => drawn).length / 80)
  // One token is read before the two of each turn.
  expect([...(batch?.stale ?? [])]).toEqual(draws.flatMap((drawn) => (drawn ? [0, 1, 1] : [0, 0, 0])))
  expect(figures.worth).toEqual([
    {
      version: null,
      turns:
        draws.slice(0, 40).filter((drawn) => !drawn).length +
        draws.slice(40).filter((drawn) => !drawn).length,
      won: draws.slice(0, 40).filter((drawn) => !drawn).length,
    },
    {
      version: 0,
      turns: draws.filter((drawn) => drawn).length,
      won: draws.slice(0, 40).filter((drawn) => drawn).length,
    },
  ])
  const without = { ...rules, crossPolicy: { ...rules.crossPolicy, poolSize: 0 } }
  expect((await collectBatch(store, ids, without)).figures.staleShare).toBe(0)
})

it('turns_per_episode is the mean over all episodes, those of skipped groups too', async () => {
  const groupOf = (...lengths: readonly number[]) => ({
    task: 'db',
    version: 1,
    episodes: lengths.map((length) => ({
      ...{ reward: 1, paid: 1 },
      turns: Array.from({ length }, () => [1, 2] as const),
    })),
  })
  const { store, ids } = storeOf([groupOf(1, 4), groupOf(2, 3)])
  const ofOne = { ...rules, rollout: { ...rules.rollout, groupsPerUpdate: 1 } }
  // 1 + 4 + 2 + 3 = 10 turns of 4 episodes.
  expect((await collectBatch(store, ids, ofOne)).figures.turnsPerEpisode).toBe(2.5)
})

it('metrics of an environment are means over episodes, with the interval over groups', async () => {
  const groupOf = (...scores: readonly number[]) => ({
    task: 'db',
    version: 1,
    episodes: scores.map((score) => ({
      ...{ reward: 1, paid: 1, metrics: { score } },
      turns: [[1, 2]] as const,
    })),
  })
  const won = { reward: 1, paid: 1, turns: [[1, 2]] as const }
  const plain = { task: 'kg', version: 1, episodes: [won, won] }
  const { store, ids } = storeOf([groupOf(1, 3), groupOf(4, 8), plain])
  const { metrics } = (await collectBatch(store, ids, rules)).figures
  // Means of groups 2 and 6: 4 ± t · 2, with Student's t of one degree of freedom, 12.706.
  expect(metrics).toEqual({ db: { score: { value: 4, low: 4 - 2 * 12.706, high: 4 + 2 * 12.706 } } })
})

it('an episode that ended before it began, as a clock that was set makes it, took no time', async () => {
  const won = { reward: 1, paid: 1, turns: [[1, 2]] as const }
  const group = { task: 'db', version: 1, episodes: [{ ...won, created: 9000 }, won] }
  const { store, ids } = storeOf([group, group])
  const ofOne = { ...rules, rollout: { ...rules.rollout, groupsPerUpdate: 1 } }
  expect((await collectBatch(store, ids, ofOne)).figures.skipped).toMatchObject({ episodes: 2, seconds: 2 })
})

// [REFILL-2]
it('groups that teach nothing are trained on only where the batch is not full without them; all count in what was paid', async () => {
  const groupOf = (rewards: readonly [number, number]) => ({
    task: 'db',
    version: 1,
    episodes: rewards.map((reward) => ({ reward, paid: reward, turns: [[1, 2]] as const })),
  })
  const { store, ids } = storeOf([groupOf([1, 1]), groupOf([0, 1]), groupOf([0, 0]), groupOf([1, 1])])
  const ofTwo = { ...rules, rollout: { ...rules.rollout, groupsPerUpdate: 2 } }
  const { figures, batch } = await collectBatch(store, ids, ofTwo)
  // Trained on: the second, which has a preference, and the first. Three tokens an episode, two seconds each.
  expect(figures.skipped).toEqual({ groups: 2, won: 1, lost: 1, episodes: 4, tokens: 12, seconds: 8 })
  expect(figures).toMatchObject({ groupsWithPreference: 1, episodes: 8, tokens: 24, success: { db: 5 / 8 } })
  expect(figures.tasks?.db).toMatchObject({ won: 1, lost: 0, mixed: 1 })
  expect(figures.signal).toMatchObject({ groups: 4, withPreference: 1, won: 2, lost: 1 })
  expect(batch?.offsets).toHaveLength(3)
  const all = await collectBatch(store, ids, { ...rules, rollout: { ...rules.rollout, groupsPerUpdate: 4 } })
  expect(all.figures.skipped).toEqual({ groups: 0, won: 0, lost: 0, episodes: 0, tokens: 0, seconds: 0 })
})

it('a group of equal rewards whose turns differ is trained on before those that teach nothing', async () => {
  const inTurns = (turns: number) => ({
    ...{ reward: 1, paid: 1, state: 'a' },
    turns: Array.from({ length: turns }, () => [1, 2] as const),
  })
  const groupOf = (...turns: readonly number[]) => ({ task: 'db', version: 1, episodes: turns.map(inTurns) })
  const { store, ids } = storeOf([groupOf(1, 1), groupOf(1, 2), groupOf(1, 1)])
  const stepGroups = { weight: 1, discount: 0.5 }
  const ofOne = { ...rules.rollout, groupsPerUpdate: 1 }
  const learning = { ...rules.learning, algorithm: 'dr_grpo', stepGroups }
  const { batch, figures } = await collectBatch(store, ids, { ...rules, rollout: ofOne, learning })
  // The returns in the state are 1 of the first episode, 1/2 and 1 of the second: their mean is 5/6.
  const [near, far] = [Math.fround(1 / 6), Math.fround(-1 / 3)]
  expect(figures).toMatchObject({ groupsWithPreference: 1, skipped: { groups: 2 } })
  const plain = await collectBatch(store, ids, { ...rules, rollout: ofOne })
  expect(plain.batch).toBeNull()
  expect([...(batch?.advantages ?? [])].map((each) => each.toFixed(6))).toEqual(
    [0, near, near, 0, far, far, 0, near, near].map((each) => each.toFixed(6)),
  )
})

it('earlier groups of an instance are compared with those of the update, and nothing is learnt from them', async () => {
  const groupOf = (reward: number) => ({
    ...{ task: 'db', version: 1 },
    episodes: [reward, reward].map((paid) => ({ reward: paid, paid, state: 'a', turns: [[1, 1]] as const })),
  })
  const { store, ids } = storeOf([groupOf(1), groupOf(0)])
  const [own, earlier] = ids as [GroupId, GroupId]
  const learning = { ...rules.learning, algorithm: 'critic' }
  const compared = [earlier, groupId(run, 99)]
  const { batch, figures } = await collectBatch(
    store,
    [own],
    { ...rules, learning },
    { replays: [], compared },
  )
  // a is worth 1/2: the episodes of the update were better, one action token each.
  expect(batch?.advantages).toEqual(Float32Array.of(0, 0.5, 0, 0.5))
  expect(figures).toMatchObject({ episodes: 2, groupsWithPreference: 1 })
  expect((await collectBatch(store, [own], { ...rules, learning })).batch).toBeNull()
})

// [STEP-GROUPS-3]
it('what the turns of an episode were paid that hit a limit is compared where its task keeps it', async () => {
  const episodes = [0.5, 0].map((paid) => ({
    ...{ reward: 0, paid, outcome: 'turn_limit' as const, state: 'a', turns: [[1, 1]] as const },
  }))
  const { store, ids } = storeOf([{ task: 'db', version: 1, episodes }])
  const learning = { ...rules.learning, algorithm: 'dr_grpo', stepGroups: { weight: 1, discount: 1 } }
  const advantagesWith = async (notCompleted: 'penalty' | 'keep' | 'add') => {
    const tasks = [{ ...configSchema.parse({}).tasks[0], task: 'db', notCompleted }] as typeof rules.tasks
    return (await collectBatch(store, ids, { ...rules, tasks, learning })).batch?.advantages
  }
  expect(await advantagesWith('penalty')).toBeUndefined()
  expect(await advantagesWith('keep')).toEqual(Float32Array.of(0, 0.25, 0, -0.25))
  expect(await advantagesWith('add')).toEqual(Float32Array.of(0, 0.25, 0, -0.25))
})

it('replayed groups are learnt from by their weight, and count in no figure of what was played', async () => {
  const groupOf = (rewards: readonly [number, number]) => ({
    task: 'db',
    version: 1,
    episodes: rewards.map((reward) => ({ reward, paid: reward, turns: [[1, 2]] as const })),
  })
  const { store, ids } = storeOf([groupOf([0, 1]), groupOf([1, 0]), groupOf([0, 0])])
  const [first, second, third] = ids as [GroupId, GroupId, GroupId]
  const learning = { ...rules.learning, replay: { share: 1, maxAge: 4, weight: 0.5 } }
  const replaying = { ...rules, learning }
  const deleted = groupId(run, 99)
  const { batch, figures } = await collectBatch(store, [first], replaying, {
    replays: [second, deleted],
    compared: [],
  })
  expect(figures).toMatchObject({ replayed: 1, episodes: 2, tokens: 6, groupsWithPreference: 1 })
  // Four action tokens, and four of half the weight: 1/6 and 1/12; one token is read before each turn.
  const [own, other] = [Math.fround(1 / 6), Math.fround(1 / 12)]
  expect([...(batch?.weights ?? [])]).toEqual([0, own, own, 0, own, own, 0, other, other, 0, other, other])
  // The groups that were played teach nothing: neither do the earlier ones.
  expect(
    (await collectBatch(store, [third], replaying, { replays: [second], compared: [] })).batch,
  ).toBeNull()
})

it('each task has its groups, its moments and its share of the gradient, and live weights of tasks hold', async () => {
  const groupOf = (task: string, tokens: number, rewards: readonly [number, number]) => ({
    task,
    version: 1,
    episodes: rewards.map((reward) => ({ reward, paid: reward, turns: [[1, tokens]] as const })),
  })
  const { store, ids } = storeOf([
    groupOf('db', 1, [0, 1]),
    groupOf('db', 1, [1, 1]),
    groupOf('os', 3, [1, 0]),
    groupOf('os', 3, [0, 0]),
  ])
  const { figures } = await collectBatch(store, ids, rules)
  // Deviations of both groups are 0.7071, so advantages are the same, and tokens 2 to 6: shares 1/4 and 3/4.
  expect(figures.tasks).toEqual({
    db: {
      won: 1,
      lost: 0,
      mixed: 1,
      mean: 0,
      deviation: expect.any(Number),
      gradientShare: expect.closeTo(0.25, 9),
    },
    os: {
      won: 0,
      lost: 1,
      mixed: 1,
      mean: 0,
      deviation: expect.any(Number),
      gradientShare: expect.closeTo(0.75, 9),
    },
  })
  const tasks = [
    { ...rules.tasks[0], task: 'db', weight: 3 },
    { ...rules.tasks[0], task: 'os', weight: 2 },
  ] as typeof rules.tasks
  const learning = { ...rules.learning, taskWeighting: 'equal', lossAggregation: 'task' } as const
  const equal = await collectBatch(store, ids, { ...rules, tasks, learning })
  expect(equal.figures.tasks?.db?.gradientShare).toBeCloseTo(0.6, 9)
  // By task, each of db's two counted tokens has 1/4 and each of os's six 1/12; one token is read before each turn.
  expect([...(equal.batch?.weights ?? [])]).toEqual(
    [0, 1 / 4, 0, 1 / 4, 0, 1 / 12, 1 / 12, 1 / 12, 0, 1 / 12, 1 / 12, 1 / 12].map(Math.fround),
  )
})

it('tasks with objectives of their own have the number of their loss at every action token', async () => {
  const episodes = [1, 0].map((reward) => ({ reward, paid: reward, turns: [[1, 2]] as const }))
  const { store, ids } = storeOf(['db', 'os', 'kg'].map((task) => ({ task, version: 1, episodes })))
  const mixed = configSchema.parse({
    tasks: [{ task: 'db' }, { task: 'os', objective: 'gspo' }, { task: 'kg', objective: 'cispo' }],
    evaluation: { suites: [] },
  })
  const { batch } = await collectBatch(store, ids, mixed)
  // One token read, two written, by each of two episodes of three groups.
  expect([...(batch?.losses ?? [])]).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 2, 2, 0, 2, 2])
  const alike = { ...mixed, tasks: mixed.tasks.map((task) => ({ ...task, objective: 'gspo' })) }
  expect((await collectBatch(store, ids, alike)).batch?.losses).toBeUndefined()
})

it('each token of the batch has the version that sampled it, and a turn is as old as its oldest', async () => {
  const { store, ids } = storeOf([
    {
      task: 'db',
      version: 4,
      episodes: [1, 0].map((reward) => ({ reward, paid: reward, turns: [[4, 3]] as const })),
    },
  ])
  const cut: PlayedGroups = {
    ...store,
    episodes: {
      trajectory: async (id) => {
        const trajectory = await store.episodes.trajectory(id)
        const { versions } = trajectory
        versions[3] = 6 // the last of the turn's three tokens
        return trajectory
      },
    },
  }
  const { batch, figures } = await collectBatch(cut, ids, rules)
  expect([...(batch?.versions ?? [])]).toEqual([-1, 4, 4, 6, -1, 4, 4, 6])
  expect([...(batch?.stale ?? [])]).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
  expect(figures.staleShare).toBe(0)
})

it('an algorithm of the user’s own is asked for the advantages, and what it says wrongly is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-algorithm-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const moduleWith = (name: string, body: string): string => {
    const path = join(folder, `${name}.ts`)
    writeFileSync(
      path,
      `import { type Algorithm, algorithms } from 'perdure'\nexport const own: Algorithm = { ...algorithms.grpo, name: '${name}', advantagesOf([{ task, episodes }]) { ${body} } }\n`,
    )
    return path
  }
  const { store, ids } = storeOf([
    {
      task: 'db',
      version: 1,
      episodes: [
        {
          reward: 1,
          paid: 1,
          turns: [
            [1, 1],
            [1, 2],
          ],
        },
        { reward: 0, paid: 0, turns: [[1, 1]] },
      ],
    },
  ])
  const withOwn = (algorithm: string) => ({ ...rules, learning: { ...rules.learning, algorithm } })
  const counting = moduleWith(
    'counting',
    `return [episodes.map(({ reward, turns }) => turns.map(({ actionTokens }, index) => actionTokens === 2 ? [5, 6] : reward + index + actionTokens / 10))]`,
  )
  const { batch, learnt } = await collectBatch(store, ids, withOwn(counting))
  // 1 + 0 + 0.1 for the first turn, 5 and 6 for the tokens of the second, 0 + 0 + 0.1 for the other episode.
  expect([...(batch?.advantages ?? [])]).toEqual([0, 1.1, 0, 5, 6, 0, 0.1].map(Math.fround))
  expect(learnt.map(({ advantages }) => advantages)).toEqual([[1.1, [5, 6]], [0.1]])
  for (const [name, body, words] of [
    [
      'short',
      'return [[1]]',
      /the algorithm "short" of .*short\.ts fails: 1 advantages for group 0, of db, expected a list of 2/,
    ],
    ['infinite', 'return [[1 / 0, 0]]', /the advantage Infinity for episode 0/],
    ['throwing', 'throw new Error("no table for " + task)', /fails: no table for db/],
  ] as const)
    await expect(collectBatch(store, ids, withOwn(moduleWith(name, body)))).rejects.toMatchObject({
      name: 'ExternalFault',
      kind: 'bad_result',
      permanent: true,
      message: expect.stringMatching(words),
    })
})

it('before the first update, when all versions are 0, the turns that were drawn from the pool are stale', () => {
  const id = episodeId(groupId(run, 0), 7, 0)
  const turns = Array.from({ length: 12 }, () => ({ version: 0, begin: 0, end: 0, paid: 0 }))
  const stale = staleTurns({ episode: { id } as SealedEpisode, turns }, 0, rules)
  const draws = { seed: rules.seed, episode: id, attemptsDrawAlike: false, staleShare: 0.5 }
  expect(stale).toEqual(drawnFromPool(draws, 12))
  expect(stale.filter(Boolean).length).toBeGreaterThan(0)
})

// [LEARNT-1] [LEARNT-EPISODE-1]
it.each(
  algorithmNames.flatMap((algorithm) =>
    (['none', 'per_task', 'per_task_published'] as const).flatMap((taskNormalization) =>
      (['token', 'episode'] as const).map((lossAggregation) => ({
        ...{ algorithm, taskNormalization, lossAggregation },
      })),
    ),
  ),
)(
  'the record of $algorithm, $taskNormalization, by $lossAggregation has the numbers of the batch, and replayed groups are named',
  async (chosen) => {
    const turns = [
      [4, 2],
      [4, 3],
    ] as const
    const played = (...rewards: readonly number[]) =>
      rewards.map((reward) => ({ reward, paid: reward, turns }))
    const { store, ids } = storeOf([
      { task: 'db', version: 4, episodes: played(1, 0, 0.25) },
      { task: 'os', version: 4, episodes: played(0, 0, 1) },
      { task: 'db', version: 3, episodes: played(1, 1, 0) },
    ])
    const own = configSchema.parse({
      tasks: [{ task: 'db' }, { task: 'os' }],
      learning: {
        ...chosen,
        entropyCoefficient: 0.01,
        imitation: { coefficient: 0.1 },
        replay: { share: 1, weight: 0.5 },
      },
      evaluation: { suites: [] },
    })
    const { batch, learnt } = await collectBatch(store, ids.slice(0, 2), own, {
      replays: ids.slice(2),
      compared: [],
    })
    const { offsets = [], advantages = [], weights = [], imitation = [], lossMask = [] } = batch ?? {}
    expect(learnt.length).toBe(offsets.length - 1)
    expect(learnt.filter(({ source }) => source === 'replayed').length).toBeGreaterThan(0)
    for (const [row, lesson] of learnt.entries()) {
      const begin = offsets[row] ?? 0
      expect(lesson.tokens).toBe((offsets[row + 1] ?? 0) - begin)
      const sampled = turns.flatMap(([, tokens], turn) => [
        NaN,
        ...Array.from({ length: tokens }, () => turn),
      ])
      for (const [place, turn] of sampled.entries()) {
        if (lossMask[begin + place] !== 1) continue
        expect(Math.fround(Number(lesson.advantages[turn]))).toBe(advantages[begin + place])
        expect(Math.fround(lesson.weight)).toBe(weights[begin + place])
        expect(Math.fround(lesson.imitation)).toBe(imitation[begin + place])
      }
    }
  },
)
