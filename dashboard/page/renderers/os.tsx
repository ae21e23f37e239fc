/** Operating systems: a terminal. */
import type { FunctionComponent } from 'preact'
import { Folded } from '../parts/folded.tsx'
import { beginningOf, visible } from '../parts/visible.ts'
import { type AnswerProps, argumentText, type CallProps, type Renderer } from './renderer.ts'

const Call: FunctionComponent<CallProps> = ({ name, arguments: given }) => {
  const named = ['script', 'answer', 'thought']
    .map((argument) => argumentText(given, argument))
    .find((each) => each !== '')
  const text = named ?? JSON.stringify(given)
  // A browser lays out a line of a megabyte for seconds.
  if (beginningOf(text) !== text) return <Folded text={text} />
  return (
    <pre class="terminal">
      <span class="prompt" aria-hidden="true">
        {name === 'bash_action' ? '$ ' : '» '}
      </span>
      {visible(text)}
    </pre>
  )
}

const Answer: FunctionComponent<AnswerProps> = ({ text, observation: { info } }) => (
  <div class="terminal">
    <Folded text={text.replace(/^The output of the OS:\n\n/, '')} />
    {typeof info.exitCode === 'number' && info.exitCode !== 0 ? (
      <p class="exit">exit code {info.exitCode}</p>
    ) : null}
  </div>
)

export const osRenderer: Renderer = { Call, Answer, isFor: ({ info }) => 'exitCode' in info }
