/**
 * Demonstrations of household games: what an expert played, or the official walkthrough.
 *
 * Invariants
 * - A demonstration wins its game; where none does, there is none.
 * - A slip changes nothing in the game, and what the expert does next is what it would have done without.
 */
import { seedOf, uniforms } from '../../identity/identity.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { calling } from '../agent-tool.ts'
import type { Demonstration } from '../environment.ts'
import { type Dialect, kindOf, namesIn } from './dialect.ts'
import { type GameSource, openGame } from './engine/game.ts'
import { createExpert } from './expert.ts'
import { toolName } from './game-session.ts'

/** The agent's message that plays a command. */
export function actionOf(command: string): AssistantMessage {
  return calling(toolName, { action: command })
}

/** How an expert wastes turns. */
export interface Detours {
  /** Probability that it takes stock of what it carries before a command, which costs a turn. */
  readonly hesitation: number
  /** Share of the games in which it hesitates at all. */
  readonly hesitantShare: number
  /** Probability of a command that fails before one of its own, so that continuing after a failure can be learnt. */
  readonly slips: number
}

/**
 * What the expert of that dialect plays; undefined where it does not win within the turns.
 * @param detours when it makes them follows from the game's own identity
 */
export function demonstrateByExpert(
  source: GameSource,
  dialect: Dialect,
  turns: number,
  { hesitation, hesitantShare, slips }: Detours = { hesitation: 0, hesitantShare: 0, slips: 0 },
): Demonstration | undefined {
  const game = openGame(source)
  const expert = createExpert(dialect)
  const draw = uniforms(seedOf(0, source.id, 'hesitation'))
  const hesitant = uniforms(seedOf(0, source.id, 'hesitant'))() < hesitantShare
  const slip = uniforms(seedOf(0, source.id, 'slip'))
  const actions: AssistantMessage[] = []
  const mistakes: number[] = []
  const seen = new Set<string>()
  let here: string | undefined
  let { observation, admissible } = game.start()
  const thing = dialect.readTask(observation)?.thing
  while (actions.length < turns) {
    const command = expert.next(observation)
    if (command === undefined) return undefined
    for (const name of namesIn(observation)) seen.add(name)
    if (slip() < slips) {
      const wrong = slipOf([...seen], here, thing, slip)
      if (wrong !== undefined && !admissible.includes(wrong)) {
        mistakes.push(actions.length)
        actions.push(actionOf(wrong))
        game.play(wrong)
      }
    }
    if (hesitant && draw() < hesitation) {
      actions.push(actionOf('inventory'))
      game.play('inventory')
    }
    actions.push(actionOf(command))
    const state = game.play(command)
    if (state.won) return { instance: source.id, actions, ...(mistakes.length > 0 ? { mistakes } : {}) }
    here = /^go to (.+)$/.exec(command)?.[1] ?? here
    ;({ observation, admissible } = state)
  }
  return undefined
}

/** A plausible mistake: to take an object that is not there, or to go where the agent is already. */
function slipOf(
  seen: readonly string[],
  here: string | undefined,
  thing: string | undefined,
  draw: () => number,
): string | undefined {
  const any = (): string => seen[Math.floor(draw() * seen.length)] ?? ''
  if (here === undefined || seen.length === 0) return undefined
  const slips = [
    () => `take ${thing ?? kindOf(any())} 1 from ${here}`,
    () => `take ${any()} from ${here}`,
    () => `examine ${any()}`,
    () => `go to ${any()}`,
    () => `open ${here}`,
  ]
  return slips[Math.floor(draw() * slips.length)]?.()
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
