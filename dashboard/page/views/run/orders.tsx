/** Orders to a run, where this page may give them: the run's own validator says what it cannot follow. */
import type { FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import { orderRoute } from '../../../contract/routes.ts'
import type { AuditMark, LiveSetting, Order, RunAnswer } from '../../../contract/run.ts'
import { lookAgainAt } from '../../live.ts'
import { Command, When } from '../../parts/facts.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Section } from '../../parts/section.tsx'
import { Table } from '../../parts/table.tsx'
import { visible } from '../../parts/visible.ts'
import { PageFault, tell } from '../../source.ts'
import { configuredSuites } from './configured-suites.ts'

interface OrdersProps {
  readonly answer: RunAnswer
  readonly canSteer: boolean
}

/** The reply to the last order. */
interface Reply {
  readonly text: string
  readonly isRefusal: boolean
}

export const OrdersTab: FunctionComponent<OrdersProps> = ({ answer, canSteer }) => {
  const [reply, setReply] = useState<Reply | undefined>(undefined)
  const [isWaiting, setWaiting] = useState(false)
  if (!canSteer)
    return (
      <p class="notice section">
        This page shows and does not steer. <Command words="ui --steer" /> serves one that may give orders;{' '}
        <Command words={`pause ${answer.run}`} /> gives one too, and so do <code>continue</code>,{' '}
        <code>stop</code>, <code>set</code>, <code>checkpoint</code>, <code>rollback</code> and{' '}
        <code>promote</code> in its place.
      </p>
    )
  async function give(order: Order): Promise<void> {
    setWaiting(true)
    try {
      const { taken } = await tell(orderRoute(answer.run), order)
      setReply({ text: taken, isRefusal: false })
    } catch (error) {
      if (!(error instanceof PageFault)) throw error
      setReply({ text: error.message, isRefusal: true })
    } finally {
      setWaiting(false)
      lookAgainAt(answer.run)
    }
  }
  return (
    <Section id="orders" title="Orders">
      {reply === undefined ? null : (
        <p class={`notice ${reply.isRefusal ? 'lost' : ''}`} role="status">
          {reply.text}
        </p>
      )}
      <fieldset class="sheet orders" disabled={isWaiting}>
        <legend class="unseen">Orders to {answer.run}</legend>
        <SimpleOrders give={give} />
        <EvaluationOrders give={give} suites={configuredSuites(answer.configuration.values)} />
        <VersionOrders give={give} versions={answer.versions.map(({ version }) => version)} />
      </fieldset>
      <SettingsForm settings={answer.configuration.live} give={give} isWaiting={isWaiting} />
    </Section>
  )
}

type Give = (order: Order) => Promise<void>

const SimpleOrders: FunctionComponent<{ give: Give }> = ({ give }) => {
  const [reason, setReason] = useState('')
  const why = reason.trim()
  return (
    <div class="order-row">
      <input
        class="field"
        placeholder="Reason to pause"
        aria-label="Reason to pause, which the state and the audit trail show"
        // The server's limit.
        maxLength={500}
        value={reason}
        onInput={({ currentTarget }) => setReason(currentTarget.value)}
      />
      <OrderButton
        text="Pause"
        order={{ order: 'pause', ...(why === '' ? {} : { reason: why }) }}
        give={give}
      />
      <OrderButton text="Continue" order={{ order: 'continue' }} give={give} />
      <OrderButton text="Stop after the update" order={{ order: 'stop' }} give={give} />
      <OrderButton text="Stop at once" order={{ order: 'stop', now: true }} give={give} />
      <OrderButton text="Keep a checkpoint" order={{ order: 'checkpoint' }} give={give} />
    </div>
  )
}

const EvaluationOrders: FunctionComponent<{ give: Give; suites: readonly string[] }> = ({ give, suites }) =>
  suites.length === 0 ? null : (
    <div class="order-row">
      {suites.map((suite) => (
        <OrderButton
          key={suite}
          text={`Evaluate on ${suite}`}
          order={{ order: 'evaluate', suite }}
          give={give}
        />
      ))}
    </div>
  )

const OrderButton: FunctionComponent<{ text: string; order: Order; give: Give }> = ({
  text,
  order,
  give,
}) => (
  <button type="button" class="button" onClick={() => give(order)}>
    {text}
  </button>
)

const VersionOrders: FunctionComponent<{ give: Give; versions: readonly number[] }> = ({
  give,
  versions,
}) => {
  const [version, setVersion] = useState(versions.at(-1) ?? 0)
  return (
    <div class="order-row">
      <label class="quiet small" for="order-version">
        Version
      </label>
      <select
        id="order-version"
        class="field"
        value={version}
        onChange={({ currentTarget }) => setVersion(Number(currentTarget.value))}
      >
        {versions.map((each) => (
          <option key={each} value={each}>
            v{each}
          </option>
        ))}
      </select>
      <OrderButton text="Roll back to it" order={{ order: 'rollback', version }} give={give} />
      <OrderButton text="Promote it" order={{ order: 'promote', version }} give={give} />
    </div>
  )
}

interface FormProps {
  readonly settings: readonly LiveSetting[]
  readonly give: Give
  readonly isWaiting: boolean
}

const SettingsForm: FunctionComponent<FormProps> = ({ settings, give, isWaiting }) => {
  const [wished, setWished] = useState<Readonly<Record<string, string>>>({})
  if (settings.length === 0) return null
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    const values = Object.entries(wished).map(([key, text]) => [
      key,
      text.trim() === '' ? null : Number(text),
    ])
    await give({ order: 'set', settings: Object.fromEntries(values) })
    setWished({})
  }
  return (
    <form class="section" onSubmit={submit}>
      <div class="section-head">
        <h3>Settings that may change now</h3>
        <button type="submit" class="button primary" disabled={isWaiting || Object.keys(wished).length === 0}>
          Change {Object.keys(wished).length || ''}
        </button>
      </div>
      <Table label="Settings" columns={['Key', { name: 'Now', isFigures: true }, 'New value', 'Allowed']}>
        {settings.map(({ key, value, allowed, description }) => (
          <tr key={key}>
            <th scope="row" title={description}>
              <code>{key}</code>
            </th>
            <td class="figures">{value ?? '–'}</td>
            <td>
              <input
                class="field number"
                inputMode="decimal"
                aria-label={`New value of ${key}`}
                value={wished[key] ?? ''}
                onInput={({ currentTarget: { value: text } }) => setWished({ ...wished, [key]: text })}
              />
            </td>
            <td class="quiet small">{allowed}</td>
          </tr>
        ))}
      </Table>
    </form>
  )
}

/** The audit trail of a run: who ordered what, and from which version on it held. */
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
