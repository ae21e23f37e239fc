/** A home for tests, filled by the store's own functions: groups of two on one task, each episode of two turns. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type ConfigInput, configSchema } from '../config/schema/schema.ts'
import { type EpisodeId, episodeId, type GroupId, groupId, type RunId, runId } from '../identity/identity.ts'
import { finalReward } from '../learning/evaluation/reward.ts'
import type { Message } from '../messages/message.ts'
import { createHome, createRunDirectory, homeAt } from '../storage/disk/home.ts'
import { update } from '../storage/metrics/metrics.testing.ts'
import { openStore, type Store } from '../storage/store.ts'
import type { StoredAction } from '../storage/trajectories/actions.ts'
import type { LearntEpisode } from '../storage/trajectories/learnt-episode.ts'
import type { StoredObservation } from '../storage/trajectories/observations.ts'

export interface FilledHome extends AsyncDisposable {
  readonly dir: string
  readonly store: Store
}

/** An update of a store that was made before updates left records. */
function forgetRecord({ file }: Store, run: RunId, step: number): void {
  const database = new DatabaseSync(file)
  database.prepare('delete from learnt where run = ? and step = ?').run(run, step)
  database.close()
}

/** An empty home in a folder of its own. */
export async function openFilledHome(): Promise<FilledHome> {
  const dir = mkdtempSync(join(tmpdir(), 'perdure-dashboard-'))
  const home = createHome(dir)
  const store = await openStore(home.storeFile)
  return {
    dir,
    store,
    async [Symbol.asyncDispose]() {
      await store.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export async function addRun(
  { dir, store }: FilledHome,
  name: string,
  config: ConfigInput = {},
): Promise<RunId> {
  const id = runId(name)
  createRunDirectory(homeAt(dir), id)
  await store.runs.insert({ id, config: configSchema.parse(config), created: 1000 })
  return id
}

export interface PlayedEpisode {
  readonly id: EpisodeId
  readonly task?: string
  readonly instance?: string
  readonly won?: boolean
  readonly version?: number
  readonly created?: number
  /** The text of the environment. */
  readonly text?: string
  /** The agent's actions, turn by turn. */
  readonly words?: readonly string[]
  /** Whether it has ended. */
  readonly isSealed?: boolean
}

/** Plays an episode: it begins with a text, and answers each word. */
export async function addEpisode({ store }: FilledHome, played: PlayedEpisode): Promise<void> {
  const { id, task = 'echo', instance = 'i1', won = true, version = 0, created = 2000 } = played
  const { text = 'Say it.', words = ['yes', 'no'], isSealed = true } = played
  await store.episodes.insert({ id, task, instance, created })
  for (let turn = 0; turn <= words.length; turn++) {
    const said: Message =
      turn === 0
        ? { role: 'user', content: text }
        : { role: 'tool', name: 'say', content: `heard ${words[turn - 1]}` }
    const done = turn === words.length
    const observation: StoredObservation = {
      episode: id,
      turn,
      messages: turn === 0 ? [{ role: 'system', content: 'You are tested.' }, said] : [said],
      reward: done && won ? 1 : 0,
      done,
      ...(done ? { outcome: 'completed' as const } : {}),
      info: {},
      ...(turn === 0 ? { tools: [] } : {}),
    }
    await store.observations.put(observation, { seconds: 0.02 * (turn + 1), attempt: 1 })
    const word = words[turn]
    if (word === undefined) break
    const action: StoredAction = {
      episode: id,
      turn,
      prompt: Int32Array.of(1, 2, turn),
      tokens: Int32Array.of(7, 8),
      logprobs: Float32Array.of(-0.5, -0.25 * (turn + 1)),
      version,
      finish: 'stop',
      message: { role: 'assistant', content: '', tool_calls: [{ name: 'say', arguments: { word } }] },
      problems: [],
    }
    // The second turn was tried twice.
    await store.actions.put(action, { seconds: 0.5 / (turn + 1), attempt: turn === 1 ? 2 : 1 })
  }
  if (!isSealed) return
  const outcome = won ? 'completed' : 'turn_limit'
  await store.episodes.seal(id, {
    outcome,
    reward: finalReward(outcome, won ? 1 : 0, { notCompleted: 'penalty', penalty: -0.2 }),
    ended: created + 500,
  })
}

/** A group of which the first sample wins, consumed by an update that is stored with its line of metrics. */
export async function addConsumedGroup(
  home: FilledHome,
  run: RunId,
  number: number,
  of: {
    readonly step: number
    readonly rewards?: readonly [number, number]
    /** Advantages of its episodes in the record of the update; absent where it left none. */
    readonly advantages?: readonly [number, number]
  },
): Promise<GroupId> {
  const { store } = home
  const id = groupId(run, number)
  const { step, rewards = [1, -0.2], advantages } = of
  const created = 2000 + 1000 * number
  await store.groups.insert({
    id,
    run,
    number,
    task: 'echo',
    instance: `i${number}`,
    version: step - 1,
    created,
  })
  const episodes = rewards.map((_, sample) => episodeId(id, sample, 0))
  for (const [sample, episode] of episodes.entries())
    await addEpisode(home, {
      id: episode,
      instance: `i${number}`,
      won: (rewards[sample] ?? 0) >= 1,
      version: step - 1,
      created: created + sample,
      words: sample === 0 ? ['yes', 'yes'] : ['yes', 'no'],
    })
  await store.groups.complete(id, {
    status: 'complete',
    episodes,
    rewards,
    oldestVersion: step - 1,
    ended: created + 600,
  })
  await store.groups.consume([id], step)
  const groupsWithPreference = rewards[0] === rewards[1] ? 0 : 1
  const learnt = episodes.map(async (episode, sample): Promise<LearntEpisode> => {
    const { tokens, turns } = await store.episodes.trajectory(episode)
    return {
      ...{ episode, source: 'played', tokens: tokens.length },
      ...{ advantages: turns.map(() => advantages?.[sample] ?? 0), weight: 1, imitation: 0 },
    }
  })
  await store.updates.put(
    {
      run,
      step,
      version: step,
      statistics: { success: { echo: 0.5 }, groupsWithPreference, gradientNorm: groupsWithPreference },
      groups: [id],
      created: created + 700,
    },
    groupsWithPreference === 0 ? [] : await Promise.all(learnt),
  )
  if (advantages === undefined) forgetRecord(store, run, step)
  await store.metrics.put(run, {
    ...update(step),
    time: new Date(created + 700).toISOString(),
    success: { echo: 0.5 },
    reward: { echo: 0.5 },
    samples: { echo: 2 },
  })
  await store.runs.publish(run, { version: step, state: undefined })
  return id
}
