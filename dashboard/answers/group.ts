/**
 * The samples of a group, an evaluation or a branch, beside one another.
 *
 * Invariants
 * - [SHOWN-ACTIONS-1] At a turn two actions have the same words exactly if the samples did the same; thoughts do not count.
 */
import type { LearntGroups, LearntUpdate } from '../../client/learnt-groups.ts'
import { groupId, type ParentId, parseEpisodeId, type RunId } from '../../identity/identity.ts'
import { algorithms, isAlgorithmName } from '../../learning/algorithms/algorithms.ts'
import { groupAdvantages } from '../../learning/algorithms/group-rewards.ts'
import { actionSummary, spoken } from '../../messages/action-summary.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import type { GroupResult } from '../../storage/records/groups.ts'
import { isSealed, type StoredEpisode } from '../../storage/trajectories/episode.ts'
import type { EpisodeKind } from '../contract/episodes.ts'
import type { GroupAnswer, GroupSample } from '../contract/group.ts'
import { kindOf } from '../episode-index/filling.ts'
import type { ShownHome } from '../home/shown-home.ts'
import { episodeRow } from './episodes.ts'
import { knownRun, Refused, type ShownRun } from './known-run.ts'

const mostSamples = 500

/** Samples whose actions are shown beside one another. */
const mostWithActions = 64

const mostActions = 100

/** The facts of a parent, by its kind. */
interface ParentFacts {
  readonly version: number
  readonly status: GroupAnswer['status']
  readonly update: number | null
  /** The episodes that count, with the rewards that were compared; absent while it runs. */
  readonly counted?: Pick<GroupResult, 'episodes' | 'rewards'>
}

/** @throws Refused `unknown` */
export async function groupAnswer(
  shown: ShownHome,
  learntGroups: LearntGroups,
  id: string,
): Promise<GroupAnswer> {
  const parent = parentOf(id)
  const run = await knownRun(shown, parent.run)
  const kind = kindOf(id)
  const all = await shown.store.episodes.list(parent.id)
  const facts = (await factsOf(shown, parent.id, kind)) ?? unrecordedFacts(run, parent.id, all)
  if (facts === undefined || (kind === 'branch' && all.length === 0))
    throw new Refused('unknown', `run ${parent.run} has no group, evaluation or branch ${id}`)
  const update = facts.update === null ? undefined : await learntGroups.update(run.id, facts.update)
  const own = advantagesIn(facts, run.config.learning.algorithm)
  const texts = new Map<string, readonly string[]>()
  for (const episode of all.slice(0, mostWithActions))
    texts.set(episode.id, (await shown.store.feed.said(episode.id)).actions)
  const ids = [...texts.keys()]
  const summaries = shownActions([...texts.values()])
  const actions = new Map(ids.map((episode, index) => [episode, summaries[index] ?? []]))
  const counts = new Set<string>(facts.counted?.episodes ?? [])
  const samples = all.slice(0, mostSamples).map((episode) =>
    sampleOf(episode, {
      facts,
      own,
      update,
      counts,
      actions: (actions.get(episode.id) ?? []).slice(0, mostActions),
    }),
  )
  const instances = new Set(all.map(({ instance }) => instance))
  return {
    id,
    run: parent.run,
    kind,
    task: all[0]?.task ?? '',
    instance: instances.size === 1 ? (all[0]?.instance ?? null) : null,
    version: facts.version,
    status: facts.status,
    update: facts.update,
    ...(update === undefined ? {} : { learnt: lessonOf(update, all) }),
    samples,
    total: all.length,
    partsAt:
      kind === 'evaluation' && instances.size > 1
        ? null
        : partingTurn(
            samples.filter(({ counts }) => counts).map(({ episode }) => actions.get(episode) ?? []),
          ),
    ...shown.temporalPage(id),
  }
}

function lessonOf(
  { isKept, episodes }: LearntUpdate,
  own: readonly StoredEpisode[],
): NonNullable<GroupAnswer['learnt']> {
  if (!isKept) return 'not_kept'
  return own.some(({ id }) => episodes.has(id)) ? 'learnt' : 'nothing_learnt'
}

/** Run and id of what episodes are samples of. @throws Refused `unknown` */
function parentOf(id: string): { readonly run: RunId; readonly id: ParentId } {
  try {
    const { run, parent } = parseEpisodeId(`${id}/s0/a0`)
    return { run, id: parent }
  } catch (cause) {
    throw new Refused('unknown', `"${id}" is no group, evaluation or branch`, { cause })
  }
}

async function factsOf(
  { store }: ShownHome,
  id: ParentId,
  kind: EpisodeKind,
): Promise<ParentFacts | undefined> {
  if (kind === 'group') {
    const group = await store.groups.get(id as never)
    return (
      group && {
        version: group.version,
        status: group.status,
        update: group.consumedBy ?? null,
        ...(group.result === undefined ? {} : { counted: group.result }),
      }
    )
  }
  if (kind === 'evaluation') {
    const evaluation = await store.evaluations.get(id as never)
    const status = evaluation?.result === undefined ? 'running' : 'complete'
    return (
      evaluation && {
        version: evaluation.version,
        status: evaluation.failure === undefined ? status : 'abandoned',
        update: null,
        ...(evaluation.result === undefined
          ? {}
          : { counted: { episodes: evaluation.result.episodes, rewards: [] } }),
      }
    )
  }
  const [, version = '0'] = /-v(\d+)$/.exec(id) ?? []
  return { version: Number(version), status: 'complete', update: null }
}

/**
 * The facts of a group whose episodes are stored, and not yet the group itself: it is recorded when it has ended, and never if it
 * was cut off with its run.
 */
function unrecordedFacts(
  { id: run, record, state }: ShownRun,
  id: ParentId,
  episodes: readonly StoredEpisode[],
): ParentFacts | undefined {
  if (kindOf(id) !== 'group' || episodes.length === 0) return undefined
  // The run may have stored its state before the group was admitted: then the group is of the newest version.
  const admitted = state.inFlight.find(({ number }) => groupId(run, number) === id)
  const isPlaying = record.status === 'running' || episodes.some((episode) => !isSealed(episode))
  return {
    version: admitted?.version ?? state.version,
    status: isPlaying ? 'running' : 'abandoned',
    update: null,
  }
}

/** By episode, the advantage within its group, until an update makes its own of them. */
function advantagesIn({ counted, update }: ParentFacts, algorithm: string): ReadonlyMap<string, number> {
  // A custom algorithm needs more than the rewards.
  if (update !== null || counted === undefined || counted.rewards.length < 2 || !isAlgorithmName(algorithm))
    return new Map()
  const { episodes, rewards } = counted
  const advantages = groupAdvantages(rewards, algorithms[algorithm])
  return new Map(episodes.map((episode, sample) => [episode, advantages[sample] ?? 0]))
}

function sampleOf(
  episode: StoredEpisode,
  of: {
    readonly facts: ParentFacts
    readonly own: ReadonlyMap<string, number>
    readonly update: LearntUpdate | undefined
    readonly counts: ReadonlySet<string>
    readonly actions: readonly string[]
  },
): GroupSample {
  const learnt = of.update?.episodes.get(episode.id)
  return {
    ...episodeRow(episode, of.facts.update),
    // Nothing waits for a branch: each of its episodes counts.
    counts: of.facts.counted === undefined || of.counts.has(episode.id),
    groupAdvantage: of.own.get(episode.id) ?? null,
    advantage: learnt?.advantage ?? null,
    actions: of.actions,
  }
}

/** The first turn at which not all do the same. @param samples [samples][turns] */
export function partingTurn(samples: readonly (readonly string[])[]): number | null {
  const [first, ...others] = samples
  if (first === undefined || others.length === 0) return null
  const longest = Math.max(...samples.map((actions) => actions.length))
  for (let turn = 0; turn < longest; turn++)
    if (others.some((actions) => actions[turn] !== first[turn])) return turn
  return null
}

/**
 * Different actions with the same summary, because what differs was cut off, are numbered.
 * @param samples [samples][turns] the stored actions
 * @returns [samples][turns]
 */
export function shownActions(samples: readonly (readonly string[])[]): readonly (readonly string[])[] {
  /** By turn and summary, the different actions. */
  const known = new Map<string, string[]>()
  return samples.map((actions) =>
    actions.map((json, turn) => {
      const { summary, done } = readAction(json)
      const key = `${turn} ${summary}`
      const same = known.get(key) ?? []
      known.set(key, same)
      if (!same.includes(done)) same.push(done)
      const number = same.indexOf(done) + 1
      return number === 1 ? summary : `${summary} (${number})`
    }),
  )
}

function readAction(json: string): { readonly summary: string; readonly done: string } {
  try {
    const message = JSON.parse(json) as AssistantMessage
    const { content, tool_calls: calls = [] } = spoken(message)
    const done = JSON.stringify(calls.length === 0 ? content : calls)
    return { summary: actionSummary(message), done }
  } catch {
    // A damaged action has no words; the trajectory's page says what is wrong with it.
    return { summary: '', done: json }
  }
}
