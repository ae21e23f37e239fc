/** The configuration of a run: where it is not the default, and the whole of it. */
import type { FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import type { JsonValue } from '../../../../messages/message.ts'
import type { Difference, RunConfiguration } from '../../../contract/run.ts'
import { Section } from '../../parts/section.tsx'
import { Scrolls, Table } from '../../parts/table.tsx'

export const ConfigurationTab: FunctionComponent<{ configuration: RunConfiguration }> = ({
  configuration,
}) => (
  <>
    <Section id="differences" title="Other than the defaults">
      <Differences differences={configuration.differences} />
    </Section>
    <section class="section" aria-labelledby="whole">
      <WholeConfiguration configuration={configuration} />
    </section>
  </>
)

const Differences: FunctionComponent<{ differences: readonly Difference[] }> = ({ differences }) => {
  if (differences.length === 0) return <p class="notice">Every key has its default.</p>
  return (
    <Table label="Other than the defaults" columns={['Key', 'Here', 'Default']}>
      {differences.map(({ key, value, default: usual }) => (
        <tr key={key}>
          <th scope="row">
            <code>{key}</code>
          </th>
          <td>
            <code>{valueText(value)}</code>
          </td>
          <td class="quiet">
            <code>{valueText(usual)}</code>
          </td>
        </tr>
      ))}
    </Table>
  )
}

const WholeConfiguration: FunctionComponent<{ configuration: RunConfiguration }> = ({ configuration }) => {
  const [wanted, setWanted] = useState('')
  const changed = new Set(configuration.differences.map(({ key }) => key))
  const rows = leavesOf(configuration.values).filter(({ key }) =>
    key.toLowerCase().includes(wanted.toLowerCase()),
  )
  return (
    <>
      <div class="section-head">
        <h2 id="whole">All keys</h2>
        <input
          class="field"
          type="search"
          placeholder="Find a key"
          aria-label="Find a key"
          value={wanted}
          onInput={({ currentTarget }) => setWanted(currentTarget.value)}
        />
      </div>
      <Scrolls label="All keys">
        <table>
          <tbody>
            {rows.map(({ key, value }) => (
              <tr key={key} class={changed.has(key) ? 'changed' : ''}>
                <th scope="row" class="tight">
                  <code>{key}</code>
                </th>
                <td>
                  <code>{valueText(value)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </>
  )
}

interface Leaf {
  readonly key: string
  readonly value: JsonValue
}

/** Every key whose value is no section, as a configuration names it. @example leavesOf({ a: { b: 1 } }) // [{ key: 'a.b', value: 1 }] */
export function leavesOf(value: JsonValue, key = ''): readonly Leaf[] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return [{ key, value }]
  return Object.entries(value).flatMap(([name, part]) => leavesOf(part, key === '' ? name : `${key}.${name}`))
}

function valueText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
