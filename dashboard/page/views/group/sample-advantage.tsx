/** The advantage of a sample: in the update, or among its group until an update has consumed that. */
import type { FunctionComponent } from 'preact'
import type { GroupAnswer, GroupSample } from '../../../contract/group.ts'
import { Signed } from '../../parts/badge.tsx'

interface AdvantageProps {
  readonly sample: GroupSample
  readonly learnt: GroupAnswer['learnt']
}

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
