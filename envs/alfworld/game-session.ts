/**
 * A live household game, played through its one tool, which is named and shaped as AgentBench has it.
 *
 * Invariants
 * - The same instance and the same actions give the same messages, rewards and endings.
 * - Commands reach the game as the agent wrote them; one that does nothing is not invalid.
 * - Only winning pays, once: 1 on the step that wins, less the cost of the commands until then, and 0 on every other.
 */
import type { ToolCall } from '../../messages/message.ts'
import type { Game, GameState } from '../../worlds/text-adventure/game.ts'
import { type AgentTool, quoted, textTool } from '../contract/agent-tool.ts'
import type { Environment, InstanceId } from '../contract/environment.ts'
import { ToolSession } from '../contract/tool-session.ts'

/** The parts of a session. */
export interface SessionOptions {
  readonly openInstance: (instance: InstanceId) => OpenedGame
  /** Reward that each command takes from a game that is won. */
  readonly commandCost: number
  readonly showAdmissible: boolean
}

/** A game with its system message. */
interface OpenedGame {
  readonly game: Game
  readonly systemPrompt: string
  readonly kind?: string | undefined
}

/** A game being played. */
interface Play {
  readonly game: Game
  state: GameState
  commands: number
}

export const toolName = 'take_action'

/** Separates an observation from the commands that work, where these are shown. */
const beforeAdmissible = '\nYou can: '

/** The observation in a message of a session, without the commands that work. */
export function observationIn(content: string): string {
  return content.split(beforeAdmissible)[0] ?? ''
}

/** The command that a call plays; undefined where it plays none. */
export function commandOf({ name, arguments: given }: ToolCall): string | undefined {
  return name === toolName && typeof given.action === 'string' ? given.action : undefined
}

/** A session that plays one game after another. */
export function createSession({ openInstance, commandCost, showAdmissible }: SessionOptions): Environment {
  const shown = ({ observation, admissible }: GameState) =>
    showAdmissible ? `${observation}${beforeAdmissible}${admissible.join(', ')}.` : observation
  const takeAction: AgentTool<Play> = textTool({
    name: toolName,
    description: 'Plays one command in the household and returns what happens.',
    takes: { action: 'The command, such as "look".' },
    run({ action }, play) {
      const before = play.state
      play.state = play.game.play(action)
      play.commands += 1
      const reply = shown(play.state)
      if (!play.state.won) return { reply }
      return { reply, reward: before.won ? 0 : Math.max(0, 1 - commandCost * play.commands), done: true }
    },
  })
  return new ToolSession<Play>({
    tools: [takeAction],
    unnamed: toolName,
    noSuchTool: (name) => `There is no tool ${quoted(name)}. Call ${toolName} with "action".`,
    noCall: `Call the tool ${toolName}.`,
    over: 'The task is done.',
    idle: 'no game is being played here',
    open(instance) {
      const { game, systemPrompt, kind } = openInstance(instance)
      const state = game.start()
      return { play: { game, state, commands: 0 }, system: systemPrompt, prompt: shown(state), kind }
    },
    facts: ({ state }) => ({ ...state }),
    state: ({ game }) => game.digest(),
  })
}
