/** What a run plays at this moment, with the last action of each episode, and the episodes that ended last. */
import type { FunctionComponent } from 'preact'
import { count, plain } from '../../../../learning/figures.ts'
import { addressOf } from '../../../contract/addresses.ts'
import type { EpisodeRow } from '../../../contract/episodes.ts'
import { endedEpisodes, type Flight, flights, isConnected } from '../../live.ts'
import { OutcomeBadge } from '../../parts/badge.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Table } from '../../parts/table.tsx'
import { visible } from '../../parts/visible.ts'
import { When } from '../../parts/when.tsx'
import { report } from '../../source.ts'

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
              ? `${count(flight?.count ?? 0)} episodes, as they are played`
              : 'Connecting…'}
          </span>
        </div>
        {flight === undefined || flight.episodes.length === 0 ? (
          <div class="sheet">
            <Empty title="No episode is being played" />
          </div>
        ) : (
          <FlightTable flight={flight} />
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

const FlightTable: FunctionComponent<{ flight: Flight }> = ({ flight }) => (
  <Table
    label="In flight"
    columns={[
      'Episode',
      { name: 'Turns', isFigures: true },
      'Last action',
      { name: 'Since', isFigures: true },
    ]}
  >
    {flight.episodes.map(({ episode, instance, turns, lastAction, created }) => (
      <tr key={episode}>
        <th scope="row">
          <a href={addressOf({ view: 'episode', episode })}>{withoutRun(episode)}</a>
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
    ))}
  </Table>
)

const EndedTable: FunctionComponent<{ episodes: readonly EpisodeRow[] }> = ({ episodes }) => (
  <Table
    label="Ended last"
    columns={['Episode', 'Outcome', { name: 'Reward', isFigures: true }, { name: 'Turns', isFigures: true }]}
  >
    {episodes.map(({ episode, outcome, reward, turns }) => (
      <tr key={episode}>
        <th scope="row">
          <a href={addressOf({ view: 'episode', episode })}>{withoutRun(episode)}</a>
        </th>
        <td>
          <OutcomeBadge outcome={outcome} />
        </td>
        <td class="figures">{reward === null ? '–' : plain(reward)}</td>
        <td class="figures">{turns ?? '–'}</td>
      </tr>
    ))}
  </Table>
)

/** What an id says within its run. @example withoutRun('first/g1/s0/a0') // 'g1/s0/a0' */
export function withoutRun(id: string): string {
  return id.slice(id.indexOf('/') + 1)
}
