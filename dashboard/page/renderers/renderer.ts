/** The parts that a task may show in its own way; without them, messages and arguments are shown as text. */
import type { FunctionComponent } from 'preact'
import type { JsonObject } from '../../../messages/message.ts'
import type { Observation, TrajectoryTurn } from '../../contract/trajectory.ts'

/** A call of the agent. */
export interface CallProps {
  readonly name: string
  readonly arguments: JsonObject
}

/** The answer of the environment. */
export interface AnswerProps {
  readonly text: string
  readonly observation: Observation
}

/** The turns up to the one that is looked at. */
export interface StateProps {
  readonly turns: readonly TrajectoryTurn[]
}

export interface Renderer {
  /** The arguments of a call. */
  readonly Call?: FunctionComponent<CallProps>
  /** A message of a tool; `isFor` says of which. */
  readonly Answer?: FunctionComponent<AnswerProps>
  readonly isFor?: (observation: Observation) => boolean
  /** The known state at a turn, beside the messages. */
  readonly State?: FunctionComponent<StateProps>
  readonly stateTitle?: string
}

/** The text that a call gives under a name; empty where it gives none. */
export function argumentText(given: JsonObject, name: string): string {
  const value = Object.hasOwn(given, name) ? given[name] : undefined
  return typeof value === 'string' ? value : ''
}
