/**
 * A live household game, played through its tool.
 *
 * Invariants
 * - The same instance and the same actions give the same messages, rewards and endings.
 * - Commands reach the game as the agent wrote them.
 * - Every tool call is answered by one tool message; what is no call of the tool is answered in words.
 * - A message of which nothing could be played is marked invalid; a command that does nothing is not.
 * - Only winning pays, once: reward 1 on the step that wins, 0 on every other.
 */
import type {
  AssistantMessage,
  Environment,
  InstanceId,
  Message,
  Observation,
  StepResult,
  ToolSpec,
} from '../environment.ts'
import { EnvironmentFault } from '../environment.ts'
import type { Game, GameState } from './engine/game.ts'
import { householdTools, nameOf, readCall } from './tools.ts'

/** What a session is made of. */
export interface SessionOptions {
  readonly openInstance: (instance: InstanceId) => Game
  readonly systemPrompt: string
  readonly showAdmissible: boolean
}

const noCall = 'Call the tool take_action.'
const over = 'The task is done.'

/** A session that plays one game after another. */
export function createSession(options: SessionOptions): Environment {
  return new HouseholdSession(options)
}

class HouseholdSession implements Environment {
  readonly tools: readonly ToolSpec[] = householdTools
  readonly #options: SessionOptions
  #game: Game | undefined
  #state: GameState | undefined

  constructor(options: SessionOptions) {
    this.#options = options
  }

  async reset(instance: InstanceId): Promise<Observation> {
    this.#state = undefined
    const game = this.#options.openInstance(instance)
    this.#game = game
    this.#state = game.start()
    return {
      messages: [
        { role: 'system', content: this.#options.systemPrompt },
        { role: 'user', content: this.#shown(this.#state) },
      ],
      info: { ...this.#state },
    }
  }

  async step(action: AssistantMessage): Promise<StepResult> {
    const game = this.#game
    const before = this.#state
    if (game === undefined || before === undefined)
      throw new EnvironmentFault('session_lost', 'no game is being played here: reset the environment first')
    let state = before
    const calls: unknown = action?.tool_calls
    const messages: Message[] = []
    let usable = false
    for (const call of Array.isArray(calls) ? calls : []) {
      const reading = readCall(call)
      let content: string
      if (state.won) content = over
      else if ('problem' in reading) content = reading.problem
      else {
        usable = true
        state = game.play(reading.command)
        content = this.#shown(state)
      }
      messages.push({ role: 'tool', name: nameOf(call), content })
    }
    if (messages.length === 0) messages.push({ role: 'user', content: state.won ? over : noCall })
    this.#state = state
    const reward = state.won && !before.won ? 1 : 0
    const ending = state.won ? { done: true, outcome: 'completed' as const } : { done: false }
    const invalid = usable || before.won ? {} : { invalid: true }
    return { messages, reward, ...ending, ...invalid, info: { ...state } }
  }

  async close(): Promise<void> {
    this.#game = undefined
    this.#state = undefined
  }

  #shown(state: GameState): string {
    if (!this.#options.showAdmissible) return state.observation
    return `${state.observation}\nYou can: ${state.admissible.join(', ')}.`
  }
}
