/** A section of a view under its heading, which names it for those who hear the page. */
import type { ComponentChildren, FunctionComponent } from 'preact'

interface SectionProps {
  /** The id of the heading. */
  readonly id: string
  readonly title: ComponentChildren
  /** In a few quiet words beside the heading. */
  readonly note?: ComponentChildren
  /** Links or fields beside the heading. */
  readonly beside?: ComponentChildren
  /** e.g. `sheet`, or its place. */
  readonly class?: string
  readonly children: ComponentChildren
}

export const Section: FunctionComponent<SectionProps> = ({
  id,
  title,
  note,
  beside,
  class: more = 'section',
  children,
}) => (
  <section class={more} aria-labelledby={id}>
    <div class="section-head">
      <h2 id={id}>{title}</h2>
      {note === undefined ? null : <span class="quiet small">{note}</span>}
      {beside}
    </div>
    {children}
  </section>
)
