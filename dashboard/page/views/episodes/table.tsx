/** The table of all episodes that were found, each with what it came to. */
import type { FunctionComponent } from 'preact'
import { count, plain } from '../../../../learning/statistics/figures.ts'
import { addressOf } from '../../../contract/addresses.ts'
import type { EpisodeRow, EpisodeSort } from '../../../contract/episodes.ts'
import { OutcomeBadge } from '../../parts/badge.tsx'
import { When } from '../../parts/facts.tsx'
import { LongTable, stretchesOf } from '../../parts/long-table.tsx'
import { visible } from '../../parts/visible.ts'
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
  /** Left out on a telephone, so that what an episode came to is seen without scrolling. */
  readonly isWide?: boolean
}[] = [
  { text: 'Episode' },
  { text: 'Task', sort: 'task', isWide: true },
  { text: 'Instance', sort: 'instance', isWide: true },
  { text: 'Outcome', sort: 'outcome' },
  { text: 'Reward', sort: 'reward', isNumber: true },
  { text: 'Turns', sort: 'turns', isNumber: true },
  { text: 'Tokens', sort: 'tokens', isNumber: true, isWide: true },
  { text: 'Versions', sort: 'version', isNumber: true, isWide: true },
  { text: 'Group', isWide: true },
  { text: 'Update', isNumber: true, isWide: true },
  { text: 'Ended', sort: 'ended', isNumber: true, isWide: true },
]

export const EpisodeTable: FunctionComponent<TableProps> = ({ rows, filter, sort, descending }) => (
  <LongTable
    label="Episodes"
    columns={columns.length}
    total={rows.head?.total ?? 0}
    rowHeight={rowHeight}
    of={JSON.stringify([filter, sort, descending])}
    head={<Head filter={filter} sort={sort} descending={descending} />}
    row={(index, rowIndex) => <Line key={index} rowIndex={rowIndex} row={rows.at(index)} />}
    onDrawn={(drawn) => rows.need(stretchesOf(drawn))}
  />
)

const Head: FunctionComponent<Omit<TableProps, 'rows'>> = ({ filter, sort, descending }) => (
  <thead>
    <tr aria-rowindex={1}>
      {columns.map(({ text, sort: by, isNumber, isWide }) => (
        <th
          key={text}
          class={`${isNumber === true ? 'figures' : ''} ${isWide === true ? 'on-wide' : ''}`.trim()}
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

const Line: FunctionComponent<{ rowIndex: number; row: EpisodeRow | undefined }> = ({ rowIndex, row }) => {
  if (row === undefined)
    return (
      <tr aria-rowindex={rowIndex}>
        <td colSpan={columns.length} class="quiet">
          …
        </td>
      </tr>
    )
  const { episode, run, parent, update } = row
  return (
    <tr aria-rowindex={rowIndex}>
      <th scope="row" class="tight">
        <a class="cut" title={episode} href={addressOf({ view: 'episode', episode })}>
          {episode}
        </a>
      </th>
      <td class="on-wide">{row.task}</td>
      <td class="on-wide">
        <span class="cut" title={visible(row.instance)}>
          {visible(row.instance)}
        </span>
      </td>
      <td>
        <OutcomeBadge outcome={row.outcome} />
      </td>
      <td class="figures">{row.reward === null ? '–' : plain(row.reward)}</td>
      <td class="figures">{row.turns ?? '–'}</td>
      <td class="figures on-wide">{row.tokens === null ? '–' : count(row.tokens)}</td>
      <td class="figures on-wide">{versionsText(row.versions)}</td>
      <td class="on-wide">
        <a href={addressOf({ view: 'group', parent })}>{parent.slice(run.length + 1)}</a>
      </td>
      <td class="figures on-wide">
        {update === null ? '–' : <a href={addressOf({ view: 'run', run, update })}>{update}</a>}
      </td>
      <td class="figures on-wide">{row.ended === null ? '–' : <When at={row.ended} />}</td>
    </tr>
  )
}

/** @example versionsText([3, 5]) // 'v3–5' */
export function versionsText(versions: readonly [number, number] | null): string {
  if (versions === null) return '–'
  const [oldest, newest] = versions
  return oldest === newest ? `v${oldest}` : `v${oldest}–${newest}`
}
