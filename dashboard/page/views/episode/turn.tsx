/** A turn: what the agent saw, and what it did then. */
import type { FunctionComponent } from 'preact'
import { versionsOf } from '../../../../learning/run/version-spans.ts'
import { plain } from '../../../../learning/statistics/figures.ts'
import type {
  Observation,
  TrajectoryAction,
  TrajectoryAnswer,
  TrajectoryTurn,
  TurnTime,
} from '../../../contract/trajectory.ts'
import { Folded } from '../../parts/folded.tsx'
import { beginningOf, visible } from '../../parts/visible.ts'
import type { Renderer } from '../../renderers/renderer.ts'
import type { Colouring } from './colouring.ts'
import { Call, MessageView, ToolList } from './messages.tsx'
import { ReadTokens, TokenStrip } from './tokens.tsx'
import { secondsText } from './turn-seconds.ts'

interface TurnProps {
  readonly turn: TrajectoryTurn
  /** The turn that this one's observation answers. */
  readonly answered: TrajectoryTurn | undefined
  readonly trajectory: TrajectoryAnswer
  readonly colouring: Colouring
  readonly renderer: Renderer
  readonly isCurrent: boolean
  /** Position of the token that is looked at. */
  readonly chosen: number | undefined
}

export const Turn: FunctionComponent<TurnProps> = ({ turn: each, renderer, isCurrent, ...rest }) => {
  const { turn, observation, action } = each
  return (
    <section
      class={`turn ${isCurrent ? 'is-current' : ''}`}
      id={`turn-${turn}`}
      tabIndex={-1}
      aria-label={`Turn ${turn}`}
    >
      <ObservationView observation={observation} renderer={renderer} />
      {action === undefined ? (
        <p class="quiet">The agent has not answered yet.</p>
      ) : (
        <ActionView turn={turn} action={action} renderer={renderer} {...rest} />
      )}
    </section>
  )
}

const ObservationView: FunctionComponent<{ observation: Observation; renderer: Renderer }> = ({
  observation,
  renderer,
}) => (
  <>
    {observation.tools === undefined ? null : <ToolList tools={observation.tools} />}
    {observation.messages.map((message, at) => (
      <MessageView key={at} message={message} observation={observation} renderer={renderer} />
    ))}
    {observation.reward === 0 && observation.took === undefined ? null : (
      <p class="earned">
        {observation.reward === 0 ? null : (
          <span class={`badge ${observation.reward > 0 ? 'won' : 'lost'}`}>
            reward {plain(observation.reward)}
          </span>
        )}{' '}
        <Took took={observation.took} how="answered" />
      </p>
    )}
  </>
)

/** Badges of what a half of a turn took; a first try is not worth a word. */
const Took: FunctionComponent<{ took: TurnTime | undefined; how: string }> = ({ took, how }) =>
  took === undefined ? null : (
    <>
      <span class="badge">
        {how} in {secondsText(took.seconds)}
      </span>
      {took.attempt > 1 ? <span class="badge mixed">attempt {took.attempt}</span> : null}
    </>
  )

interface ActionProps {
  readonly turn: number
  readonly action: TrajectoryAction
  readonly trajectory: TrajectoryAnswer
  readonly colouring: Colouring
  readonly renderer: Renderer
  readonly chosen: number | undefined
}

const ActionView: FunctionComponent<ActionProps> = ({
  turn,
  action,
  trajectory,
  colouring,
  renderer,
  chosen,
}) => {
  const { message, problems, invalid, finish, stale } = action
  const { learnt, hasTexts } = trajectory
  const strip = { turn, action, learnt, hasTexts, colouring, chosen }
  return (
    <div class="message assistant">
      <div class="speaker">
        <span class="role">agent</span>
        <span class="turn-number">turn {turn}</span>
        {versionsOf(action).map((version) => (
          <span key={version} class="badge">
            v{version}
          </span>
        ))}
        {stale === true ? <span class="badge mixed">from the pool</span> : null}
        {invalid ? <span class="badge lost">invalid</span> : null}
        {finish === 'length' ? <span class="badge mixed">cut off</span> : null}
        <Took took={action.took} how="sampled" />
        <span class="quiet small">{action.sampled.ids.length} tokens</span>
      </div>
      <ReadTokens {...strip} />
      {message.content.trim() === '' ? null : <Folded text={message.content} class="said" />}
      {(message.tool_calls ?? []).map((call, at) => (
        <Call key={at} call={call} renderer={renderer} />
      ))}
      {problems.map((problem) => (
        <div key={problem} class="problem">
          {beginningOf(problem) === problem ? visible(problem) : <Folded text={problem} />}
        </div>
      ))}
      <TokenStrip {...strip} />
    </div>
  )
}

interface EndingProps {
  readonly ending: Observation
  readonly answered: TrajectoryTurn | undefined
  readonly trajectory: TrajectoryAnswer
  readonly renderer: Renderer
}

/** The observation after the last action. */
export const Ending: FunctionComponent<EndingProps> = ({ ending, trajectory, renderer }) => (
  <section class="turn" aria-label="The end">
    <ObservationView observation={ending} renderer={renderer} />
    <p class="over quiet">
      {trajectory.row.outcome === null
        ? 'Being played.'
        : `Over: ${trajectory.row.outcome}, paid ${plain(trajectory.paid)}.`}
    </p>
  </section>
)
