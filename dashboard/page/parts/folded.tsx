/** A long text: its beginning, and the rest when it is asked for. */
import type { FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import { count } from '../../../learning/statistics/figures.ts'
import { beginningOf, visible } from './visible.ts'

/** More than this is never put into the document at once: a browser lays it out for seconds. */
const mostCharacters = 200_000

interface FoldedProps {
  readonly text: string
  readonly class?: string
}

/** The text as it is: no markup, no links; control characters are made visible. */
export const Folded: FunctionComponent<FoldedProps> = ({ text, class: kind = '' }) => {
  const [isOpen, setOpen] = useState(false)
  const start = beginningOf(text)
  const isLong = start.length < text.length
  const shown = isOpen ? text.slice(0, mostCharacters) : start
  return (
    <div class={`folded ${kind}`}>
      <pre dir="auto">{visible(shown)}</pre>
      {isLong ? (
        <button type="button" class="button fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${count(text.length)} characters`}
        </button>
      ) : null}
      {isOpen && text.length > mostCharacters ? (
        <p class="quiet small">The page shows the first {count(mostCharacters)} characters.</p>
      ) : null}
    </div>
  )
}
