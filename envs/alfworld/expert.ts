/**
 * The expert: solves household games as an agent has to, from what it has seen so far.
 *
 * Invariants
 * - It is given observations only, never the game's state.
 * - The same observations give the same commands.
 * - It gives up (undefined) where it sees no way on; it never repeats a command where it was refused.
 * - Places may share a spot: where going to one does nothing, it is within reach already.
 */
import { type Contents, type Dialect, kindOf, type TaskReading } from './dialect.ts'

/** An expert at work on one game. */
export interface Expert {
  /** The next command after the observation, the first observation at first; undefined when it gives up. */
  next(observation: string): string | undefined
}

// Each next likely place holds the thing about this much less often than the one before it.
const decay = 0.65
// The same for kinds of places that are not on the list of likely ones.
const unlikely = 0.03

/** An expert for a game of that dialect. */
export function createExpert(dialect: Dialect): Expert {
  let mind: Mind | undefined
  let last: string | undefined
  return {
    next(observation) {
      if (mind === undefined) {
        const task = dialect.readTask(observation)
        if (task === undefined) return undefined
        mind = new Mind(dialect, task, dialect.readPlaces(observation))
      } else if (last === undefined || !mind.learn(observation)) return undefined
      last = mind.decide()
      return last
    },
  }
}

/** A command with what it changes if it works. */
interface Intent {
  readonly command: string
  readonly effect: (contents: Contents | undefined) => void
}

/** What the expert believes, and how it decides. */
class Mind {
  readonly #dialect: Dialect
  readonly #task: TaskReading
  readonly #places: readonly string[]
  readonly #contents = new Map<string, string[]>()
  readonly #closed = new Set<string>()
  readonly #unusable = new Set<string>()
  #at: string | undefined
  #held: string | undefined
  #treated = false
  #lit = false
  #intent: Intent | undefined

  constructor(dialect: Dialect, task: TaskReading, places: readonly string[]) {
    this.#dialect = dialect
    this.#task = task
    this.#places = places
  }

  /** Takes in the answer to the last command; false where that leaves no way on. */
  learn(observation: string): boolean {
    const intent = this.#intent
    if (intent === undefined) return false
    if (observation.startsWith('Nothing happens')) {
      const [, there] = /^go to (.+)$/.exec(intent.command) ?? []
      const [, taken] = /^take (.+) from /.exec(intent.command) ?? []
      if (there !== undefined) this.#at = there
      if (taken !== undefined) this.#unusable.add(taken)
      return there !== undefined || taken !== undefined
    }
    intent.effect(this.#dialect.readContents(observation))
    return true
  }

  decide(): string | undefined {
    this.#intent = this.#choose()
    return this.#intent?.command
  }

  #choose(): Intent | undefined {
    const task = this.#task
    if (this.#held === undefined) return this.#fetch(task)
    if (task.kind === 'light') return this.#light(task.lamp)
    if (task.treatment !== undefined && !this.#treated) return this.#treat(this.#held, task.treatment)
    return this.#deliver(this.#held, task)
  }

  #fetch(task: TaskReading): Intent | undefined {
    const enough = task.kind === 'place' && task.count > 1 ? this.#destination(task) : undefined
    for (const [place, things] of this.#contents) {
      if (place === enough) continue
      const thing = things.find((name) => kindOf(name) === task.thing && !this.#unusable.has(name))
      if (thing !== undefined) return this.#goTo(place) ?? this.#take(thing, place)
    }
    return this.#explore(task.thing)
  }

  #light(lampKind: string): Intent | undefined {
    for (const [place, things] of this.#contents) {
      const lamp = things.find((name) => kindOf(name) === lampKind)
      if (lamp === undefined) continue
      // Lit and held at the lamp's place, and still not won: this expert knows no more.
      return this.#goTo(place) ?? (this.#lit ? undefined : this.#use(lamp))
    }
    return this.#explore(lampKind)
  }

  #treat(held: string, verb: 'clean' | 'heat' | 'cool'): Intent | undefined {
    const appliance = this.#dialect.appliances[verb]
    const place = this.#places.find((name) => kindOf(name) === appliance)
    if (place === undefined) return undefined
    return (
      this.#goTo(place) ?? {
        command: `${verb} ${held} with ${place}`,
        effect: () => {
          this.#treated = true
        },
      }
    )
  }

  #deliver(held: string, task: TaskReading & { kind: 'place' }): Intent | undefined {
    const place = this.#destination(task)
    if (place === undefined) return undefined
    const seen = this.#contents.has(place)
    return this.#goTo(place) ?? this.#open(place) ?? (seen ? this.#put(held, place) : this.#examine(place))
  }

  /** Of the places asked for the one that holds most of the things already, else the first. */
  #destination(task: TaskReading & { kind: 'place' }): string | undefined {
    let best: { place: string; count: number } | undefined
    for (const place of this.#places) {
      if (kindOf(place) !== task.place) continue
      const count = (this.#contents.get(place) ?? []).filter((name) => kindOf(name) === task.thing).length
      if (best === undefined || count > best.count) best = { place, count }
    }
    return best?.place
  }

  /** Looks where finding the thing is likeliest per command spent. */
  #explore(thing: string): Intent | undefined {
    const likely = this.#dialect.likely(thing)
    let best: { place: string; value: number } | undefined
    for (const place of this.#places) {
      if (this.#contents.has(place)) continue
      const kind = kindOf(place)
      const rank = likely.indexOf(kind)
      const alike = this.#places.filter((other) => kindOf(other) === kind).length
      const cost = (place === this.#at ? 0 : 1) + (this.#dialect.closable(kind) ? 1 : 0)
      const value = (rank < 0 ? unlikely : decay ** rank) / alike / Math.max(cost, 1)
      // A place that was found closed and is within reach is opened first.
      const here = place === this.#at ? value + 1 : value
      if (best === undefined || here > best.value) best = { place, value: here }
    }
    if (best === undefined) return undefined
    return this.#goTo(best.place) ?? this.#open(best.place) ?? this.#examine(best.place)
  }

  #see(place: string, contents: Contents | undefined): void {
    if (contents === undefined) return
    if (contents.closed) this.#closed.add(place)
    else {
      this.#closed.delete(place)
      this.#contents.set(place, [...contents.things])
    }
  }

  #goTo(place: string): Intent | undefined {
    if (this.#at === place) return undefined
    return {
      command: `go to ${place}`,
      effect: (contents) => {
        this.#at = place
        this.#see(place, contents)
      },
    }
  }

  #open(place: string): Intent | undefined {
    if (!this.#closed.has(place)) return undefined
    return { command: `open ${place}`, effect: (contents) => this.#see(place, contents) }
  }

  #examine(place: string): Intent {
    return { command: `examine ${place}`, effect: (contents) => this.#see(place, contents) }
  }

  #take(thing: string, place: string): Intent {
    return {
      command: `take ${thing} from ${place}`,
      effect: () => {
        const rest = (this.#contents.get(place) ?? []).filter((name) => name !== thing)
        this.#contents.set(place, rest)
        this.#held = thing
        this.#treated = false
      },
    }
  }

  #put(thing: string, place: string): Intent {
    return {
      command: this.#dialect.put(thing, place),
      effect: () => {
        this.#contents.set(place, [...(this.#contents.get(place) ?? []), thing])
        this.#held = undefined
      },
    }
  }

  #use(lamp: string): Intent {
    return {
      command: `use ${lamp}`,
      effect: () => {
        this.#lit = true
      },
    }
  }
}
