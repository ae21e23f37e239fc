/** Samples as columns and turns as rows: where they part is seen at a glance. */
import type { FunctionComponent } from 'preact'
import { plain } from '../../../../learning/statistics/figures.ts'
import { addressOf } from '../../../contract/addresses.ts'
import type { GroupAnswer, GroupSample } from '../../../contract/group.ts'
import { OutcomeBadge, Signed } from '../../parts/badge.tsx'
import { Scrolls } from '../../parts/table.tsx'
import { visible } from '../../parts/visible.ts'
import { type Difference, likenesses } from './likeness.ts'

interface MatrixProps {
  readonly samples: readonly GroupSample[]
  readonly learnt: GroupAnswer['learnt']
  readonly partsAt: number | null
  readonly difference: Difference | null
}

export const SampleMatrix: FunctionComponent<MatrixProps> = ({ samples, learnt, partsAt, difference }) => {
  const rows = likenesses(samples.map(({ actions }) => actions))
  return (
    <Scrolls class="section" label="Samples side by side">
      <table class="matrix">
        <thead>
          <tr>
            <th class="figures">Turn</th>
            {samples.map((sample) => (
              <SampleHead key={sample.episode} sample={sample} learnt={learnt} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, turn) => (
            <tr key={turn} class={turn === partsAt ? 'parting' : ''}>
              <th scope="row" class="figures">
                {turn}
              </th>
              {samples.map((sample, column) => (
                <Action
                  key={sample.episode}
                  sample={sample}
                  turn={turn}
                  likeness={row[column] ?? null}
                  isDecisive={sample.success && difference?.turn === turn}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolls>
  )
}

const SampleHead: FunctionComponent<{ sample: GroupSample; learnt: GroupAnswer['learnt'] }> = ({
  sample,
  learnt,
}) => (
  <th scope="col" class={sample.success ? 'is-won' : ''}>
    <a href={addressOf({ view: 'episode', episode: sample.episode })}>Sample {sample.sample}</a>
    <div class="sample-facts">
      <OutcomeBadge outcome={sample.outcome} isSuccess={sample.success} />
    </div>
    <div class="sample-facts">
      <span title="Reward">{sample.reward === null ? '–' : plain(sample.reward)}</span>
      <span>
        A <SampleAdvantage sample={sample} learnt={learnt} />
      </span>
    </div>
  </th>
)

interface ActionProps {
  readonly sample: GroupSample
  readonly turn: number
  readonly likeness: number | null
  /** Whether this is what a winner did otherwise than all that lost. */
  readonly isDecisive: boolean
}

const Action: FunctionComponent<ActionProps> = ({
  sample: { episode, actions },
  turn,
  likeness,
  isDecisive,
}) => {
  if (likeness === null) return <td class="over" />
  return (
    <td class={`like-${Math.min(likeness, 5)} ${isDecisive ? 'decisive' : ''}`}>
      {isDecisive ? <span class="unseen">Different action: </span> : null}
      <a href={addressOf({ view: 'episode', episode, turn })}>
        <code>{visible(actions[turn] ?? '')}</code>
      </a>
    </td>
  )
}

interface AdvantageProps {
  readonly sample: GroupSample
  readonly learnt: GroupAnswer['learnt']
}

/** The advantage of a sample: in the update, or among its group until an update has consumed that. */
export const SampleAdvantage: FunctionComponent<AdvantageProps> = ({
  sample: { advantage, groupAdvantage },
  learnt,
}) =>
  learnt === 'not_kept' ? (
    <span class="quiet" title="The update left no record of what it learnt">
      not kept
    </span>
  ) : (
    <span title={learnt === undefined ? 'Advantage within the group' : 'Advantage in the update'}>
      <Signed value={advantage ?? groupAdvantage} />
    </span>
  )
