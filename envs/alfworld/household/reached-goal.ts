/**
 * Goals that a player of a built-in game reached without being asked for them: the same home, another errand. What was played is
 * then an example of how that errand is done. Source: hindsight experience replay, arXiv 1707.01495.
 *
 * Invariants
 * - [REACHED-1] The very commands win the game that is named, and the last of them is the one that wins it.
 * - [REACHED-2] The game that is named asks for what its split asks for, and for another thing than the game that was played.
 * - [REACHED-3] An id `<game>/for/<errand>-<thing>-<place>` is that game with that goal; every other id is what it was.
 */
import type { InstanceId } from '../../environment.ts'
import type { Library } from '../../library.ts'
import { householdDialect, isKeyOf, kindOf } from '../dialect.ts'
import { type Game, type GameSource, openGame } from '../engine/game.ts'
import { type Errand, errands } from '../settings.ts'
import { type Goal, taskLine, withGoal } from './problem.ts'
import { furniture, things } from './words.ts'

/** A goal, and how many of the commands it took. */
export interface ReachedGoal {
  readonly goal: Goal
  readonly commands: number
}

const ids = /^(.+)\/for\/([a-z]+)-([a-z]+)-([a-z]+)$/

/** The game of another goal in the same home. */
export function otherInstance(instance: InstanceId, { errand, thing, destination }: Goal): InstanceId {
  return `${ids.exec(instance)?.[1] ?? instance}/for/${errand}-${thing}-${destination}`
}

/** The library, whose games can be opened with another goal too. */
export function withOtherGoals(library: Library<GameSource>): Library<GameSource> {
  return {
    ...library,
    open(instance) {
      const [, game = '', ...words] = ids.exec(instance) ?? []
      const goal = goalOf(words)
      if (goal === undefined) return library.open(instance)
      const source = library.open(game)
      return hasWordsOf(source, goal) ? sourceFor(source, instance, goal) : library.open(instance)
    },
  }
}

/**
 * The first goal that is reached.
 * @param commands those of an episode that did not reach its own, in their order
 * @param isAsked whether games of this split ask for it
 */
export function reachedGoal(
  source: GameSource,
  commands: readonly string[],
  isAsked: (goal: Goal) => boolean,
): ReachedGoal | undefined {
  const game = openGame(source)
  game.start()
  const player = new Player()
  for (const [index, command] of commands.entries()) {
    const before = game.digest()
    game.play(command)
    if (game.digest() === before) continue
    const played = commands.slice(0, index + 1)
    for (const goal of player.goalsAfter(command))
      if (
        taskLine(goal) !== source.task &&
        isAsked(goal) &&
        isWonByLast(sourceFor(source, source.id, goal), played)
      )
        return { goal, commands: played.length }
  }
  return undefined
}

/** What a player has done so far, as far as goals depend on it. */
class Player {
  readonly #treatments = new Map<string, Errand>()
  #carried: string | undefined
  #at = ''

  /** Goals that a command may have reached that did something, the one that asks for most first. */
  goalsAfter(command: string): readonly Goal[] {
    const { kind = '', thing = '', place = '' } = householdDialect.words.read(command.trim()) ?? {}
    if (kind === 'go') this.#at = place
    if (kind === 'take') this.#carried = thing
    if (kind === 'use') return this.#carried === undefined ? [] : goalsOf(['light'], this.#carried, this.#at)
    if (isErrand(kind)) this.#treatments.set(thing, kind)
    if (kind !== 'put') return []
    this.#carried = undefined
    const treatment = this.#treatments.get(thing)
    return goalsOf([...(treatment === undefined ? [] : [treatment]), 'two', 'place'], thing, place)
  }
}

function goalsOf(wanted: readonly Errand[], thing: string, place: string): Goal[] {
  return wanted.flatMap((errand) => goalOf([errand, kindOf(thing), kindOf(place)]) ?? [])
}

/** The goal of three words; undefined where one of them is not a word of a goal. */
function goalOf([errand = '', thing = '', place = '']: readonly string[]): Goal | undefined {
  return isErrand(errand) && isKeyOf(things, thing) && isKeyOf(furniture, place)
    ? { errand, thing, destination: place }
    : undefined
}

function isErrand(word: string): word is Errand {
  return (errands as readonly string[]).includes(word)
}

function sourceFor({ problem, ...source }: GameSource, id: InstanceId, goal: Goal): GameSource {
  return { ...source, id, problem: withGoal(problem, goal), task: taskLine(goal) }
}

/** Whether the home has things and furniture of the goal's kinds. */
function hasWordsOf({ problem }: GameSource, { thing, destination }: Goal): boolean {
  return problem.includes(`${thing}Type - otype`) && problem.includes(`${destination}Type - rtype`)
}

/** Whether the game is won by these commands, and not before the last. */
function isWonByLast(source: GameSource, commands: readonly string[]): boolean {
  const game: Game = openGame(source)
  let { won } = game.start()
  for (const command of commands) {
    if (won) return false
    won = game.play(command).won
  }
  return won
}
