/** A time, as its reader's clock has it. */
import type { FunctionComponent } from 'preact'

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
