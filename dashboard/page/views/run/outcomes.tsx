/** How the episodes of a run ended, and the checkpoints that it keeps. */
import type { FunctionComponent } from 'preact'
import { bytes, count } from '../../../../learning/statistics/figures.ts'
import { percent } from '../../../../learning/statistics/percent.ts'
import { addressOf } from '../../../contract/addresses.ts'
import type { RunAnswer, VersionRow } from '../../../contract/run.ts'
import { outcomeText } from '../../parts/badge.tsx'
import { When } from '../../parts/facts.tsx'
import { Section } from '../../parts/section.tsx'
import { TableHead } from '../../parts/table.tsx'

export const OutcomeSection: FunctionComponent<{ answer: RunAnswer }> = ({ answer }) => (
  <div class="split section">
    <Section id="outcomes" title="Outcomes" class="sheet">
      <OutcomeTable run={answer.run} outcomes={answer.outcomes} />
    </Section>
    <Section id="checkpoints" title="Checkpoints" note={bytes(answer.disk.checkpoints)} class="sheet">
      <CheckpointTable versions={answer.versions} />
    </Section>
  </div>
)

const OutcomeTable: FunctionComponent<{ run: string; outcomes: Readonly<Record<string, number>> }> = ({
  run,
  outcomes,
}) => {
  const rows = Object.entries(outcomes).sort(([, a], [, b]) => b - a)
  const all = rows.reduce((sum, [, episodes]) => sum + episodes, 0)
  return (
    <table class="plain-table">
      <TableHead
        columns={[
          'Outcome',
          { name: 'Episodes', isFigures: true },
          { name: 'Share', isFigures: true },
          { name: 'As a bar', isUnseen: true },
        ]}
      />
      <tbody>
        {rows.map(([outcome, episodes]) => (
          <tr key={outcome}>
            <td>
              <a href={addressOf({ view: 'episodes', filter: `run:${run} outcome:${outcome}` })}>
                {outcomeText(outcome)}
              </a>
            </td>
            <td class="figures">{count(episodes)}</td>
            <td class="figures">{percent(episodes / all)}</td>
            <td>
              <div class="progress" aria-hidden="true">
                <i style={{ width: `${(100 * episodes) / all}%` }} />
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const CheckpointTable: FunctionComponent<{ versions: readonly VersionRow[] }> = ({ versions }) => (
  <table class="plain-table">
    <TableHead
      columns={['Version', { name: 'Size', isFigures: true }, { name: 'Written', isFigures: true }]}
    />
    <tbody>
      {[...versions].reverse().map(({ version, bytes: size, time, promoted }) => (
        <tr key={version}>
          <td>
            v{version} {promoted ? <span class="badge won">promoted</span> : null}
          </td>
          <td class="figures">{bytes(size)}</td>
          <td class="figures">
            <When at={time} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
