/**
 * The text-adventure engine: PDDL worlds described by a text grammar, as in ALFWorld.
 *
 * It is used alone by `openGame` (`game.ts`): a game is made of four texts, started, and played by raw commands. It knows nothing of
 * tasks, agents or rewards.
 *
 * Invariants
 * - Whatever the engine cannot read or tell is a TextAdventureFault that names the text.
 */
import { Fault } from '../../faults/fault.ts'

/** `bad_data`: a domain, a problem or a grammar that cannot be read, or lacks what the game needs. */
export class TextAdventureFault extends Fault<'bad_data'> {
  override readonly name = 'TextAdventureFault'
  protected static override readonly permanentKinds = 'all'
}
