/**
 * Filling the episode index from the store: rows of new episodes, endings of those that were played, and their words.
 *
 * Invariants
 * - [FILLING-1] The index has each episode once, as the store has it, however often and by however many processes it is
 *   filled; what was filled is never read again.
 * - Work is done in slices of `sliceMs`, between which requests are answered; words rest as long as they work,
 *   so that they take half of a core at most, and that only while there is something new.
 * - A store whose numbers went back, as after a repair, is indexed again.
 * - Words of an episode are bounded: of a longer one the beginning is found.
 * - System prompts and lists of tools are left out: all episodes of a task have the same.
 * - Pure, bounded, and never throws: what cannot be read has no words.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as rest } from 'node:timers/promises'
import { isBranchId } from '../../identity/identity.ts'
import type { AssistantMessage, Message } from '../../messages/message.ts'
import type { EpisodeFeed, FeedRow } from '../../storage/trajectories/episode-feed.ts'
import type { EpisodeKind } from '../contract/episodes.ts'

/** Short beside what a page notices. */
const sliceMs = 12

const rowsAtOnce = 500

/** Episodes that are played now; more were left behind by processes that are gone, and are looked at now and then. */
const mostPlayed = 2000

/** How often it is looked for turns that retention has removed. */
const releasedEveryMs = 60_000

export interface Filling {
  /** Takes in what is new of rows; settles when the table is as the store was. */
  rows(): Promise<void>
  /** Takes in words until there are none left, or it is aborted. */
  words(signal: AbortSignal): Promise<void>
  /** How far words have come. */
  state(): { readonly indexed: number; readonly episodes: number }
}

export function createFilling(feed: EpisodeFeed, database: DatabaseSync): Filling {
  const statements = statementsOn(database)
  let running: Promise<void> | undefined
  let markSeen: number | string = -1
  let [releasedSeen, lookedForReleased] = [0, Number.NEGATIVE_INFINITY]

  async function takeRows(): Promise<void> {
    const mark = await feed.changeMark()
    if (mark === markSeen) return
    if ((await feed.newest()) < statements.newest()) statements.forgetAll()
    const ended = await feed.endedAmong(statements.played(mostPlayed))
    // Most looks find none, and a transaction keeps others from writing.
    if (ended.length > 0) statements.put(ended)
    let since = performance.now()
    for (;;) {
      const rows = await feed.after(statements.newest(), rowsAtOnce)
      if (rows.length === 0) break
      statements.put(rows)
      if (performance.now() - since < sliceMs) continue
      await nextTurn()
      since = performance.now()
    }
    await takeReleased()
    markSeen = mark
  }

  async function takeReleased(): Promise<void> {
    if (performance.now() - lookedForReleased < releasedEveryMs) return
    lookedForReleased = performance.now()
    const now = Date.now()
    const numbers = await feed.releasedSince(releasedSeen)
    statements.release(numbers)
    // Another process may have stamped a little earlier than it committed.
    releasedSeen = now - releasedEveryMs
  }

  async function takeWords(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const since = performance.now()
      const unsaid = statements.unsaid(rowsAtOnce)
      if (unsaid.length === 0) return
      const found: { readonly number: number; readonly words: string }[] = []
      for (const { number, id } of unsaid) {
        found.push({ number, words: wordsOf(await feed.said(id)) })
        if (performance.now() - since >= sliceMs) break
      }
      statements.say(found)
      await rest(performance.now() - since, undefined, { signal }).catch(() => undefined)
    }
  }

  return {
    rows: () => (running ??= takeRows().finally(() => (running = undefined))),
    words: takeWords,
    state: () => statements.state(),
  }
}

/** The statements that filling uses. */
function statementsOn(database: DatabaseSync) {
  const places = new Array(21).fill('?').join(', ')
  const put = database.prepare(`insert into episodes values (${places})
    on conflict (number) do update set outcome = excluded.outcome, reward = excluded.reward, turns = excluded.turns,
      tokens = excluded.tokens, action_tokens = excluded.action_tokens, version_min = excluded.version_min,
      version_max = excluded.version_max, ended = excluded.ended, won = excluded.won, kept = excluded.kept,
      said = excluded.said
    where episodes.outcome is null`)
  const newest = database.prepare('select max(number) as newest from episodes')
  const played = database.prepare(
    'select number from episodes where outcome is null order by number desc limit ?',
  )
  const unsaid = database.prepare(
    'select number, id from episodes where said = 0 order by number desc limit ?',
  )
  const release = database.prepare('update episodes set kept = 0 where number = ?')
  const isUnsaid = database.prepare('select 1 from episodes where number = ? and said = 0')
  const say = database.prepare('insert into words (rowid, said) values (?, ?)')
  const mark = database.prepare('update episodes set said = 1 where number = ?')
  const state = database.prepare(
    'select (select count(*) from episodes where said = 0) as unsaid, (select count(*) from episodes) as episodes',
  )

  function together(work: () => void): void {
    database.exec('begin immediate')
    try {
      work()
      database.exec('commit')
    } catch (error) {
      if (database.isTransaction) database.exec('rollback')
      throw error
    }
  }

  return {
    newest: () => Number(newest.get()?.newest ?? 0),
    played: (limit: number) => numbersOf(played, limit),
    put: (rows: readonly FeedRow[]) =>
      together(() => {
        for (const row of rows) put.run(...valuesOf(row))
      }),
    release: (numbers: readonly number[]) =>
      together(() => {
        for (const number of numbers) release.run(number)
      }),
    unsaid: (limit: number) =>
      unsaid.all(limit).map(({ number, id }) => ({ number: Number(number), id: String(id) })),
    say: (found: readonly { readonly number: number; readonly words: string }[]) =>
      together(() => {
        for (const { number, words } of found) {
          // Another process that shows the home may have been faster.
          if (isUnsaid.get(number) === undefined) continue
          say.run(number, words)
          mark.run(number)
        }
      }),
    forgetAll: () =>
      together(() => {
        database.exec('delete from episodes; drop table words')
        database.exec(
          `create virtual table words using fts5 (said, content = '', contentless_delete = 1,
            tokenize = "unicode61 remove_diacritics 2 tokenchars '_'")`,
        )
      }),
    state() {
      const { unsaid = 0, episodes = 0 } = state.get() ?? {}
      return { indexed: Number(episodes) - Number(unsaid), episodes: Number(episodes) }
    },
  }
}

function numbersOf(statement: StatementSync, limit: number): readonly number[] {
  return statement.all(limit).map(({ number }) => Number(number))
}

/** In the order of the table's columns. Words of an episode are taken in once it has ended. */
function valuesOf(row: FeedRow) {
  const isPlayed = row.outcome === null
  const isKept = row.released === null
  return [
    row.number,
    row.id,
    row.run,
    row.parent,
    kindOf(row.parent),
    row.sample,
    row.attempt,
    row.task,
    row.instance,
    row.outcome,
    row.reward,
    row.turns,
    row.tokens,
    row.action_tokens,
    row.version_min,
    row.version_max,
    row.created,
    row.ended,
    row.success,
    Number(isKept),
    isPlayed || !isKept ? 1 : 0,
  ]
}

/** The kind of work that an episode is a sample of, by the id of its parent. */
export function kindOf(parent: string): EpisodeKind {
  if (isBranchId(parent)) return 'branch'
  return /^[^/]+\/e-/.test(parent) ? 'evaluation' : 'group'
}

/** Characters of an episode; of a longer one the beginning counts. */
const longest = 64 * 1024

/** @param said JSON of the messages of each observation, and of each action's message */
export function wordsOf(said: {
  readonly observations: readonly string[]
  readonly actions: readonly string[]
}): string {
  const parts: string[] = []
  let length = 0
  const turns = Math.max(said.observations.length, said.actions.length)
  for (let turn = 0; turn < turns && length < longest; turn++)
    for (const text of [observed(said.observations[turn]), acted(said.actions[turn])]) {
      const part = text.slice(0, longest - length)
      length += part.length
      if (part !== '') parts.push(part)
    }
  return parts.join('\n')
}

function observed(json: string | undefined): string {
  const messages = read(json)
  if (!Array.isArray(messages)) return ''
  return messages.flatMap((message: Partial<Message> | null) => textOf(message)).join('\n')
}

function textOf(message: Partial<Message> | null): readonly string[] {
  const { role, content } = message ?? {}
  return role === 'system' || typeof content !== 'string' ? [] : [content]
}

function acted(json: string | undefined): string {
  const message = read(json) as Partial<AssistantMessage> | null | undefined
  const { content, tool_calls: calls } = message ?? {}
  const called = Array.isArray(calls) ? calls.map((call) => textsIn(call).join(' ')) : []
  return [typeof content === 'string' ? content : '', ...called].join('\n')
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

function read(json: string | undefined): unknown {
  if (json === undefined) return undefined
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
