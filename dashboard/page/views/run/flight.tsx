/** The episodes in progress with the last action of each, and the recently finished episodes. */
import type { FunctionComponent } from 'preact'
import { count, plain } from '../../../../learning/statistics/figures.ts'
import { addressOf } from '../../../contract/addresses.ts'
import type { EpisodeRow } from '../../../contract/episodes.ts'
import type { EpisodeInFlight } from '../../../contract/live.ts'
import { endedEpisodes, type Flight, flights, isConnected } from '../../live.ts'
import { OutcomeBadge } from '../../parts/badge.tsx'
import { When } from '../../parts/facts.tsx'
import { LongTable } from '../../parts/long-table.tsx'
import { Empty } from '../../parts/notice.tsx'
import { type Column, TableHead } from '../../parts/table.tsx'
import { visible } from '../../parts/visible.ts'
import { report } from '../../source.ts'

/** As the style of rows has it; one in flight says its instance below its name. */
const endedRowHeight = 34
const flightRowHeight = 52

const flightColumns: readonly Column[] = [
  { name: 'Episode' },
  { name: 'Turns', isFigures: true, class: 'short' },
  { name: 'Last action' },
  { name: 'Since', isFigures: true, class: 'time' },
]
const endedColumns: readonly Column[] = [
  { name: 'Episode' },
  { name: 'Outcome' },
  { name: 'Reward', isFigures: true, class: 'short' },
  { name: 'Turns', isFigures: true, class: 'short' },
]

export const FlightTab: FunctionComponent<{ run: string }> = ({ run }) => {
  const flight = flights.value[run]
  const ended = endedEpisodes.value[run] ?? []
  if (report !== undefined) return <Empty title="A report is a record: nothing is played in it" />
  return (
    <div class="split">
      <section aria-labelledby="in-flight">
        <div class="section-head">
          <h2 id="in-flight">In flight</h2>
          <span class="quiet small">
            {isConnected.value === true
              ? `${flight?.count === 1 ? '1 episode' : `${count(flight?.count ?? 0)} episodes`}, as played`
              : 'Connecting…'}
          </span>
        </div>
        {flight === undefined || flight.episodes.length === 0 ? (
          <div class="sheet">
            <Empty title="No episode is being played" />
          </div>
        ) : (
          <FlightTable episodes={flight.episodes} />
        )}
      </section>
      <section aria-labelledby="ended">
        <div class="section-head">
          <h2 id="ended">Ended last</h2>
          <span class="quiet small">Since this page was opened.</span>
        </div>
        {ended.length === 0 ? (
          <div class="sheet">
            <Empty title="None yet" />
          </div>
        ) : (
          <EndedTable episodes={ended} />
        )}
      </section>
    </div>
  )
}

/** Between two looks most episodes are others: the elements of their rows are used again. */
const FlightTable: FunctionComponent<{ episodes: Flight['episodes'] }> = ({ episodes }) => (
  <LongTable
    label="In flight"
    class="tall even"
    columns={flightColumns.length}
    total={episodes.length}
    rowHeight={flightRowHeight}
    head={<TableHead columns={flightColumns} />}
    row={(index, rowIndex) => <FlightLine key={index} rowIndex={rowIndex} of={episodes[index]} />}
  />
)

const FlightLine: FunctionComponent<{ rowIndex: number; of: EpisodeInFlight | undefined }> = ({
  rowIndex,
  of,
}) => {
  if (of === undefined) return null
  const { episode, instance, turns, lastAction, created } = of
  return (
    <tr class="double" aria-rowindex={rowIndex}>
      <th scope="row">
        <a class="cut" href={addressOf({ view: 'episode', episode })}>
          {withoutRun(episode)}
        </a>
        <div class="quiet small cut">{visible(instance)}</div>
      </th>
      <td class="figures">{turns}</td>
      <td>
        <code class="cut">{visible(lastAction ?? '')}</code>
      </td>
      <td class="figures">
        <When at={created} />
      </td>
    </tr>
  )
}

const EndedTable: FunctionComponent<{ episodes: readonly EpisodeRow[] }> = ({ episodes }) => (
  <LongTable
    label="Ended last"
    class="tall even"
    columns={endedColumns.length}
    total={episodes.length}
    rowHeight={endedRowHeight}
    head={<TableHead columns={endedColumns} />}
    row={(index, rowIndex) => <EndedLine key={index} rowIndex={rowIndex} of={episodes[index]} />}
  />
)

const EndedLine: FunctionComponent<{ rowIndex: number; of: EpisodeRow | undefined }> = ({ rowIndex, of }) => {
  if (of === undefined) return null
  const { episode, outcome, reward, turns } = of
  return (
    <tr aria-rowindex={rowIndex}>
      <th scope="row">
        <a class="cut" href={addressOf({ view: 'episode', episode })}>
          {withoutRun(episode)}
        </a>
      </th>
      <td>
        <OutcomeBadge outcome={outcome} />
      </td>
      <td class="figures">{reward === null ? '–' : plain(reward)}</td>
      <td class="figures">{turns ?? '–'}</td>
    </tr>
  )
}

/** The part of an id after its run. @example withoutRun('first/g1/s0/a0') // 'g1/s0/a0' */
export function withoutRun(id: string): string {
  return id.slice(id.indexOf('/') + 1)
}
