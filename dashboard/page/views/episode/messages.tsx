/** Messages and calls, as a person reads them. */
import type { FunctionComponent } from 'preact'
import type { Message, ToolCall, ToolSpec } from '../../../../messages/message.ts'
import type { Observation } from '../../../contract/trajectory.ts'
import { Folded } from '../../parts/folded.tsx'
import { visible } from '../../parts/visible.ts'
import type { Renderer } from '../../renderers/renderer.ts'

interface MessageProps {
  readonly message: Message
  readonly observation: Observation
  readonly renderer: Renderer
}

export const MessageView: FunctionComponent<MessageProps> = ({ message, observation, renderer }) => {
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
export const Call: FunctionComponent<{ call: ToolCall; renderer: Renderer }> = ({ call, renderer }) => (
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
export const ToolList: FunctionComponent<{ tools: readonly ToolSpec[] }> = ({ tools }) => (
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
