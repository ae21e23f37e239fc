/** ALFWorld: where the agent is, what it carries, and what it has seen where. */
import type { FunctionComponent } from 'preact'
import type { TrajectoryTurn } from '../../contract/trajectory.ts'
import { beginningOf, visible } from '../parts/visible.ts'
import { type Household, householdAfter } from './household.ts'
import { argumentText, type Renderer, type StateProps } from './renderer.ts'

const State: FunctionComponent<StateProps> = ({ turns }) => {
  const home = householdAfter(
    turns.map((turn, at) => ({ command: commandOf(turns[at - 1]), text: textOf(turn) })),
  )
  const places = [...home.places]
  const seen = places.filter(([, contents]) => contents !== null)
  return (
    <div class="household">
      <p>
        At <b>{visible(home.place ?? 'no place yet')}</b>, carrying{' '}
        <b>
          {home.carried.length === 0
            ? 'nothing'
            : home.carried.map((name) => withState(home, name)).join(', ')}
        </b>
      </p>
      <ul>
        {seen.map(([name, contents]) => (
          <li key={name} aria-current={name === home.place ? 'location' : undefined}>
            <span>{visible(name)}</span>
            <span class="quiet">
              {contents?.length === 0 ? 'empty' : contents?.map((each) => withState(home, each)).join(', ')}
            </span>
          </li>
        ))}
      </ul>
      <p class="quiet small">
        {places.length - seen.length === 0
          ? 'Every place was looked at.'
          : `Not looked into: ${places
              .filter(([, contents]) => contents === null)
              .map(([name]) => (home.closed.has(name) ? `${visible(name)} (closed)` : visible(name)))
              .join(', ')}`}
      </p>
    </div>
  )
}

function withState({ states }: Household, name: string): string {
  const state = states.get(name)
  return visible(beginningOf(state === undefined ? name : `${name} (${state})`))
}

function commandOf(turn: TrajectoryTurn | undefined): string {
  const [call] = turn?.action?.message.tool_calls ?? []
  return call === undefined ? '' : argumentText(call.arguments, 'action')
}

function textOf({ observation }: TrajectoryTurn): string {
  const { observation: text } = observation.info
  if (typeof text === 'string') return text
  return observation.messages.map(({ content }) => content).join('\n')
}

export const alfworldRenderer: Renderer = { State, stateTitle: 'The agent’s knowledge' }
