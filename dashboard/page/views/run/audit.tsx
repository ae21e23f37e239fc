/** The audit trail of a run: who ordered what, and from which version on it held. */
import type { FunctionComponent } from 'preact'
import type { AuditMark } from '../../../contract/audit.ts'
import { Empty } from '../../parts/notice.tsx'
import { Section } from '../../parts/section.tsx'
import { Table } from '../../parts/table.tsx'
import { visible } from '../../parts/visible.ts'
import { When } from '../../parts/when.tsx'

export const AuditTrail: FunctionComponent<{ audit: readonly AuditMark[] }> = ({ audit }) => (
  <Section id="audit" title="Audit trail" note="The latest first.">
    {audit.length === 0 ? (
      <div class="sheet">
        <Empty title="No orders yet">
          <span>Orders of persons, programs and gates to this run are listed here.</span>
        </Empty>
      </div>
    ) : (
      <Table
        label="Audit trail"
        columns={[
          'When',
          'By',
          'Order',
          'From',
          'To',
          { name: 'Ordered at', isFigures: true },
          { name: 'Held from', isFigures: true },
          'Reason',
        ]}
      >
        {[...audit].reverse().map((entry) => (
          <tr key={entry.number}>
            <td>
              <When at={entry.time} />
            </td>
            <td>{entry.by}</td>
            <th scope="row">{entry.what}</th>
            <td>{valueText(entry.from)}</td>
            <td>{valueText(entry.to)}</td>
            <td class="figures">v{entry.version}</td>
            <td class="figures">{entry.effectVersion === null ? '–' : `v${entry.effectVersion}`}</td>
            <td>{visible(entry.reason ?? '')}</td>
          </tr>
        ))}
      </Table>
    )}
  </Section>
)

function valueText(value: AuditMark['from']): string {
  return value === null ? '–' : String(value)
}
