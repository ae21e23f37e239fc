/** A turn: what the agent saw, and what it did then. */
import type { FunctionComponent } from 'preact'
import { versionsOf } from '../../../../learning/run/version-spans.ts'
import { plain } from '../../../../learning/statistics/figures.ts'
import type { Message, ToolCall, ToolSpec } from '../../../../messages/message.ts'
import type {
  Observation,
  ShownAnswer,
  ShownRequest,
  TrajectoryAction,
  TrajectoryAnswer,
  TrajectoryTurn,
  TurnTime,
} from '../../../contract/trajectory.ts'
import { choiceAddress } from '../../navigation.ts'
import { Folded } from '../../parts/folded.tsx'
import { beginningOf, visible } from '../../parts/visible.ts'
import type { Renderer } from '../../renderers/renderer.ts'
import type { Colouring } from './colouring.ts'
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
    {(observation.answers ?? []).map((answer, at) => (
      <AnswerView key={at} answer={answer} />
    ))}
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

/** The answer of a model to the environment, with its question and the tries before. */
const AnswerView: FunctionComponent<{ answer: ShownAnswer }> = ({ answer }) => {
  const { role, source, model, messages, text, seconds, tokens, faults } = answer
  return (
    <details class="small">
      <summary>
        {role}: {visible(text.slice(0, 80))} <span class="badge">{visible(model)}</span>{' '}
        <Took took={{ seconds, attempt: faults.length + 1 }} how="answered" />{' '}
        <span class="quiet">{tokens} tokens</span>
      </summary>
      <p class="quiet">asked: {visible(source)}</p>
      {messages.map((message, at) => (
        <Folded key={at} text={message.content} />
      ))}
      <Folded text={text} class="said" />
      {faults.map((fault) => (
        <div key={fault} class="problem">
          <Folded text={fault} />
        </div>
      ))}
    </details>
  )
}

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
        {action.asked === undefined ? null : <Asked asked={action.asked} />}
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

/** The form of a request, and its place among the conversations of its program. */
const Asked: FunctionComponent<{ asked: ShownRequest }> = ({ asked: { branch, follows, form } }) => (
  <>
    <span class="badge">branch {branch}</span>
    <code class="quiet small">{form}</code>
    {follows < 0 ? null : (
      <a class="small" href={choiceAddress({ turn: String(follows), token: '' })}>
        after turn {follows}
      </a>
    )}
  </>
)

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
    {trajectory.output === undefined ? null : (
      <div class="message">
        <div class="speaker">
          <span class="role">output of the program</span>
        </div>
        <Folded text={trajectory.output} />
      </div>
    )}
    <p class="over quiet">
      {trajectory.row.outcome === null
        ? 'Being played.'
        : `Over: ${trajectory.row.outcome}, paid ${plain(trajectory.paid)}.`}
    </p>
  </section>
)

interface MessageProps {
  readonly message: Message
  readonly observation: Observation
  readonly renderer: Renderer
}

/** Messages and calls, as a person reads them. */
const MessageView: FunctionComponent<MessageProps> = ({ message, observation, renderer }) => {
  const { role, content } = message
  const isRendered =
    role === 'tool' && renderer.Answer !== undefined && renderer.isFor?.(observation) === true
  return (
    <div class={`message ${role}`}>
      <div class="speaker">
        <span class="role">{role === 'tool' ? 'environment' : role}</span>
        {role === 'tool' ? <code class="quiet small">{visible(message.name)}</code> : null}
      </div>
      {isRendered && renderer.Answer !== undefined ? (
        <>
          <renderer.Answer text={content} observation={observation} />
          <details class="small">
            <summary>As the agent read it</summary>
            <Folded text={content} />
          </details>
        </>
      ) : (
        <Folded text={content} />
      )}
    </div>
  )
}

/** A call: its name, and its arguments by their names. */
const Call: FunctionComponent<{ call: ToolCall; renderer: Renderer }> = ({ call, renderer }) => (
  <div class="call">
    <code class="call-name">{visible(call.name)}</code>
    {renderer.Call === undefined ? (
      <dl class="arguments">
        {Object.entries(call.arguments).map(([name, value]) => (
          <div key={name}>
            <dt>{visible(name)}</dt>
            <dd>
              <Folded text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)} />
            </dd>
          </div>
        ))}
      </dl>
    ) : (
      <renderer.Call name={call.name} arguments={call.arguments} />
    )}
  </div>
)

/** The tools that the agent may call from here on. */
const ToolList: FunctionComponent<{ tools: readonly ToolSpec[] }> = ({ tools }) => (
  <details class="tools small">
    <summary>
      {tools.length} {tools.length === 1 ? 'tool' : 'tools'}:{' '}
      {tools.map((tool) => visible(tool.function.name)).join(', ')}
    </summary>
    {tools.map(({ function: { name, description, parameters } }) => (
      <div key={name} class="tool-spec">
        <code>{visible(name)}</code> {visible(description)}
        <Folded text={JSON.stringify(parameters, null, 2)} />
      </div>
    ))}
  </details>
)
