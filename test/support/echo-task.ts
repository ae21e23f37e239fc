/**
 * A task in a few lines, for tests of what is above tasks: say "yes" three times.
 *
 * Invariants
 * - The reward is 1 where the last word was "yes", else 0.
 * - Every session that was opened, and every word that it heard, is on record; a test can make any of them fail.
 */

import {
  type Environment,
  type EnvironmentDefinition,
  EnvironmentFault,
  type Task,
} from '../../envs/contract/environment.ts'
import type { AssistantMessage } from '../../messages/message.ts'

/** A session as the test sees it. */
export interface EchoSession {
  readonly instance: string
  readonly heard: string[]
  closed: boolean
}

export interface EchoOptions {
  readonly name?: string
  readonly replayable?: boolean
  readonly stepTimeoutSeconds?: number
  /** The kind of an instance's problem; none by default. */
  readonly kindOf?: (instance: string) => string
  /** Called before a word counts; what it throws is the environment's fault, what it awaits is its work. */
  readonly beforeStep?: (session: EchoSession, sessions: readonly EchoSession[]) => void | Promise<void>
}

export interface EchoTask {
  readonly definition: EnvironmentDefinition
  readonly sessions: readonly EchoSession[]
}

const turns = 3
const tools = [
  {
    type: 'function',
    function: {
      name: 'say',
      description: 'Says a word.',
      parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    },
  },
] as const

export function createEchoTask(options: EchoOptions = {}): EchoTask {
  const sessions: EchoSession[] = []

  function createSession(): Environment {
    const session = { instance: '', heard: [] as string[], closed: false }
    sessions.push(session)
    return {
      tools,
      async reset(instance) {
        session.instance = instance
        const kind = options.kindOf?.(instance)
        const info = kind === undefined ? {} : { kind }
        return { messages: [{ role: 'user', content: 'Say yes.' }], info }
      },
      async step(action) {
        await options.beforeStep?.(session, sessions)
        const word = wordOf(action)
        if (word === undefined) {
          const content = 'Call say with a word.'
          return { messages: [{ role: 'user', content }], reward: 0, done: false, invalid: true, info: {} }
        }
        session.heard.push(word)
        const messages = [{ role: 'tool', name: 'say', content: `heard ${word}` }] as const
        const done = session.heard.length === turns
        const reward = done && word === 'yes' ? 1 : 0
        return { messages, reward, done, ...(done ? { outcome: 'completed' as const } : {}), info: {} }
      },
      async close() {
        session.closed = true
      },
    }
  }

  const task: Task = {
    splits: [
      { name: 'train', size: Number.POSITIVE_INFINITY },
      { name: 'test', size: Number.POSITIVE_INFINITY },
    ],
    instanceAt: (split, index) => `${split}/${index}`,
    create: () => Promise.resolve(createSession()),
    close: () => Promise.resolve(),
  }
  const definition: EnvironmentDefinition = {
    name: options.name ?? 'echo',
    summary: 'Say yes three times.',
    source: 'none',
    licence: 'none',
    reward: '1 where the last word is yes',
    replayable: options.replayable ?? true,
    replayableBecause: options.replayable === false ? 'a test says so' : 'it has no state but its words',
    turnLimit: 6,
    open: () => Promise.resolve(task),
    ...(options.stepTimeoutSeconds === undefined ? {} : { stepTimeoutSeconds: options.stepTimeoutSeconds }),
  }
  return { definition, sessions }
}

/** The fault of an environment whose machine does not answer. */
export function backendFault(): EnvironmentFault {
  return new EnvironmentFault('backend', 'the machine of this session does not answer')
}

function wordOf({ tool_calls }: AssistantMessage): string | undefined {
  const call = tool_calls?.[0]
  const word = call?.name === 'say' ? call.arguments.word : undefined
  return typeof word === 'string' ? word : undefined
}
