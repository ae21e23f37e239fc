/**
 * Entry of a game: where a data set has it, in whatever layout.
 *
 * Invariants
 * - Its texts are read when it is asked for, not before.
 */
import type { GameSource } from './engine/game.ts'

/** One game that can be read. */
export interface GameEntry {
  readonly id: string
  /** @throws EnvironmentFault bad_data, naming the file */
  read(): GameSource
}
