/** A box for what is wider or longer than the page: it scrolls by itself, by keyboard too. */
import type { FunctionComponent } from 'preact'

interface ScrollsProps {
  /** Its contents, for those who do not see it. */
  readonly label: string
  readonly class?: string
}

export const Scrolls: FunctionComponent<ScrollsProps> = ({ label, class: kind = '', children }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
  <section class={`scrolls ${kind}`} aria-label={label} tabIndex={0}>
    {children}
  </section>
)
