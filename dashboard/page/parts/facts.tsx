/** Facts: names with their values, in a line. */
import type { ComponentChildren, FunctionComponent } from 'preact'
import { homeRoute } from '../../contract/routes.ts'
import { useAnswer } from '../answer.ts'

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

const sameDay = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

const otherDay = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

/** @param props.at milliseconds since the epoch */
export const When: FunctionComponent<{ at: number }> = ({ at }) => {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date().toDateString()
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()}>
      {(isToday ? sameDay : otherDay).format(date)}
    </time>
  )
}

/** A command that can be copied: named as it is typed on the machine of the server, and acting on the home that is shown. */
export const Command: FunctionComponent<{ words: string }> = ({ words }) => {
  const { answer } = useAnswer(homeRoute())
  const { name, homeFlag } = answer?.typed ?? { name: 'npx perdure', homeFlag: '' }
  return <code>{`${name} ${words}${homeFlag}`}</code>
}

/** The way to a piece of work in the Temporal UI, while one answers. */
export const WorkflowLink: FunctionComponent<{ to: string | undefined }> = ({ to }) =>
  to === undefined ? null : (
    <a class="button" href={to} target="_blank" rel="noreferrer">
      Workflow <span aria-hidden="true">↗</span>
    </a>
  )
