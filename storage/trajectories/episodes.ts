/**
 * Episodes: one row per attempt, from its start to its sealed trajectory.
 *
 * Invariants
 * - Sealing happens once; sealing again gives back what the first sealing stored.
 * - A sealed episode's checksum covers outcome, reward and every observation and action that counts;
 *   reading its trajectory verifies it, and an episode with one byte changed is refused by name.
 * - A write after the sealing (by a late attempt of an activity) does not count and changes nothing.
 * - An infrastructure failure or a cancellation carries no reward; every other outcome carries a finite one.
 */
import { type Kysely, type Selectable, sql } from 'kysely'
import { type EpisodeId, type ParentId, parseEpisodeId, type RunId } from '../../identity/identity.ts'
import { isRewarded, type Outcome } from '../../learning/evaluation/outcome.ts'
import { fullReward, isSuccess } from '../../learning/evaluation/reward.ts'
import type { LearntBranches } from '../../learning/rollout/learnt-branches.ts'
import { StorageFault } from '../disk/fault.ts'
import type { Statements } from '../tables/backend.ts'
import { jsonOf, type Precedence, precedenceOf } from '../tables/codec.ts'
import type { EpisodesTable, ObservationsTable, Schema } from '../tables/schema.ts'
import { type Actions, versionsIn } from './actions.ts'
import {
  type EpisodeEnding,
  isSealed,
  type NewEpisode,
  type SealedEpisode,
  type StoredEpisode,
} from './episode.ts'
import { metricsKey, type Observations, observationOf } from './observations.ts'
import { type Trajectory, trajectoryBytes, trajectoryChecksum, trajectoryOf } from './trajectory.ts'

export interface Episodes {
  insert(episode: NewEpisode): Promise<Precedence>
  /**
   * @param played turns that must be stored: without them the reward would be that of other turns; 0 by default
   * @throws StorageFault `missing`, also where turns are; RangeError a reward that the outcome does not allow
   */
  seal(
    id: EpisodeId,
    ending: EpisodeEnding,
    played?: number,
  ): Promise<{ by: Precedence; episode: SealedEpisode }>
  get(id: EpisodeId): Promise<StoredEpisode | undefined>
  /** In the order of samples and attempts. */
  list(parent: ParentId): Promise<StoredEpisode[]>
  /** Sealed episodes of a run that have their trajectories, page by page in the order of ids; start with `after` empty. */
  page(run: RunId, after: EpisodeId | '', limit: number): Promise<SealedEpisode[]>
  /** The verified trajectory of a sealed episode. @param branches that are learnt from, all by default @throws StorageFault `missing` (also where it was deleted), `corrupt` */
  trajectory(id: EpisodeId, branches?: LearntBranches): Promise<Trajectory>
  /** Episodes by outcome, of a run; the unsealed ones under `running`. */
  count(run: RunId): Promise<Partial<Record<Outcome | 'running', number>>>
  /** Episodes of a run's groups by outcome, with those that were not the first attempt and those that came too late; unsealed ones have none. */
  inTraining(run: RunId): Promise<readonly OutcomeCount[]>
  /** Turns of all sealed episodes of these parents. */
  turns(parents: readonly ParentId[]): Promise<number>
  /** Totals over all episodes of a run, those of evaluations too. */
  totals(run: RunId): Promise<EpisodeTotals>
}

export interface OutcomeCount {
  readonly outcome: Outcome | null
  readonly episodes: number
  readonly retried: number
  /** Cancelled in a group that ended at its quorum without them. */
  readonly timedOut: number
}

export interface EpisodeTotals {
  readonly episodes: number
  /** Sampled by the policy. */
  readonly actionTokens: number
}

/** Where an episode and its turns are kept. */
interface EpisodeStore {
  readonly db: Kysely<Schema>
  readonly statements: Statements
  readonly observations: Pick<Observations, 'rows'>
  readonly actions: Pick<Actions, 'rows'>
}

type KeptEpisodes = EpisodeStore & { readonly queries: ReturnType<typeof queriesOf> }

export function createEpisodes(stored: EpisodeStore): Episodes {
  const { db, statements } = stored
  const queries = queriesOf(db)
  const kept = { ...stored, queries }

  return {
    get: (id) => episodeIn(kept, id),

    async insert({ id, task, instance, created }) {
      const { run, parent, sample, attempt } = parseEpisodeId(id)
      const parameters = [id, run, parent, sample, attempt, task, instance, created]
      return precedenceOf(await statements.write(queries.insert, parameters))
    },

    seal: (id, ending, played = 0) => sealEpisode(kept, id, ending, played),

    async list(parent) {
      const rows = await db
        .selectFrom('episodes')
        .selectAll()
        .where('parent', '=', parent)
        .orderBy('sample')
        .orderBy('attempt')
        .execute()
      return rows.map(episodeOf)
    },

    async page(run, after, limit) {
      const rows = await db
        .selectFrom('episodes')
        .selectAll()
        .where('run', '=', run)
        .where('id', '>', after)
        .where('checksum', 'is not', null)
        .where('released', 'is', null)
        .orderBy('id')
        .limit(limit)
        .execute()
      return rows.map(episodeOf).filter(isSealed)
    },

    trajectory: (id, branches) => trajectoryIn(kept, id, branches),

    async count(run) {
      const rows = await db
        .selectFrom('episodes')
        .select(['outcome', (select) => select.fn.countAll<number>().as('episodes')])
        .where('run', '=', run)
        .groupBy('outcome')
        .execute()
      return Object.fromEntries(rows.map((row) => [row.outcome ?? 'running', Number(row.episodes)]))
    },

    async inTraining(run) {
      const rows = await db
        .selectFrom('episodes')
        .select((select) => [
          'outcome',
          select.fn.countAll<number>().as('episodes'),
          sql<number>`sum(case when attempt > 0 then 1 else 0 end)`.as('retried'),
          sql<number>`sum(case when outcome = 'cancelled' and parent in (select id from groups where status = 'complete') then 1 else 0 end)`.as(
            'timedOut',
          ),
        ])
        .where('run', '=', run)
        .where('parent', '>=', `${run}/g` as ParentId)
        .where('parent', '<', `${run}/h` as ParentId)
        .groupBy('outcome')
        .execute()
      return rows.map(({ outcome, episodes, retried, timedOut }) => ({
        outcome: outcome as Outcome | null,
        episodes: Number(episodes),
        retried: Number(retried),
        timedOut: Number(timedOut ?? 0),
      }))
    },

    async turns(parents) {
      if (parents.length === 0) return 0
      const row = await db
        .selectFrom('episodes')
        .select((select) => select.fn.sum<number | null>('turns').as('turns'))
        .where('parent', 'in', parents)
        .executeTakeFirst()
      return Number(row?.turns ?? 0)
    },

    async totals(run) {
      const row = await db
        .selectFrom('episodes')
        .select((select) => [
          select.fn.countAll<number>().as('episodes'),
          select.fn.sum<number | null>('action_tokens').as('actionTokens'),
        ])
        .where('run', '=', run)
        .executeTakeFirst()
      return { episodes: Number(row?.episodes ?? 0), actionTokens: Number(row?.actionTokens ?? 0) }
    },
  }
}

/** The queries of each episode, compiled once; their parameters come in the order of the columns. */
function queriesOf(db: Kysely<Schema>) {
  const begun = { id: '', run: '', parent: '', sample: 0, attempt: 0, task: '', instance: '', created: 0 }
  return {
    one: db.selectFrom('episodes').selectAll().where('id', '=', '').compile(),
    insert: db
      .insertInto('episodes')
      .values(begun)
      .onConflict((conflict) => conflict.doNothing())
      .compile(),
    seal: db
      .updateTable('episodes')
      .set({ outcome: '', reward: 0, ended: 0, turns: 0, observations: 0, tokens: 0, action_tokens: 0 })
      .set({ problems: 0, version_min: 0, version_max: 0, checksum: '', bytes: 0, success: 0, metrics: '' })
      .where('id', '=', '')
      .where('checksum', 'is', null)
      .compile(),
  }
}

async function episodeIn(
  { statements, queries }: KeptEpisodes,
  id: EpisodeId,
): Promise<StoredEpisode | undefined> {
  const row = await statements.first(queries.one, [id])
  return row === undefined ? undefined : episodeOf(row)
}

async function knownEpisode(kept: KeptEpisodes, id: EpisodeId): Promise<StoredEpisode> {
  const episode = await episodeIn(kept, id)
  if (episode === undefined) throw new StorageFault('missing', `episode ${id} was never stored`)
  return episode
}

/** Closes an episode with the figures of what it has played, once. */
async function sealEpisode(
  kept: KeptEpisodes,
  id: EpisodeId,
  ending: EpisodeEnding,
  played: number,
): Promise<{ by: Precedence; episode: SealedEpisode }> {
  checkReward(id, ending)
  const before = await knownEpisode(kept, id)
  if (isSealed(before)) return { by: 'already', episode: before }
  const observations = await kept.observations.rows(id)
  const actions = await kept.actions.rows(id)
  if (actions.length < played)
    throw new StorageFault(
      'missing',
      `episode ${id} has ${actions.length} of ${played} turns in the store; it is played again`,
    )
  const actionTokens = actions.reduce((sum, row) => sum + row.tokens.byteLength / 4, 0)
  const versions = actions.flatMap(versionsIn)
  const changes = await kept.statements.write(kept.queries.seal, [
    ending.outcome,
    ending.reward,
    ending.ended,
    actions.length,
    observations.length,
    actions.reduce((sum, row) => sum + row.prompt.byteLength / 4, actionTokens),
    actionTokens,
    actions.filter((row) => row.problems !== '[]').length,
    versions.length === 0 ? null : Math.min(...versions),
    versions.length === 0 ? null : Math.max(...versions),
    trajectoryChecksum(id, ending, observations, actions),
    trajectoryBytes(observations, actions),
    Number(ending.success ?? isSuccess(ending.reward, { atLeast: fullReward })),
    metricsIn(observations),
    id,
  ])
  const episode = await knownEpisode(kept, id)
  if (!isSealed(episode)) throw new StorageFault('missing', `episode ${id} vanished while it was sealed`)
  return { by: precedenceOf(changes), episode }
}

async function trajectoryIn(
  kept: KeptEpisodes,
  id: EpisodeId,
  branches?: LearntBranches,
): Promise<Trajectory> {
  const episode = await knownEpisode(kept, id)
  if (!isSealed(episode)) throw new StorageFault('missing', `episode ${id} is not sealed yet`)
  if (episode.released !== undefined)
    throw new StorageFault(
      'missing',
      `the trajectory of episode ${id} was deleted by retention on ${new Date(episode.released).toISOString()}`,
    )
  return trajectoryOf(episode, await kept.observations.rows(id), await kept.actions.rows(id), branches)
}

/** The latest, as JSON. The answer to an action that never reached the environment has none. */
function metricsIn(observations: readonly Selectable<ObservationsTable>[]): string | null {
  const last = observations.findLast(({ info }) => info.includes(`"${metricsKey}"`))
  if (last === undefined) return null
  const metrics = observationOf(last).info[metricsKey]
  return metrics === undefined ? null : JSON.stringify(metrics)
}

function checkReward(id: EpisodeId, { outcome, reward }: EpisodeEnding): void {
  const fits = isRewarded(outcome) ? Number.isFinite(reward) : reward === null
  if (!fits)
    throw new RangeError(
      `episode ${id}: reward ${reward} with outcome ${outcome}, expected ${isRewarded(outcome) ? 'a finite number' : 'null'}`,
    )
}

function episodeOf(row: Selectable<EpisodesTable>): StoredEpisode {
  return {
    id: row.id as EpisodeId,
    run: row.run as RunId,
    parent: row.parent as ParentId,
    sample: row.sample,
    attempt: row.attempt,
    task: row.task,
    instance: row.instance,
    created: row.created,
    ...(row.released === null ? {} : { released: row.released }),
    ...(row.checksum === null
      ? {}
      : {
          seal: {
            outcome: row.outcome as Outcome,
            reward: row.reward,
            success: row.success === 1,
            ...(row.metrics === null
              ? {}
              : {
                  metrics: jsonOf<Record<string, number>>(row.metrics, `episode ${row.id}: metrics`),
                }),
            ended: row.ended ?? row.created,
            turns: row.turns ?? 0,
            observations: row.observations ?? 0,
            tokens: row.tokens ?? 0,
            actionTokens: row.action_tokens ?? 0,
            problems: row.problems ?? 0,
            versionMin: row.version_min,
            versionMax: row.version_max,
            checksum: row.checksum,
          },
        }),
  }
}
