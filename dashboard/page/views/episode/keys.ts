/**
 * Keys that lead through a trajectory: turns, colours, samples. They are left alone while a field is written in.
 *
 * Invariants
 * - A key acts on the place at the moment when it is pressed, which may not be drawn yet.
 * - Keys work from the moment when the trajectory is on the screen.
 */
import { useLayoutEffect } from 'preact/hooks'
import type { TrajectoryAnswer } from '../../../contract/trajectory.ts'
import { choose, goTo, place } from '../../navigation.ts'
import { colouringNamed, colourings } from './colouring.ts'
import { tokenAt } from './placed-tokens.ts'

/** The choices that the address of an episode holds. */
interface Chosen {
  readonly turn?: number | undefined
  readonly token?: number | undefined
}

/** The turn that is looked at: the chosen token's, else the chosen one, else the first. */
export function currentTurn(trajectory: TrajectoryAnswer, { turn, token }: Chosen): number {
  const chosen = token === undefined ? undefined : tokenAt(trajectory, token)
  return Math.min(chosen?.turn ?? turn ?? 0, trajectory.turns.length - 1)
}

export function useTurnKeys(trajectory: TrajectoryAnswer): void {
  // An effect that waits for the next frame would lose the keys that are pressed before it.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return
      const { view } = place.peek()
      if (view.view !== 'episode' || view.episode !== trajectory.row.episode) return
      const current = currentTurn(trajectory, view)
      const last = trajectory.turns.length - 1
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
  }, [trajectory])
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
