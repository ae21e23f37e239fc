/**
 * Episodes in the order in which they came, for readers that keep their own table beside the store.
 *
 * Invariants
 * - Only reads. Readers ask for episodes after a number, so that nothing is read twice.
 * - [FEED-1] An episode's number is larger than those of all that were committed before it: a reader misses none.
 * - Numbers are rows of the store: a copied or repaired store may number differently, and then `newest` goes back.
 */
import { type Kysely, type Selectable, sql } from 'kysely'
import type { Statements, Terms } from '../tables/backend.ts'
import type { EpisodesTable, Schema } from '../tables/schema.ts'

/** An episode as it is stored, with its number. */
export type FeedRow = Omit<
  Selectable<EpisodesTable>,
  'checksum' | 'bytes' | 'problems' | 'observations' | 'metrics'
> & {
  readonly number: number
}

export interface EpisodeFeed {
  /** A value that differs whenever another process or connection has written since. */
  changeMark(): Promise<number | string>
  /** Number of the latest episode; 0 where there is none. */
  newest(): Promise<number>
  /** Episodes that came after a number, at most so many. */
  after(number: number, limit: number): Promise<readonly FeedRow[]>
  /** Those of the given numbers that have ended. */
  endedAmong(numbers: readonly number[]): Promise<readonly FeedRow[]>
  /** Numbers of those whose turns were deleted since a time, in milliseconds since the epoch. */
  releasedSince(time: number): Promise<readonly number[]>
  /** Messages of an episode as stored JSON: those of each turn, and that of each action. */
  said(
    episode: string,
  ): Promise<{ readonly observations: readonly string[]; readonly actions: readonly string[] }>
  /** The latest action of an episode, with the number of its turns. */
  lastAction(episode: string): Promise<{ readonly turn: number; readonly message: string } | undefined>
}

const columns = [
  'id',
  'run',
  'parent',
  'sample',
  'attempt',
  'task',
  'instance',
  'outcome',
  'reward',
  'turns',
  'tokens',
  'action_tokens',
  'version_min',
  'version_max',
  'created',
  'ended',
  'released',
  'success',
] as const

export function createEpisodeFeed(db: Kysely<Schema>, statements: Statements, terms: Terms): EpisodeFeed {
  const number = sql<number>`rowid`
  const all = db.selectFrom('episodes').select([...columns, number.as('number')])
  const queries = {
    after: all.where(number, '>', 0).orderBy(number).limit(1).compile(),
    ended: all.where('outcome', 'is not', null).where(number, 'in', terms.numbersIn('')).compile(),
    newest: sql<{ newest: number | null }>`select max(rowid) as newest from episodes`.compile(db),
    released: db.selectFrom('episodes').select(number.as('number')).where('released', '>=', 0).compile(),
    observations: db
      .selectFrom('observations')
      .select('messages')
      .where('episode', '=', '')
      .orderBy('turn')
      .compile(),
    actions: db.selectFrom('actions').select('message').where('episode', '=', '').orderBy('turn').compile(),
    last: db
      .selectFrom('actions')
      .select(['turn', 'message'])
      .where('episode', '=', '')
      .orderBy('turn', 'desc')
      .limit(1)
      .compile(),
  }
  return {
    changeMark: () => terms.changeMark(),
    newest: async () => (await statements.first(queries.newest, []))?.newest ?? 0,
    after: (since, limit) => statements.all(queries.after, [since, limit]),
    endedAmong: (numbers) => statements.all(queries.ended, [JSON.stringify(numbers)]),
    releasedSince: async (time) => (await statements.all(queries.released, [time])).map((row) => row.number),
    said: async (episode) => ({
      observations: (await statements.all(queries.observations, [episode])).map(({ messages }) => messages),
      actions: (await statements.all(queries.actions, [episode])).map(({ message }) => message),
    }),
    lastAction: (episode) => statements.first(queries.last, [episode, 1]),
  }
}
