/**
 * Where the reader is, as a signal.
 *
 * Invariants
 * - The address bar is the truth: back, forward, reload and a pasted link lead to the same view with the same choices.
 * - A choice that is made at a place replaces its address; a place that is gone to adds one.
 */
import { signal } from '@preact/signals'
import { addressOf, type PageView, viewAt } from '../contract/addresses.ts'

/** A view with all that its address chooses, what the contract does not name included: a tab, an axis, colours. */
export interface Location {
  readonly view: PageView
  readonly choices: Readonly<Record<string, string>>
}

export const place = signal<Location>(read())

window.addEventListener('hashchange', () => {
  const before = identityOf(place.peek().view)
  place.value = read()
  if (identityOf(place.peek().view) === before) return
  window.scrollTo(0, 0)
  // A screen reader begins with the new view, as after a page was loaded.
  document.querySelector('main')?.focus({ preventScroll: true })
})

/** Goes to a view. */
export function goTo(view: PageView): void {
  location.hash = addressOf(view)
}

/** The address of this place with other choices; a value of `''` takes a choice away. */
export function choiceAddress(change: Readonly<Record<string, string>>): string {
  const [way = '#/'] = location.hash.split('?', 1)
  const chosen = new URLSearchParams(place.peek().choices)
  for (const [name, value] of Object.entries(change)) {
    if (value === '') chosen.delete(name)
    else chosen.set(name, value)
  }
  const text = chosen.toString()
  return `${way === '' ? '#/' : way}${text === '' ? '' : `?${text}`}`
}

/** Makes choices at this place. */
export function choose(change: Readonly<Record<string, string>>): void {
  history.replaceState(null, '', choiceAddress(change))
  place.value = read()
}

function read(): Location {
  const search = location.hash.split('?', 2)[1] ?? ''
  return {
    view: viewAt(location.hash) ?? { view: 'runs' },
    choices: Object.fromEntries(new URLSearchParams(search)),
  }
}

/** The part of a view that is a place of its own; a turn and a token are not. */
function identityOf(view: PageView): string {
  if (view.view === 'episode') return view.episode
  return JSON.stringify(view.view === 'run' ? view.run : view.view === 'group' ? view.parent : view.view)
}
