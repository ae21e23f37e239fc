/** Knowledge graphs: the variables that calls have made. */
import type { FunctionComponent } from 'preact'
import { count } from '../../../learning/statistics/figures.ts'
import type { TrajectoryTurn } from '../../contract/trajectory.ts'
import { Folded } from '../parts/folded.tsx'
import { beginningOf, visible } from '../parts/visible.ts'
import type { Renderer, StateProps } from './renderer.ts'

/** A variable with the call that made it. */
interface Variable {
  readonly name: string
  readonly made: string
  readonly size: number | null
}

const State: FunctionComponent<StateProps> = ({ turns }) => {
  const variables = variablesOf(turns)
  if (variables.length === 0) return <p class="quiet">No variable yet.</p>
  return (
    <table class="plain-table">
      <thead>
        <tr>
          <th>Variable</th>
          <th>Made by</th>
          <th class="figures">Members</th>
        </tr>
      </thead>
      <tbody>
        {variables.map(({ name, made, size }) => (
          <tr key={name}>
            <th scope="row">{visible(name)}</th>
            <td>{beginningOf(made) === made ? <code>{visible(made)}</code> : <Folded text={made} />}</td>
            <td class="figures">{size === null ? '–' : count(size)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** In the order in which they were made; the answer to a call is in the observation after it. */
export function variablesOf(turns: readonly TrajectoryTurn[]): readonly Variable[] {
  const made = new Map<string, Variable>()
  turns.forEach(({ observation: { info } }, at) => {
    const [call] = turns[at - 1]?.action?.message.tool_calls ?? []
    if (typeof info.variable !== 'string' || call === undefined) return
    const given = Object.values(call.arguments).map((value) =>
      typeof value === 'string' ? value : JSON.stringify(value),
    )
    made.set(info.variable, {
      name: info.variable,
      made: `${call.name}(${given.join(', ')})`,
      size: typeof info.size === 'number' ? info.size : null,
    })
  })
  return [...made.values()]
}

export const kgRenderer: Renderer = { State, stateTitle: 'Variables' }
