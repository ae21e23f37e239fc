/** Notices where there is nothing to show: not yet, nothing, or why not. */
import type { ComponentChildren, FunctionComponent } from 'preact'
import type { Answered } from '../answer.ts'
import type { PageFault } from '../source.ts'

/** Why something is missing, in the words of what failed. */
export const FaultNotice: FunctionComponent<{ fault: PageFault }> = ({ fault }) => (
  <p class="notice lost" role="alert">
    {fault.message}
  </p>
)

/** Nothing is there, and how something would come. */
export const Empty: FunctionComponent<{ title: string }> = ({ title, children }) => (
  <div class="empty">
    <strong>{title}</strong>
    {children}
  </div>
)

/** Shows an answer as soon as there is one; before, that it is awaited; beside an old one, what went wrong since. */
export function whenAnswered<Answer>(
  { answer, fault }: Answered<Answer>,
  show: (answer: Answer) => ComponentChildren,
): ComponentChildren {
  if (answer === undefined)
    return fault === undefined ? (
      <p class="quiet" role="status">
        Reading…
      </p>
    ) : (
      <FaultNotice fault={fault} />
    )
  return (
    <>
      {fault === undefined ? null : <FaultNotice fault={fault} />}
      {show(answer)}
    </>
  )
}
