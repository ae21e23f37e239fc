/**
 * The state of one game: which facts hold, which actions can be taken, whether the goal is met.
 *
 * Invariants
 * - An action is possible exactly when a clause of its precondition holds and it would change something:
 *   actions without effect, such as going to where one is, are never possible.
 * - Effects look at the state before the action; what an action adds wins over what it takes away.
 * - `reset` leads back to the first state, whatever was played.
 * - [WORLD-1] Worlds of one problem have the same digest exactly when the same facts hold of those that a precondition, an
 *   effect's condition or the goal asks for: then the same actions are possible in both, and lead to equal digests again.
 *
 * Instances of actions are found when the fact that triggers them first holds, and then keep a count of
 * the literals that are not met; a change of a fact touches only the instances that ask for it.
 */
import { createHash } from 'node:crypto'
import type { Literal } from './clause.ts'
import type { Domain, Problem, Schema } from './domain.ts'
import { FactTable } from './facts.ts'
import { TextAdventureFault } from './fault.ts'
import {
  type BoundLiteral,
  type BoundPlan,
  bindClause,
  bindLiteral,
  bindPlan,
  instantiate,
  keyOf,
} from './grounding.ts'
import { Objects } from './objects.ts'
import { type Plan, planClause } from './plan.ts'

/** A fact that may change. */
interface Atom {
  readonly predicate: string
  readonly key: number
  readonly initial: boolean
  truth: boolean
  /** State of the fact in the texts: 1 it holds, −1 an action took it away, 0 it was never mentioned. */
  narrated: -1 | 0 | 1
  /** Whether the instances that it triggers have been made. */
  settled: boolean
  readonly needing: Instance[]
  readonly barring: Instance[]
}

interface GroundEffect {
  readonly atom: Atom
  readonly adds: boolean
  readonly conditions: readonly { readonly atom: Atom; readonly positive: boolean }[]
}

interface BoundEffect {
  readonly literal: BoundLiteral
  readonly conditions: readonly BoundLiteral[]
}

/** The clause of an action or of a part of the goal, bound to the game. */
interface Source {
  readonly plan: BoundPlan
  /** −1 for the goal. */
  readonly schema: number
  /** −1 for an action. */
  readonly goalPart: number
  readonly effects: readonly BoundEffect[]
  readonly mayIdle: boolean
}

/** A clause with values for all its variables. */
export interface Instance {
  readonly source: Source
  /** By variable number; the first are the parameters of the action. */
  readonly values: Int32Array
  unmet: number
  effects: readonly GroundEffect[] | undefined
}

/** The clauses of a domain with the order in which to search their instances. */
export interface PlannedDomain {
  readonly domain: Domain
  readonly plans: readonly { readonly schema: number; readonly plan: Plan; readonly mayIdle: boolean }[]
}

/** Plans all clauses of a domain; done once for all its games. */
export function planDomain(domain: Domain): PlannedDomain {
  const rarity = new Map<string, number>()
  for (const literal of domain.schemas.flatMap(({ clauses }) => clauses.flat()))
    if (literal.positive) rarity.set(literal.predicate, (rarity.get(literal.predicate) ?? 0) + 1)
  const plans = domain.schemas.flatMap((schema, number) =>
    schema.clauses.map((clause) => ({
      schema: number,
      plan: planClause(clause, domain.fluents, rarity, schema.parameters.length),
      mayIdle: mayIdle(schema, clause),
    })),
  )
  return { domain, plans }
}

function mayIdle(schema: Schema, clause: readonly Literal[]): boolean {
  return schema.effects.every(({ literal, conditions }) => {
    const alike = clause.some(
      (other) => other.predicate === literal.predicate && other.positive === literal.positive,
    )
    const undone = schema.effects.some(
      (other) => other.literal.predicate === literal.predicate && other.literal.positive,
    )
    return conditions.length > 0 || alike || (!literal.positive && undone)
  })
}

export class World {
  readonly objects: Objects
  /** Objects that the first facts mention. */
  readonly mentioned: ReadonlySet<number>
  readonly #domain: Domain
  readonly #fixed = new Map<string, FactTable>()
  readonly #atoms = new Map<string, Map<number, Atom>>()
  readonly #narrated = new Map<string, FactTable>()
  readonly #triggered = new Map<string, Source[]>()
  readonly #listener: (instance: Instance, possible: boolean) => void
  /** By part of the goal: how many of its instances hold. */
  readonly #met: number[]
  /** Predicates that change and that something depends on. */
  readonly #deciding: ReadonlySet<string>

  /** @param listener called with each instance of an action that becomes possible or impossible
   *  @throws TextAdventureFault bad_data where a fact does not fit the objects */
  constructor(
    planned: PlannedDomain,
    problem: Problem,
    listener: (instance: Instance, possible: boolean) => void,
  ) {
    this.#domain = planned.domain
    this.#listener = listener
    this.objects = new Objects(planned.domain, problem.objects)
    const mentioned = new Set<number>()
    for (const { predicate, objects } of problem.facts) {
      const numbers = objects.map((id) => this.#declared(id, predicate))
      for (const number of numbers) mentioned.add(number)
      const table = this.#fixedTable(predicate, numbers.length)
      if (table.arity !== numbers.length)
        throw new TextAdventureFault(
          'bad_data',
          `PDDL init: "${predicate}" has ${table.arity} and ${numbers.length} objects`,
        )
      table.add(table.key(numbers))
    }
    for (const id of problem.measured) mentioned.add(this.#declared(id, '='))
    this.mentioned = mentioned
    this.#met = problem.goal.map(() => 0)
    this.#deciding = decidingPredicates(planned.domain, problem)

    const untriggered: Source[] = []
    for (const source of this.#sources(planned, problem)) {
      const { trigger } = source.plan
      if (trigger === undefined) untriggered.push(source)
      else {
        const sources = this.#triggered.get(trigger.predicate) ?? []
        sources.push(source)
        this.#triggered.set(trigger.predicate, sources)
      }
    }
    for (const source of untriggered)
      instantiate(source.plan, undefined, (values) => this.#found(source, values))
    for (const predicate of planned.domain.fluents) {
      for (const key of this.#fixed.get(predicate)?.all() ?? []) this.#settle(this.#atom(predicate, key))
    }
  }

  get won(): boolean {
    return this.#met.every((count) => count > 0)
  }

  /** Names the facts that decide what happens from now on; 16 characters. */
  digest(): string {
    const changed: string[] = []
    for (const predicate of this.#deciding)
      for (const { key, truth, initial } of this.#atoms.get(predicate)?.values() ?? [])
        if (truth !== initial) changed.push(`${predicate} ${key}`)
    return createHash('sha256').update(changed.sort().join('\n')).digest('base64url').slice(0, 16)
  }

  /** The facts that texts may mention; `not_p` are those of `p` that actions took away. */
  narrated(name: string, arity: number): FactTable {
    const positive = !name.startsWith('not_')
    const predicate = positive ? name : name.slice('not_'.length)
    if (positive && !this.#domain.fluents.has(predicate)) return this.#fixedTable(predicate, arity)
    let table = this.#narrated.get(name)
    if (table === undefined) {
      table = new FactTable(this.objects.ids.length, arity)
      for (const { key, narrated } of this.#atoms.get(predicate)?.values() ?? [])
        if (narrated === (positive ? 1 : -1)) table.add(key)
      this.#narrated.set(name, table)
    }
    return table
  }

  /** Takes an action that is possible now. */
  apply(instance: Instance): void {
    instance.effects ??= this.#groundEffects(instance.source, instance.values)
    const fired = instance.effects.filter(({ conditions }) =>
      conditions.every(({ atom, positive }) => atom.truth === positive),
    )
    for (const { atom, adds } of fired) if (!adds) this.#set(atom, false)
    for (const { atom, adds } of fired) if (adds) this.#set(atom, true)
    for (const { atom, adds } of instance.effects) this.#narrate(atom, adds ? 1 : -1)
  }

  reset(): void {
    for (const atoms of this.#atoms.values()) {
      for (const atom of atoms.values()) {
        this.#set(atom, atom.initial)
        this.#narrate(atom, atom.initial ? 1 : 0)
      }
    }
  }

  #declared(id: string, predicate: string): number {
    const number = this.objects.number(id)
    if (number < 0)
      throw new TextAdventureFault('bad_data', `PDDL init: "${predicate}" names "${id}", which is no object`)
    return number
  }

  #fixedTable(predicate: string, arity: number): FactTable {
    let table = this.#fixed.get(predicate)
    if (table === undefined) {
      table = new FactTable(this.objects.ids.length, arity)
      this.#fixed.set(predicate, table)
    }
    return table
  }

  *#sources({ domain, plans }: PlannedDomain, problem: Problem): Iterable<Source> {
    const tableOf = (predicate: string, arity: number) => this.#fixedTable(predicate, arity)
    const effects = domain.schemas.map((schema) => this.#bindEffects(schema))
    for (const { schema, plan, mayIdle } of plans) {
      const bound = bindPlan(plan, domain.schemas[schema]?.types ?? [], this.objects, tableOf)
      if (bound !== undefined)
        yield { plan: bound, schema, goalPart: -1, effects: effects[schema] ?? [], mayIdle }
    }
    for (const [goalPart, { types, clauses }] of problem.goal.entries()) {
      for (const clause of clauses) {
        const bound = bindPlan(planClause(clause, domain.fluents, new Map(), 0), types, this.objects, tableOf)
        if (bound !== undefined) yield { plan: bound, schema: -1, goalPart, effects: [], mayIdle: false }
      }
    }
  }

  #bindEffects(schema: Schema): BoundEffect[] {
    return schema.effects.flatMap(({ literal, conditions }) => {
      const bound = bindLiteral(literal, this.objects)
      const when = bindClause(conditions, this.objects)
      return bound === undefined || when === undefined ? [] : [{ literal: bound, conditions: when }]
    })
  }

  #atom(predicate: string, key: number): Atom {
    let atoms = this.#atoms.get(predicate)
    if (atoms === undefined) {
      atoms = new Map()
      this.#atoms.set(predicate, atoms)
    }
    let atom = atoms.get(key)
    if (atom === undefined) {
      const initial = this.#fixed.get(predicate)?.has(key) ?? false
      atom = {
        predicate,
        key,
        initial,
        truth: initial,
        narrated: initial ? 1 : 0,
        settled: false,
        needing: [],
        barring: [],
      }
      atoms.set(key, atom)
    }
    return atom
  }

  /** Makes the instances that a fact triggers, once. */
  #settle(atom: Atom): void {
    if (atom.settled) return
    atom.settled = true
    const sources = this.#triggered.get(atom.predicate)
    if (sources === undefined) return
    for (const source of sources) {
      const table = this.#fixedTable(atom.predicate, source.plan.trigger?.terms.length ?? 0)
      instantiate(source.plan, { key: atom.key, table }, (values) => this.#found(source, values))
    }
  }

  #found(source: Source, values: Int32Array): void {
    const instance: Instance = { source, values: values.slice(), unmet: 0, effects: undefined }
    if (source.mayIdle) {
      instance.effects = this.#groundEffects(source, values)
      if (instance.effects.length === 0) return
    }
    for (const literal of source.plan.fluents) {
      const atom = this.#atom(literal.predicate, keyOf(literal, values, this.objects.ids.length))
      if (atom.truth !== literal.positive) instance.unmet++
      if (literal.positive) atom.needing.push(instance)
      else atom.barring.push(instance)
    }
    if (instance.unmet === 0) this.#report(instance, true)
  }

  #report(instance: Instance, possible: boolean): void {
    const { goalPart } = instance.source
    if (goalPart < 0) this.#listener(instance, possible)
    else this.#met[goalPart] = (this.#met[goalPart] as number) + (possible ? 1 : -1)
  }

  #set(atom: Atom, truth: boolean): void {
    if (atom.truth === truth) return
    atom.truth = truth
    for (const instance of truth ? atom.barring : atom.needing)
      if (instance.unmet++ === 0) this.#report(instance, false)
    for (const instance of truth ? atom.needing : atom.barring)
      if (--instance.unmet === 0) this.#report(instance, true)
    if (truth) this.#settle(atom)
  }

  #narrate(atom: Atom, narrated: Atom['narrated']): void {
    if (atom.narrated === narrated) return
    atom.narrated = narrated
    const positive = this.#narrated.get(atom.predicate)
    if (narrated === 1) positive?.add(atom.key)
    else positive?.delete(atom.key)
    const negative = this.#narrated.get(`not_${atom.predicate}`)
    if (narrated === -1) negative?.add(atom.key)
    else negative?.delete(atom.key)
  }

  /** Effects that can change something, given what the clause says of the state: additions first. */
  #groundEffects(source: Source, values: Int32Array): GroundEffect[] {
    const radix = this.objects.ids.length
    const atomOf = (literal: BoundLiteral) => this.#atom(literal.predicate, keyOf(literal, values, radix))
    const known = new Map<Atom, boolean>()
    for (const literal of source.plan.fluents) known.set(atomOf(literal), literal.positive)

    const ground: GroundEffect[] = []
    const added = new Set<Atom>()
    for (const adds of [true, false]) {
      for (const { literal, conditions } of source.effects) {
        if (literal.positive !== adds) continue
        const atom = atomOf(literal)
        const open: { atom: Atom; positive: boolean }[] = []
        let possible = true
        for (const condition of conditions) {
          const truth = this.#knownTruth(condition, values, known)
          if (truth === undefined) open.push({ atom: atomOf(condition), positive: condition.positive })
          else if (truth !== condition.positive) possible = false
        }
        if (!possible || added.has(atom)) continue
        if (adds && open.length === 0) added.add(atom)
        if (known.get(atom) !== adds) ground.push({ atom, adds, conditions: open })
      }
    }
    return ground
  }

  #knownTruth(
    literal: BoundLiteral,
    values: Int32Array,
    known: ReadonlyMap<Atom, boolean>,
  ): boolean | undefined {
    const key = keyOf(literal, values, this.objects.ids.length)
    if (!this.#domain.fluents.has(literal.predicate))
      return this.#fixedTable(literal.predicate, literal.terms.length).has(key)
    return known.get(this.#atom(literal.predicate, key))
  }
}

function decidingPredicates({ schemas, fluents }: Domain, { goal }: Problem): ReadonlySet<string> {
  const asked = [
    ...schemas.flatMap(({ clauses, effects }) => [
      ...clauses.flat(),
      ...effects.flatMap(({ conditions }) => conditions),
    ]),
    ...goal.flatMap(({ clauses }) => clauses.flat()),
  ]
  return new Set(asked.map(({ predicate }) => predicate).filter((predicate) => fluents.has(predicate)))
}
