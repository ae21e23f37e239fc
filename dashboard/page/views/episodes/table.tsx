/** The table of episodes, of which only the rows that are seen are in the document. */
import type { FunctionComponent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { count, plain } from '../../../../learning/figures.ts'
import { addressOf } from '../../../contract/addresses.ts'
import type { EpisodeRow, EpisodeSort } from '../../../contract/episodes.ts'
import { OutcomeBadge } from '../../parts/badge.tsx'
import { drawnRows, stretchesOf } from '../../parts/stretches.ts'
import { visible } from '../../parts/visible.ts'
import { When } from '../../parts/when.tsx'
import type { EpisodeRows } from './rows.ts'

const rowHeight = 34

interface TableProps {
  readonly rows: EpisodeRows
  readonly filter: string
  readonly sort: EpisodeSort
  readonly descending: boolean
}

/** Columns with the order that they stand for; a number is read from the largest. */
const columns: readonly {
  readonly text: string
  readonly sort?: EpisodeSort
  readonly isNumber?: boolean
}[] = [
  { text: 'Episode' },
  { text: 'Task', sort: 'task' },
  { text: 'Instance', sort: 'instance' },
  { text: 'Outcome', sort: 'outcome' },
  { text: 'Reward', sort: 'reward', isNumber: true },
  { text: 'Turns', sort: 'turns', isNumber: true },
  { text: 'Tokens', sort: 'tokens', isNumber: true },
  { text: 'Versions', sort: 'version', isNumber: true },
  { text: 'Group' },
  { text: 'Update', isNumber: true },
  { text: 'Ended', sort: 'ended', isNumber: true },
]

export const EpisodeTable: FunctionComponent<TableProps> = ({ rows, filter, sort, descending }) => {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  const total = rows.head?.total ?? 0
  const { first, end } = drawnRows({ ...view, rowHeight }, total)
  useEffect(() => {
    box.current?.scrollTo(0, 0)
  }, [filter, sort, descending])
  useEffect(() => rows.need(stretchesOf({ first, end })))
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const watcher = new ResizeObserver(() =>
      setView({ top: element.scrollTop, height: element.clientHeight }),
    )
    watcher.observe(element)
    return () => watcher.disconnect()
  }, [])
  return (
    <section
      class="scrolls tall"
      ref={box}
      aria-label="Episodes"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop: top, clientHeight: height } }) => setView({ top, height })}
    >
      <table aria-rowcount={total + 1}>
        <Head filter={filter} sort={sort} descending={descending} />
        <tbody>
          <Filler rows={first} />
          {Array.from({ length: end - first }, (_, at) => (
            <Line key={first + at} index={first + at} row={rows.at(first + at)} />
          ))}
          <Filler rows={total - end} />
        </tbody>
      </table>
    </section>
  )
}

const Head: FunctionComponent<Omit<TableProps, 'rows'>> = ({ filter, sort, descending }) => (
  <thead>
    <tr aria-rowindex={1}>
      {columns.map(({ text, sort: by, isNumber }) => (
        <th
          key={text}
          class={isNumber === true ? 'figures' : ''}
          aria-sort={by === sort ? (descending ? 'descending' : 'ascending') : undefined}
        >
          {by === undefined ? (
            text
          ) : (
            <a
              href={addressOf({
                view: 'episodes',
                filter,
                sort: by,
                descending: by === sort ? !descending : isNumber === true,
              })}
            >
              {text} <span aria-hidden="true">{by === sort ? (descending ? '↓' : '↑') : ''}</span>
            </a>
          )}
        </th>
      ))}
    </tr>
  </thead>
)

/** Stands for rows that are not drawn. */
const Filler: FunctionComponent<{ rows: number }> = ({ rows }) =>
  rows === 0 ? null : (
    <tr class="filler">
      <td colSpan={columns.length} style={{ height: `${rows * rowHeight}px` }} />
    </tr>
  )

const Line: FunctionComponent<{ index: number; row: EpisodeRow | undefined }> = ({ index, row }) => {
  if (row === undefined)
    return (
      <tr aria-rowindex={index + 2}>
        <td colSpan={columns.length} class="quiet">
          …
        </td>
      </tr>
    )
  const { episode, run, parent, update } = row
  return (
    <tr aria-rowindex={index + 2}>
      <th scope="row" class="tight">
        <a href={addressOf({ view: 'episode', episode })}>{episode}</a>
      </th>
      <td>{row.task}</td>
      <td>
        <span class="cut" title={visible(row.instance)}>
          {visible(row.instance)}
        </span>
      </td>
      <td>
        <OutcomeBadge outcome={row.outcome} />
      </td>
      <td class="figures">{row.reward === null ? '–' : plain(row.reward)}</td>
      <td class="figures">{row.turns ?? '–'}</td>
      <td class="figures">{row.tokens === null ? '–' : count(row.tokens)}</td>
      <td class="figures">{versionsText(row.versions)}</td>
      <td>
        <a href={addressOf({ view: 'group', parent })}>{parent.slice(run.length + 1)}</a>
      </td>
      <td class="figures">
        {update === null ? '–' : <a href={addressOf({ view: 'run', run, update })}>{update}</a>}
      </td>
      <td class="figures">{row.ended === null ? '–' : <When at={row.ended} />}</td>
    </tr>
  )
}

/** @example versionsText([3, 5]) // 'v3–5' */
export function versionsText(versions: readonly [number, number] | null): string {
  if (versions === null) return '–'
  const [oldest, newest] = versions
  return oldest === newest ? `v${oldest}` : `v${oldest}–${newest}`
}
