/**
 * The expert: solves household games as an agent has to, from what it has seen so far.
 *
 * Invariants
 * - It is given observations only, never the game's state.
 * - The same commands and observations give the same next command, also where others gave the commands: it knows the way on from where they
 *   have strayed to.
 * - It gives up (undefined) where it sees no way on; it never repeats a command where it was refused.
 * - Places may share a spot: where going to one does nothing, it is within reach already.
 */
import { seedOf } from '../../identity/identity.ts'
import type { CommandKind, CommandNames } from './command-words.ts'
import { type Contents, type Dialect, kindOf, type TaskReading } from './dialect.ts'

/** An expert that watches one game. */
export interface Expert {
  /** Takes in what a command was answered; the first observation answers none. */
  see(observation: string, command?: string): void
  /** The next intent; undefined when the expert gives up. */
  next(): Intent | undefined
}

/** A command, and what speaks for it. */
export interface Intent {
  readonly command: string
  /** The goal and the progress: enough to continue without reading the task again. @example 'heat mug to shelf: mug 2 at desk 1' */
  readonly thought: string
}

// Each next likely place holds the thing about this much less often than the one before it.
const decay = 0.65
// The same for kinds of places that are not on the list of likely ones.
const unlikely = 0.03

/** Where an expert looks first: where such a thing likely is, or anywhere, in an order that differs from game to game. */
export type Search = 'likely' | 'any'

/** An expert for a game of that dialect. */
export function createExpert(dialect: Dialect, search: Search = 'likely'): Expert {
  let mind: Mind | undefined
  return {
    see(observation, command) {
      if (command !== undefined) {
        mind?.learn(command, observation)
        return
      }
      const task = dialect.readTask(observation)
      const order =
        search === 'any' ? (place: string) => seedOf(0, 'search', observation, place) / 2 ** 32 : undefined
      mind = task && new Mind(dialect, task, dialect.readPlaces(observation), order)
    },
    next: () => mind?.decide(),
  }
}

/** The expert's beliefs and decisions. */
class Mind {
  readonly #dialect: Dialect
  readonly #task: TaskReading
  readonly #places: readonly string[]
  /** From 0 to 1, greater for places where it looks earlier; undefined: by where things likely are. */
  readonly #order: ((place: string) => number) | undefined
  readonly #contents = new Map<string, string[]>()
  readonly #closed = new Set<string>()
  readonly #unusable = new Set<string>()
  /** Places that refused to hold what is in the hand. */
  readonly #refusing = new Set<string>()
  #at: string | undefined
  #held: string | undefined
  /** Where it was taken from. */
  #origin: string | undefined
  #treated = false
  #lit = false
  #decided: string | undefined
  #stuck = false
  /** How far it is, in words. */
  #stand = ''

  constructor(
    dialect: Dialect,
    task: TaskReading,
    places: readonly string[],
    order: ((place: string) => number) | undefined,
  ) {
    this.#order = order
    this.#dialect = dialect
    this.#task = task
    this.#places = places
  }

  learn(command: string, observation: string): void {
    if (observation.startsWith('Nothing happens')) this.#refused(command)
    else this.#done(command, this.#dialect.readContents(observation))
  }

  decide(): Intent | undefined {
    const command = this.#stuck ? undefined : this.#choose()
    this.#decided = command
    return command === undefined ? undefined : { command, thought: `${this.#goal()}: ${this.#stand}` }
  }

  #goal(): string {
    const task = this.#task
    if (task.kind === 'light') return `${task.thing} under ${task.lamp}`
    const what = task.count > 1 ? `two ${task.thing}` : task.thing
    return `${task.treatment ?? 'bring'} ${what} to ${task.place}`
  }

  /** A command of others that is refused tells nothing; one of its own leaves these ways on. */
  #refused(command: string): void {
    if (command !== this.#decided) return
    const { kind, thing, place } = this.#dialect.words.read(command) ?? {}
    if (kind === 'go') this.#at = place
    else if (kind === 'take' && thing !== undefined) this.#unusable.add(thing)
    else if (kind === 'put' && thing !== undefined && place !== undefined && !this.#wants(thing))
      this.#refusing.add(place)
    else this.#stuck = true
  }

  #done(command: string, contents: Contents | undefined): void {
    const { kind, thing, place } = this.#dialect.words.read(command) ?? {}
    if (kind === 'use' && this.#held !== undefined) this.#lit = true
    if (kind === 'clean' || kind === 'heat' || kind === 'cool')
      this.#treated ||= this.#task.kind === 'place' && kind === this.#task.treatment
    if (place === undefined) return
    if (kind === 'take' && thing !== undefined) this.#hold(thing, place)
    if (!this.#places.includes(place)) return
    if (kind === 'go') this.#at = place
    if (kind === 'go' || kind === 'open' || kind === 'examine') this.#look(place, contents)
    if (kind === 'close') this.#closed.add(place)
    if (kind === 'put' && thing !== undefined && thing === this.#held) this.#release(thing, place)
  }

  #write(kind: CommandKind, names: CommandNames): string {
    return this.#dialect.words.write(kind, names)
  }

  /** Whether a thing is of the kind that is asked for. */
  #wants(thing: string): boolean {
    return kindOf(thing) === this.#task.thing
  }

  #choose(): string | undefined {
    const task = this.#task
    if (this.#held === undefined) return this.#fetch(task)
    if (!this.#wants(this.#held)) return this.#leave(this.#held)
    if (task.kind === 'light') return this.#light(this.#held, task.lamp)
    if (task.treatment !== undefined && !this.#treated) return this.#treat(this.#held, task.treatment)
    return this.#deliver(this.#held, task)
  }

  #fetch(task: TaskReading): string | undefined {
    const enough = task.kind === 'place' && task.count > 1 ? this.#destination(task) : undefined
    for (const [place, things] of this.#contents) {
      if (place === enough) continue
      const thing = things.find((name) => this.#wants(name) && !this.#unusable.has(name))
      if (thing === undefined) continue
      this.#stand = `${thing} at ${place}`
      return this.#goTo(place) ?? this.#open(place) ?? this.#write('take', { thing, place })
    }
    this.#stand = `no ${task.thing}`
    return this.#explore(task.thing)
  }

  /** A thing that is not asked for is in the hand: it is put back, or down where that works. */
  #leave(held: string): string | undefined {
    const places = [this.#origin, this.#at, ...this.#places].filter((name) => name !== undefined)
    const place = places.find((name) => !this.#refusing.has(name))
    if (place === undefined) return undefined
    this.#stand = `wrong ${held}`
    return this.#goTo(place) ?? this.#open(place) ?? this.#write('put', { thing: held, place })
  }

  #light(held: string, lampKind: string): string | undefined {
    for (const [place, things] of this.#contents) {
      const lamp = things.find((name) => kindOf(name) === lampKind)
      if (lamp === undefined) continue
      this.#stand = `have ${held}, ${lamp} at ${place}`
      // Lit and held at the lamp's place, and still not won: this expert knows no more.
      return this.#goTo(place) ?? (this.#lit ? undefined : this.#write('use', { thing: lamp, place }))
    }
    this.#stand = `have ${held}, no ${lampKind}`
    return this.#explore(lampKind)
  }

  #treat(held: string, verb: 'clean' | 'heat' | 'cool'): string | undefined {
    const appliance = this.#dialect.appliances[verb]
    this.#stand = `have ${held}`
    const place = this.#places.find((name) => kindOf(name) === appliance)
    return place === undefined ? undefined : (this.#goTo(place) ?? this.#write(verb, { thing: held, place }))
  }

  #deliver(held: string, task: TaskReading & { kind: 'place' }): string | undefined {
    const place = this.#destination(task)
    if (place === undefined) return undefined
    const seen = this.#contents.has(place)
    this.#stand = `ready ${held}`
    return (
      this.#goTo(place) ??
      this.#open(place) ??
      (seen ? this.#write('put', { thing: held, place }) : this.#write('examine', { place }))
    )
  }

  /** The place asked for that already holds most of the things, else the first. */
  #destination(task: TaskReading & { kind: 'place' }): string | undefined {
    let best: { place: string; count: number } | undefined
    for (const place of this.#places) {
      if (kindOf(place) !== task.place) continue
      const count = (this.#contents.get(place) ?? []).filter((name) => kindOf(name) === task.thing).length
      if (best === undefined || count > best.count) best = { place, count }
    }
    return best?.place
  }

  /** Looks where finding the thing is likeliest per command spent, or in its own order. */
  #explore(thing: string): string | undefined {
    const likely = this.#dialect.likely(thing)
    let best: { place: string; value: number } | undefined
    for (const place of this.#places) {
      if (this.#contents.has(place)) continue
      const kind = kindOf(place)
      const rank = likely.indexOf(kind)
      const alike = this.#places.filter((other) => kindOf(other) === kind).length
      const cost = (place === this.#at ? 0 : 1) + (this.#dialect.closable(kind) ? 1 : 0)
      const value = this.#order?.(place) ?? (rank < 0 ? unlikely : decay ** rank) / alike / Math.max(cost, 1)
      // A place that was found closed and is within reach is opened first.
      const here = place === this.#at ? value + 1 : value
      if (best === undefined || here > best.value) best = { place, value: here }
    }
    if (best === undefined) return undefined
    return this.#goTo(best.place) ?? this.#open(best.place) ?? this.#write('examine', { place: best.place })
  }

  #look(place: string, contents: Contents | undefined): void {
    if (contents === undefined) return
    if (contents.closed) this.#closed.add(place)
    else {
      this.#closed.delete(place)
      this.#contents.set(place, [...contents.things])
    }
  }

  #hold(thing: string, place: string): void {
    const rest = (this.#contents.get(place) ?? []).filter((name) => name !== thing)
    if (this.#contents.has(place)) this.#contents.set(place, rest)
    this.#held = thing
    this.#origin = place
    this.#treated = false
    this.#lit = false
    this.#refusing.clear()
  }

  #release(thing: string, place: string): void {
    this.#contents.set(place, [...(this.#contents.get(place) ?? []), thing])
    this.#held = undefined
  }

  #goTo(place: string): string | undefined {
    return this.#at === place ? undefined : this.#write('go', { place })
  }

  #open(place: string): string | undefined {
    return this.#closed.has(place) ? this.#write('open', { place }) : undefined
  }
}
