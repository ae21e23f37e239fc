/** Facts: names with their values, in a line. */
import type { ComponentChildren, FunctionComponent } from 'preact'

/** A fact without a value is left out. */
export interface Fact {
  readonly name: string
  readonly value: ComponentChildren
}

export const Facts: FunctionComponent<{ facts: readonly Fact[] }> = ({ facts }) => (
  <dl class="facts">
    {facts
      .filter(({ value }) => value !== undefined && value !== null)
      .map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)
