/** Keys that lead through a trajectory: turns, colours, samples. They are left alone while a field is written in. */
import { useEffect } from 'preact/hooks'
import type { TrajectoryAnswer } from '../../../contract/trajectory.ts'
import { choose, goTo, place } from '../../navigation.ts'
import { colouringNamed, colourings } from './colouring.ts'

interface TurnKeys {
  readonly current: number
  readonly last: number
  readonly trajectory: TrajectoryAnswer
}

export function useTurnKeys({ current, last, trajectory }: TurnKeys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return
      if (event.key === 'j') showTurn(Math.min(last, isTurnChosen() ? current + 1 : 0))
      else if (event.key === 'k') showTurn(Math.max(0, current - 1))
      else if (event.key === 'c') nextColouring()
      else if (event.key === '[' && trajectory.before !== null)
        goTo({ view: 'episode', episode: trajectory.before })
      else if (event.key === ']' && trajectory.after !== null)
        goTo({ view: 'episode', episode: trajectory.after })
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })
}

function isTurnChosen(): boolean {
  return place.peek().choices.turn !== undefined
}

/** Makes a turn the one that is looked at. */
export function showTurn(turn: number): void {
  choose({ turn: String(turn), token: '' })
  document.getElementById(`turn-${turn}`)?.focus()
}

function nextColouring(): void {
  const now = colourings.indexOf(colouringNamed(place.peek().choices.colour))
  choose({ colour: colourings[(now + 1) % colourings.length] ?? '' })
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName)
}
