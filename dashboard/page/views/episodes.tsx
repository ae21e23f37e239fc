/**
 * The table of all episodes: filtered, sorted and searched by the server, and as long as it needs to be.
 *
 * Invariants
 * - Asked for at most once in `pause`, and only after episodes ended or updates were made.
 * - Zero where the table is of this moment, and for a table whose filter or moment has changed since.
 */
import type { FunctionComponent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { count } from '../../../learning/statistics/figures.ts'
import { fieldValues, numberFields, parseFilter, textFields } from '../../contract/episode-filter.ts'
import type { EpisodeSort, EpisodesAnswer } from '../../contract/episodes.ts'
import { episodesRoute, homeRoute } from '../../contract/routes.ts'
import { useAnswer } from '../answer.ts'
import { endedCount, news, searchState } from '../live.ts'
import { choose } from '../navigation.ts'
import { Empty, FaultNotice } from '../parts/notice.tsx'
import { ask } from '../source.ts'
import { type EpisodeRows, useEpisodeRows } from './episodes/rows.ts'
import { EpisodeTable } from './episodes/table.tsx'

interface EpisodesProps {
  readonly filter: string
  readonly sort?: EpisodeSort | undefined
  readonly descending?: boolean | undefined
}

/** A filter is asked for when its writer pauses. */
const typingPause = 250

export const EpisodesView: FunctionComponent<EpisodesProps> = ({
  filter,
  sort = 'created',
  descending = true,
}) => {
  const [edition, setEdition] = useState(0)
  const question = { filter, sort, descending }
  const rows = useEpisodeRows(question, edition)
  const { head, fault } = rows
  return (
    <>
      <div class="head">
        <div class="head-title">
          <h1>Episodes</h1>
          <span class="quiet">{head === undefined ? '' : `${count(head.total)} found`}</span>
        </div>
        <NewerEpisodes filter={filter} head={head} onShow={() => setEdition(edition + 1)} />
      </div>
      <FilterField filter={filter} known={head?.known} />
      <SearchNotice />
      {fault === undefined ? null : <FaultNotice fault={fault} />}
      {head?.fault === undefined ? null : (
        <p class="notice mixed" role="status">
          <code>{filter.slice(head.fault.begin, head.fault.end)}</code>: {head.fault.message}
        </p>
      )}
      {head === undefined ? (
        <p class="quiet" role="status">
          {fault === undefined ? 'Reading…' : ''}
        </p>
      ) : head.total === 0 && head.fault === undefined ? (
        <div class="sheet">
          <Empty title="No episode is like this">
            <span>Take a condition away, or begin again without a filter.</span>
            <button type="button" class="button" onClick={() => choose({ filter: '' })}>
              Show all episodes
            </button>
          </Empty>
        </div>
      ) : (
        <EpisodeTable rows={rows} filter={filter} sort={sort} descending={descending} />
      )}
    </>
  )
}

interface NewerProps {
  readonly filter: string
  readonly head: EpisodeRows['head']
  readonly onShow: () => void
}

/** By itself, because it looks again with every episode that ends: the table does not. */
const NewerEpisodes: FunctionComponent<NewerProps> = ({ filter, head, onShow }) => {
  const newer = useNewerEpisodes(filter, head)
  return (
    <span role="status">
      {newer === 0 ? null : (
        <button type="button" class="button" onClick={onShow}>
          {count(newer)} new – show
        </button>
      )}
    </span>
  )
}

interface FieldProps {
  readonly filter: string
  readonly known: { readonly runs: readonly string[]; readonly tasks: readonly string[] } | undefined
}

const FilterField: FunctionComponent<FieldProps> = ({ filter, known }) => {
  const [text, setText] = useState(filter)
  // An address that changed otherwise, by a link or the way back, is what is shown.
  useEffect(() => setText(filter), [filter])
  useEffect(() => {
    if (text === filter) return
    const timer = setTimeout(() => choose({ filter: text }), typingPause)
    return () => clearTimeout(timer)
  }, [text, filter])
  const parsed = parseFilter(text)
  return (
    <search>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          choose({ filter: text })
        }}
      >
        <input
          class="field grows mono"
          type="search"
          placeholder="task:alfworld reward<1 turns>=5 &quot;soapbar 1&quot;"
          aria-label="Filter episodes, or search their messages and actions"
          aria-invalid={'fault' in parsed}
          list="filter-words"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <datalist id="filter-words">
          {suggestionsFor(text, known).map((word) => (
            <option key={word} value={word} />
          ))}
        </datalist>
        {['is:won', 'is:lost', 'kind:evaluation'].map((word) => (
          <button
            type="button"
            key={word}
            class="button"
            aria-pressed={text.split(/\s+/).includes(word)}
            onClick={() => choose({ filter: toggled(text, word) })}
          >
            {word}
          </button>
        ))}
        <details class="help">
          <summary>How to filter</summary>
          <div class="sheet help-text">
            <p>
              A word is searched for in messages and actions; quotes hold words together. Conditions:{' '}
              {textFields.map((field) => `${field}:`).join(' ')}{' '}
              {numberFields.map((field) => `${field}<`).join(' ')} with <code>&lt; &lt;= = &gt;= &gt;</code>.
              Commas give alternatives, a minus turns a condition round.
            </p>
            <p class="quiet">
              <code>is:</code> knows {fieldValues.is.join(', ')}; <code>outcome:</code>{' '}
              {fieldValues.outcome.join(', ')}.
            </p>
          </div>
        </details>
      </form>
    </search>
  )
}

/** The filter with the word, or without it where it has it. */
export function toggled(filter: string, word: string): string {
  const words = filter.split(/\s+/).filter((each) => each !== '')
  return (words.includes(word) ? words.filter((each) => each !== word) : [...words, word]).join(' ')
}

/** Completions of the last word. */
export function suggestionsFor(text: string, known: FieldProps['known']): readonly string[] {
  const before = text.slice(0, text.length - (/\S*$/.exec(text)?.[0].length ?? 0))
  const words = [
    ...(known?.runs ?? []).map((name) => `run:${name}`),
    ...(known?.tasks ?? []).map((name) => `task:${name}`),
    ...fieldValues.outcome.map((name) => `outcome:${name}`),
    ...fieldValues.kind.map((name) => `kind:${name}`),
    ...fieldValues.is.map((name) => `is:${name}`),
    ...numberFields.map((name) => `${name}>=`),
  ]
  return words.map((word) => `${before}${word}`)
}

/** Texts that the search has not read yet are not found: the reader must know. */
const SearchNotice: FunctionComponent = () => {
  const { answer } = useAnswer(homeRoute())
  const state = searchState.value ?? answer?.search
  if (state === undefined || state.indexed >= state.episodes) return null
  return (
    <p class="notice" role="status">
      The search has read {count(state.indexed)} of {count(state.episodes)} episodes.
    </p>
  )
}

/** New episodes are only counted here, so this need not be quick. */
const pause = 10_000

/** @param head of the table; undefined before it has one */
function useNewerEpisodes(filter: string, head: Pick<EpisodesAnswer, 'total' | 'mark'> | undefined): number {
  const [found, setFound] = useState<{ readonly of: string; readonly newer: number }>()
  const reason = `${news.value} ${endedCount.value}`
  const of = `${filter} ${head?.mark}`
  const asking = useRef<{ readonly of: string; isWaiting: boolean }>(undefined)
  const total = head?.total
  useEffect(() => {
    const own = { of, isWaiting: false }
    asking.current = own
    return () => {
      asking.current = undefined
    }
  }, [of])
  // The news at the time when the table was new.
  const first = useRef({ of: '', reason: '' })
  useEffect(() => {
    if (first.current.of !== of) first.current = { of, reason }
    const own = asking.current
    if (total === undefined || own === undefined || own.isWaiting || first.current.reason === reason) return
    own.isWaiting = true
    setTimeout(async () => {
      own.isWaiting = false
      if (asking.current !== own) return
      // The table itself says what is wrong.
      const now = await ask(episodesRoute({ filter, limit: 1 })).catch(() => undefined)
      if (now !== undefined) setFound({ of, newer: Math.max(0, now.total - total) })
    }, pause)
  }, [of, reason, total])
  return found?.of === of ? found.newer : 0
}
