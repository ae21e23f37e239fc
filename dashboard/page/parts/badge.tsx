/** Badges: the state of a run, the outcome of an episode, in a word and a colour. */
import type { FunctionComponent } from 'preact'
import { isRewarded, type Outcome } from '../../../learning/evaluation/outcome.ts'
import type { RunPhase, RunStatus } from '../../../learning/run/run-phase.ts'
import { plain } from '../../../learning/statistics/figures.ts'

const phaseWords: Readonly<Record<RunPhase, string>> = {
  starting: 'starting',
  warm_start: 'warm start',
  evaluating: 'evaluating',
  training: 'training',
  paused: 'paused',
  stopping: 'stopping',
  done: 'done',
  stopped: 'stopped',
  failed: 'failed',
}

/** The status or the phase of a run. */
export const RunBadge: FunctionComponent<{ status: RunStatus; phase: RunPhase }> = ({ status, phase }) => {
  const shown = status === 'running' ? phase : status
  return <span class={`badge ${toneOf(shown)}`}>{phaseWords[shown]}</span>
}

function toneOf(phase: RunPhase): string {
  if (phase === 'failed') return 'lost'
  if (phase === 'paused' || phase === 'stopping' || phase === 'stopped') return 'mixed'
  return phase === 'done' ? 'won' : 'live'
}

const outcomeWords: Readonly<Record<Outcome, string>> = {
  completed: 'completed',
  turn_limit: 'turn limit',
  context_limit: 'context limit',
  invalid_action: 'invalid actions',
  task_limit: 'task limit',
  infrastructure_error: 'infrastructure error',
  diverged: 'diverged',
  cancelled: 'cancelled',
}

/** How an episode ended, and whether that was a success; `outcome` null: it is being played. */
export const OutcomeBadge: FunctionComponent<{ outcome: Outcome | null; isSuccess?: boolean }> = ({
  outcome,
  isSuccess,
}) => {
  if (outcome === null) return <span class="badge live">playing</span>
  if (isSuccess === true) return <span class="badge won">{outcomeWords[outcome]}</span>
  const isFault = !isRewarded(outcome)
  return (
    <span class={`badge ${isFault ? 'mixed' : isSuccess === false ? 'lost' : ''}`}>
      {outcomeWords[outcome]}
    </span>
  )
}

/** The words of an outcome, for tables; a name that is none stays as it is. */
export function outcomeText(name: string): string {
  return Object.hasOwn(outcomeWords, name) ? outcomeWords[name as Outcome] : name
}

/** A number with its sign, coloured by it. */
export const Signed: FunctionComponent<{ value: number | null }> = ({ value }) => {
  if (value === null) return <span class="quiet">–</span>
  const tone = value > 0 ? 'won' : value < 0 ? 'lost' : ''
  return <span class={`signed ${tone}`}>{signedText(value)}</span>
}

/** @example signedText(-0.5) // '−0.5' */
export function signedText(value: number): string {
  if (value === 0) return '0'
  return `${value < 0 ? '−' : '+'}${plain(Math.abs(value))}`
}
