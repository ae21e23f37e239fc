/** Plays against OpenEnv servers of `test/peers/openenv`, with what the agent sees: for the recorded servers and for the real ones. */
import type { AssistantMessage, JsonObject } from '../../../messages/message.ts'

/** A play: the actions, and the answers in order. */
export interface Play {
  /** The program in `test/peers/openenv`, and the name of its recording. */
  readonly server: 'typed' | 'tools'
  readonly settings: JsonObject
  readonly instance: string
  readonly tools: readonly string[]
  readonly first: string
  readonly turns: readonly (readonly [action: AssistantMessage, replies: readonly RegExp[]])[]
  readonly reward: number
}

function calls(...called: readonly (readonly [name: string, given: JsonObject])[]): AssistantMessage {
  return {
    role: 'assistant',
    content: '',
    tool_calls: called.map(([name, given]) => ({ name, arguments: given })),
  }
}

/** One for each kind of server. */
export const plays: readonly Play[] = [
  {
    server: 'typed',
    settings: { resets: { train: [{ seed: 7, top: 30 }] } },
    instance: 'train/0',
    tools: ['act'],
    first: 'Guess my number from 1 to 30.',
    turns: [
      [{ role: 'assistant', content: 'Hm.' }, [/^Call the tool act\.$/]],
      [calls(['act', { number: 'x' }]), [/^act: number: Input should be a valid integer/]],
      [calls(['act', { number: 1, hint: true }]), [/^act: hint: Extra inputs are not permitted$/]],
      [
        calls(['act', { number: 1 }], ['look', {}], ['act', { number: 30 }]),
        [/^higher$/, /^There is no such tool/, /^lower$/],
      ],
      [calls(['act', { number: 11 }], ['act', { number: 12 }]), [/^right$/, /^The episode is over\.$/]],
    ],
    reward: 1,
  },
  {
    server: 'tools',
    settings: { prompt: 'Make 42.' },
    instance: 'test/4',
    tools: ['add', 'fail', 'draw'],
    first: 'Make 42.',
    turns: [
      [calls(['add', { a: 1, b: 2 }]), [/^3$/]],
      [calls(['add', { a: 'x' }]), [/^2 validation errors for call\[add\]/]],
      [calls(['fail', { why: 'so' }]), [/^Error calling tool 'fail': so$/]],
      [calls(['draw', {}]), [/^\[image image\/png\]$/]],
      [calls(['add', { a: 40, b: 2 }]), [/^42$/]],
    ],
    reward: 1,
  },
]
