/**
 * The text-adventure engine as this task uses it.
 *
 * Invariants
 * - [TASK-ENGINE-1] A fault of the engine leaves as an EnvironmentFault of the same kind, in the same words.
 */
import { TextAdventureFault } from '../../worlds/text-adventure/fault.ts'
import { type Game, type GameSource, openGame as open } from '../../worlds/text-adventure/game.ts'
import { EnvironmentFault } from '../contract/environment.ts'

/** Does work with the engine. @throws EnvironmentFault bad_data */
export function inEngine<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    throw cause instanceof TextAdventureFault
      ? new EnvironmentFault(cause.kind, cause.message, { cause })
      : cause
  }
}

/** Opens a game. @throws EnvironmentFault bad_data, naming the game; so do its calls */
export function openGame(source: GameSource): Game {
  const game = inEngine(() => open(source))
  return {
    start: () => inEngine(() => game.start()),
    play: (command) => inEngine(() => game.play(command)),
    digest: () => game.digest(),
  }
}
