/**
 * Demonstrations of household games: what an expert played, or the official walkthrough.
 *
 * Invariants
 * - A demonstration wins its game; where none does, there is none.
 * - A slip changes nothing in the game, and what the expert does next is what it would have done without.
 * - Only the expert's own turns are imitated: slips and strays are marked as mistakes.
 * - It reads the agent's observations, never the game's state.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import type { Game, GameSource, GameState } from '../../worlds/text-adventure/game.ts'
import { calling } from '../contract/agent-tool.ts'
import type { Adviser, Demonstration } from '../contract/environment.ts'
import { drawnFrom } from '../generated/draw.ts'
import type { CommandKind, CommandWords } from './command-words.ts'
import { type Dialect, kindOf, namesIn } from './dialect.ts'
import { openGame } from './engine.ts'
import { createExpert, type Expert, type Search } from './expert.ts'
import { commandOf, observationIn, toolName } from './game-session.ts'

/** The agent's message that plays a command. @param thought what it says before */
export function actionOf(command: string, thought = ''): AssistantMessage {
  return { ...calling(toolName, { action: command }), content: thought }
}

/** How an expert plays, and the turns that a demonstration adds to its commands. */
export interface Detours {
  readonly search: Search
  /** Probability of a command that fails before one of its own, so that continuing after a failure can be learnt. */
  readonly slips: number
  /** Probability of a command that works and that it would not give, so that finding back can be learnt. */
  readonly strays: number
  /** Whether it says before each command what is asked for and how far it is. */
  readonly thoughts: boolean
}

const straight: Detours = { search: 'likely', slips: 0, strays: 0, thoughts: false }

/** Commands that change nothing, and so lead nowhere. */
const idle: readonly CommandKind[] = ['look', 'inventory', 'help', 'examine']

/** One game that is being demonstrated. */
interface Play {
  readonly game: Game
  readonly words: CommandWords
  readonly expert: Expert
  readonly actions: AssistantMessage[]
  /** Positions of actions that are played, not imitated. */
  readonly mistakes: number[]
  readonly seen: Set<string>
  readonly thing: string | undefined
  here: string | undefined
  state: GameState
}

/**
 * Plays the game with the expert of that dialect; undefined where it does not win within the turns.
 * @param detours when it makes them follows from the game's own identity and the number of the take
 * @param take    how many demonstrations of the game there are already
 */
export function demonstrateByExpert(
  source: GameSource,
  dialect: Dialect,
  turns: number,
  detours: Detours = straight,
  take = 0,
): Demonstration | undefined {
  const play = startPlay(source, dialect, detours.search)
  // The first take draws from the game's identity alone.
  const drawsOf = (what: string) => uniforms(seedOf(0, source.id, what, ...(take === 0 ? [] : [take])))
  const [slips, strays] = [drawsOf('slip'), drawsOf('stray')]
  while (play.actions.length < turns) {
    const intent = play.expert.next()
    if (intent === undefined) return undefined
    const { command } = intent
    const thought = detours.thoughts ? intent.thought : ''
    if (strays() < detours.strays) {
      const astray = strayOf(play, command, strays)
      if (astray !== undefined) {
        playMistake(play, astray, thought)
        if (play.state.won) return undefined
        continue
      }
    }
    if (slips() < detours.slips) {
      const wrong = slipOf(play, slips)
      if (wrong !== undefined && !play.state.admissible.includes(wrong)) playMistake(play, wrong, thought)
    }
    playCommand(play, command, thought)
    if (play.state.won) return demonstrationOf(source, play)
  }
  return undefined
}

function startPlay(source: GameSource, dialect: Dialect, search: Search): Play {
  const game = openGame(source)
  const state = game.start()
  const expert = createExpert(dialect, search)
  expert.see(state.observation)
  const thing = dialect.readTask(state.observation)?.thing
  const seen = new Set(namesIn(state.observation))
  return {
    game,
    words: dialect.words,
    expert,
    actions: [],
    mistakes: [],
    seen,
    thing,
    here: undefined,
    state,
  }
}

function playMistake(play: Play, command: string, thought: string): void {
  play.mistakes.push(play.actions.length)
  playCommand(play, command, thought)
}

function playCommand(play: Play, command: string, thought: string): void {
  play.actions.push(actionOf(command, thought))
  play.state = play.game.play(command)
  const { observation } = play.state
  play.expert.see(observation, command)
  for (const name of namesIn(observation)) play.seen.add(name)
  const { kind, place } = play.words.read(command) ?? {}
  if (kind === 'go' && !observation.startsWith('Nothing happens')) play.here = place
}

function demonstrationOf(source: GameSource, { actions, mistakes }: Play): Demonstration {
  return { instance: source.id, actions, ...(mistakes.length > 0 ? { mistakes } : {}) }
}

/** A command that works and is not the expert's: first its verb is drawn, so that the many places do not outweigh the rest. */
function strayOf({ state, words }: Play, own: string, draw: () => number): string | undefined {
  const leads = (command: string) => {
    const kind = words.read(command)?.kind
    return kind === undefined || !idle.includes(kind)
  }
  const others = state.admissible.filter((command) => command !== own && leads(command))
  const verbOf = (command: string) => command.slice(0, command.indexOf(' '))
  const verb = drawnFrom([...new Set(others.map(verbOf))], draw)
  return drawnFrom(
    others.filter((command) => verbOf(command) === verb),
    draw,
  )
}

/** A plausible mistake: to take an object that is not there, or to go where the agent is already. */
function slipOf({ words, here, thing, ...play }: Play, draw: () => number): string | undefined {
  const seen = [...play.seen]
  const any = (): string => drawnFrom(seen, draw) ?? ''
  if (here === undefined || seen.length === 0) return undefined
  const slips = [
    () => words.write('take', { thing: `${thing ?? kindOf(any())} 1`, place: here }),
    () => words.write('take', { thing: any(), place: here }),
    () => words.write('examine', { place: any() }),
    () => words.write('go', { place: any() }),
    () => words.write('open', { place: here }),
  ]
  return drawnFrom(slips, draw)?.()
}

/** The walkthrough that came with the game, if it wins. */
export function demonstrateByWalkthrough(source: GameSource): Demonstration | undefined {
  const game = openGame(source)
  game.start()
  const actions: AssistantMessage[] = []
  for (const command of source.walkthrough ?? []) {
    actions.push(actionOf(command))
    if (game.play(command).won) return { instance: source.id, actions }
  }
  return undefined
}

/** @param settings.thoughts whether it says before each command what is asked for and how far it is */
export function adviserOf(
  dialect: Dialect,
  { search, thoughts }: Pick<Detours, 'search' | 'thoughts'>,
): Adviser {
  const expert = createExpert(dialect, search)
  return {
    see({ messages }, action) {
      if (action === undefined) {
        expert.see(observationIn(messages.at(-1)?.content ?? ''))
        return
      }
      for (const [position, call] of (action.tool_calls ?? []).entries()) {
        const command = commandOf(call)
        const answer = messages[position]
        if (command !== undefined && answer !== undefined) expert.see(observationIn(answer.content), command)
      }
    },

    advise() {
      const intent = expert.next()
      return intent && actionOf(intent.command, thoughts ? intent.thought : '')
    },
  }
}
