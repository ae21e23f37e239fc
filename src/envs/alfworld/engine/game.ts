/**
 * A text game in the form of ALFWorld: PDDL world, text grammar, raw commands.
 *
 * Invariants
 * - The same source and the same commands give the same states.
 * - A command that is not admissible says "Nothing happens." and changes nothing.
 */

/** What a game is made of, all texts as in an official `game.tw-pddl`. */
export interface GameSource {
  readonly id: string
  /** PDDL domain. */
  readonly domain: string
  /** Text grammar (`twl2`); where it holds no `task` rule of its own, `task` gives it. */
  readonly grammar: string
  /** PDDL problem. */
  readonly problem: string
  /** The task as the first observation ends with it, "Your task is to: …". */
  readonly task: string
  /** Commands of an expert that win. */
  readonly walkthrough?: readonly string[] | undefined
}

/** What a player sees, texts exactly as the official engine prints them. */
export interface GameState {
  readonly observation: string
  /** Commands that do something, sorted. */
  readonly admissible: readonly string[]
  readonly won: boolean
}

/** One game; used by one player at a time. */
export interface Game {
  /** Starts the game afresh; may be called again. */
  start(): GameState
  /** Plays a raw command. @throws Error before the first `start` */
  play(command: string): GameState
}

/** Opens a game; domain and grammar are compiled once per text. @throws EnvironmentFault bad_data */
export function openGame(source: GameSource): Game {
  throw new Error(`the engine cannot open ${source.id} yet`)
}
