/**
 * The episode index: filtering, sorting and searching the episodes of a home.
 *
 * Invariants
 * - [EPISODE-INDEX-1] A row is where its filter lets it through, and nowhere else; rows of one mark stay in their places
 *   while others come.
 * - Answers never wait for words: what is not indexed yet is not found yet, and `state` says how far it is.
 */
import type { SQLInputValue, SQLOutputValue } from 'node:sqlite'
import type { Outcome } from '../../learning/evaluation/outcome.ts'
import type { EpisodeFeed } from '../../storage/trajectories/episode-feed.ts'
import type { FilterTerm, NumberCondition } from '../contract/episode-filter.ts'
import type { EpisodeKind, EpisodeRow, EpisodeSort } from '../contract/episodes.ts'
import type { SearchState } from '../contract/home.ts'
import { createFilling } from './filling.ts'
import { openIndexFile } from './index-file.ts'
import { type Condition, conditionOf, sortColumns } from './question.ts'

/** A row without what only the store knows. */
export type IndexedEpisode = Omit<EpisodeRow, 'update'> & { readonly number: number }

export interface EpisodeStretch {
  readonly sort: EpisodeSort
  readonly descending: boolean
  readonly offset: number
  readonly limit: number
  readonly mark: number | undefined
}

export interface EpisodeIndex extends AsyncDisposable {
  /** Takes in what is new. */
  refresh(): Promise<void>
  /** @param parentsOf groups that the updates of a condition have consumed */
  find(
    terms: readonly FilterTerm[],
    stretch: EpisodeStretch,
    parentsOf: (update: NumberCondition) => readonly string[],
  ): { readonly rows: readonly IndexedEpisode[]; readonly total: number; readonly mark: number }
  /** Episodes that ended after a time, the latest first. */
  endedSince(time: number, limit: number): readonly IndexedEpisode[]
  /** Episodes that play on from a turn of one, the latest 500. */
  branchesOf(episode: string): readonly IndexedEpisode[]
  /** Episodes of a run that are played, the latest first, and how many there are. */
  played(run: string, limit: number): { readonly rows: readonly IndexedEpisode[]; readonly count: number }
  /** Names for choices: each that occurs, at most 200. */
  known(): { readonly runs: readonly string[]; readonly tasks: readonly string[] }
  state(): SearchState
}

const mostNames = 200
/** Questions whose rows are kept in their order while a page scrolls: 8 bytes a row. */
const mostOrders = 8

/**
 * The numbers of the rows for which all conditions hold, as one JSON text. Whatever a filter asks for, one pass over the table
 * costs less than going through the index of a sort and looking each row up; without one the index has it all.
 */
function orderedBy(
  conditions: readonly Condition[],
  { sort, descending }: Pick<EpisodeStretch, 'sort' | 'descending'>,
): Condition {
  const where = conditions.map(({ sql }) => `(${sql})`).join(' and ')
  const direction = descending ? 'desc' : 'asc'
  const column = `${conditions.length === 1 ? '' : '+'}${sortColumns[sort]}`
  return {
    sql: `select json_group_array(number) as numbers from (
      select number from episodes where ${where} order by ${column} ${direction}, number ${direction}
    )`,
    values: conditions.flatMap(({ values }) => values),
  }
}

export function openEpisodeIndex(of: {
  readonly store: string
  readonly scope: string
  readonly feed: EpisodeFeed
  readonly folder?: string
}): EpisodeIndex {
  const file = openIndexFile(of)
  const { database } = file
  const filling = createFilling(of.feed, database)
  const closing = new AbortController()
  let words: Promise<void> | undefined
  const orders = new Map<string, Float64Array>()

  function rowsOf(sql: string, values: readonly SQLInputValue[]): readonly IndexedEpisode[] {
    return database
      .prepare(sql)
      .all(...values)
      .map(rowOf)
  }

  /** Numbers of all rows that a question lets through, in its order. */
  function numbersOf({ sql, values }: Condition): Float64Array {
    const row = database.prepare(sql).get(...values)
    return Float64Array.from(JSON.parse(String(row?.numbers ?? '[]')) as number[])
  }

  function namesIn(column: 'run' | 'task'): readonly string[] {
    // One seek of the index for each name, however many episodes have it.
    const sql = `with recursive names (name) as (
        select min(${column}) from episodes
        union all select (select min(${column}) from episodes where ${column} > name) from names where name is not null
      ) select name from names where name is not null limit ${mostNames}`
    return database
      .prepare(sql)
      .all()
      .map(({ name }) => String(name))
  }

  return {
    async refresh() {
      await filling.rows()
      words ??= filling.words(closing.signal).finally(() => (words = undefined))
    },

    find(terms, { sort, descending, offset, limit, mark }, parentsOf) {
      const upTo =
        mark ?? Number(database.prepare('select max(number) as mark from episodes').get()?.mark ?? 0)
      const question = orderedBy(
        [{ sql: 'number <= ?', values: [upTo] }, ...terms.map((term) => conditionOf(term, parentsOf))],
        { sort, descending },
      )
      const key = JSON.stringify(question)
      // A new question is queried again; a question that continues from a mark keeps its rows in their places.
      const numbers = (mark === undefined ? undefined : orders.get(key)) ?? numbersOf(question)
      orders.delete(key)
      orders.set(key, numbers)
      for (const oldest of orders.keys()) {
        if (orders.size <= mostOrders) break
        orders.delete(oldest)
      }
      const wanted = numbers.slice(offset, offset + limit)
      const found = rowsOf('select * from episodes where number in (select value from json_each(?))', [
        JSON.stringify([...wanted]),
      ])
      const byNumber = new Map(found.map((row) => [row.number, row]))
      const rows = [...wanted].flatMap((number) => byNumber.get(number) ?? [])
      return { rows, total: numbers.length, mark: upTo }
    },

    endedSince: (time, limit) =>
      rowsOf('select * from episodes where ended > ? order by ended desc limit ?', [time, limit]),

    // Ids of branches begin with the episode's and `/b`.
    branchesOf: (episode) =>
      rowsOf('select * from episodes where parent >= ? and parent < ? order by number desc limit 500', [
        `${episode}/b`,
        `${episode}/c`,
      ]),

    played(run, limit) {
      // The plus keeps SQLite from the index of runs: few episodes are played, whatever the run has played.
      const condition = 'outcome is null and +run = ?'
      const counted = database.prepare(`select count(*) as count from episodes where ${condition}`).get(run)
      return {
        rows: rowsOf(`select * from episodes where ${condition} order by number desc limit ?`, [run, limit]),
        count: Number(counted?.count ?? 0),
      }
    },

    known: () => ({ runs: namesIn('run'), tasks: namesIn('task') }),
    state: () => filling.state(),

    async [Symbol.asyncDispose]() {
      closing.abort()
      await words
      file[Symbol.dispose]()
    },
  }
}

function rowOf(row: Record<string, SQLOutputValue>): IndexedEpisode {
  const number = (name: string) => (row[name] === null ? null : Number(row[name]))
  const [oldest, newest] = [number('version_min'), number('version_max')]
  return {
    number: Number(row.number),
    episode: String(row.id),
    run: String(row.run),
    parent: String(row.parent),
    kind: String(row.kind) as EpisodeKind,
    sample: Number(row.sample),
    attempt: Number(row.attempt),
    task: String(row.task),
    instance: String(row.instance),
    outcome: row.outcome === null ? null : (String(row.outcome) as Outcome),
    reward: number('reward'),
    turns: number('turns'),
    tokens: number('tokens'),
    actionTokens: number('action_tokens'),
    versions: oldest === null || newest === null ? null : [oldest, newest],
    created: Number(row.created),
    ended: number('ended'),
    success: row.won === 1,
    kept: row.kept === 1,
  }
}
