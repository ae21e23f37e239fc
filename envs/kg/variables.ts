/**
 * The variables of one question: `#0`, `#1`, …, and the calls that make and read them.
 *
 * Invariants
 * - A variable keeps its number and its set; a call that fails makes none.
 * - `#k` is always a variable; any other text is an entity, first of the question, then of the graph.
 * - A call that cannot be carried out is answered with the calls that can.
 */
import { type Answer, refused } from '../contract/agent-tool.ts'
import { variableIndex } from './actions.ts'
import { type Derivation, lengthOf, type SetDerivation } from './graph/derivation.ts'
import { CostlyQuestion, type KnowledgeGraph } from './graph/graph.ts'
import { type KgCall, quote } from './tools.ts'
import type { Wording } from './wording.ts'

export interface Variable {
  readonly set: Derivation
  /** The type of its members, where the graph knows it. */
  readonly type: string | undefined
}

/** A call that the agent got wrong, in words for it. */
class Mistake extends Error {
  override readonly name = 'Mistake'
}

// A derivation is written out as one query: beyond this no server would answer it, and no question needs it.
const longestDerivation = 200
// The most names of an entity's or variable's relations in a hint.
const namesInHint = 25
const numberType = 'type.int'

export class Variables {
  readonly #graph: KnowledgeGraph
  readonly #entities: ReadonlyMap<string, string>
  readonly #wording: Wording
  readonly #variables: Variable[] = []
  // An entity is one set for the whole question, so that what is known of it is known once.
  readonly #starts = new Map<string, SetDerivation>()
  readonly #relations = new Map<SetDerivation, readonly string[]>()
  readonly #attributes = new Map<SetDerivation, readonly string[]>()

  /** @param entities ids by the names that the question gives */
  constructor(graph: KnowledgeGraph, entities: ReadonlyMap<string, string>, wording: Wording) {
    this.#graph = graph
    this.#entities = entities
    this.#wording = wording
  }

  at(index: number): Variable | undefined {
    return this.#variables[index]
  }

  /** The answer about a variable that does not exist. */
  missing(name: string): string {
    const last = this.#variables.length - 1
    const known = last < 0 ? 'There is none yet: get_neighbors makes the first' : `The last is #${last}`
    return `There is no variable ${name}. ${known}.`
  }

  /** Carries a call out. @throws EnvironmentFault where the graph is out of reach */
  async play(call: KgCall): Promise<Answer> {
    try {
      return await this.#carryOut(call)
    } catch (cause) {
      const isCostly = cause instanceof CostlyQuestion
      if (!(cause instanceof Mistake) && !isCostly) throw cause
      const answer = refused(this.#wording.problem(`${call.tool}: ${cause.message}`))
      return isCostly ? { ...answer, stops: 'Not carried out, because of the call before it.' } : answer
    }
  }

  async #carryOut({ tool, first, second }: KgCall): Promise<Answer> {
    switch (tool) {
      case 'get_relations':
        return { reply: this.#wording.list(await this.#relationsOf(this.#setOf(first))) }
      case 'get_attributes':
        return { reply: this.#wording.list(await this.#attributesOf(this.#variable(first).set)) }
      case 'get_neighbors': {
        const of = this.#setOf(first)
        const known = await this.#relationsOf(of)
        if (!known.includes(second))
          throw new Mistake(`relation must be a relation of the variable. ${hint(first, 'relation', known)}`)
        const type = await this.#graph.typeOf(second)
        return this.#add({ kind: 'neighbors', of, relation: second }, type)
      }
      case 'intersection': {
        const left = this.#variable(first)
        const right = this.#variable(second)
        if (left.type !== undefined && right.type !== undefined && left.type !== right.type)
          throw new Mistake(
            `two variables must have the same type. ${first} has ${left.type}, ${second} has ${right.type}.`,
          )
        const type = left.type ?? right.type
        return this.#add({ kind: 'intersection', left: left.set, right: right.set }, type)
      }
      case 'argmax':
      case 'argmin': {
        const { set, type } = this.#variable(first)
        const known = await this.#attributesOf(set)
        if (!known.includes(second))
          throw new Mistake(
            `attribute must be an attribute of the variable. ${hint(first, 'attribute', known)}`,
          )
        return this.#add({ kind: tool, of: set, attribute: second }, type)
      }
      case 'count':
        return this.#add({ kind: 'count', of: this.#variable(first).set }, numberType)
    }
  }

  #add(set: Derivation, type: string | undefined): Answer {
    if (lengthOf(set) > longestDerivation)
      throw new Mistake('too many steps lead to this variable. Start again from an entity.')
    const size = this.#graph.sizeOf(set)
    const index = this.#variables.push({ set, type }) - 1
    return {
      reply: set.kind === 'count' ? this.#wording.number(index) : this.#wording.variable(index, type),
      info: { variable: `#${index}`, ...(size === undefined ? {} : { size }) },
    }
  }

  async #relationsOf(set: SetDerivation): Promise<readonly string[]> {
    const relations = this.#relations.get(set) ?? (await this.#graph.relations(set))
    this.#relations.set(set, relations)
    return relations
  }

  async #attributesOf(set: SetDerivation): Promise<readonly string[]> {
    const attributes = this.#attributes.get(set) ?? (await this.#graph.attributes(set))
    this.#attributes.set(set, attributes)
    return attributes
  }

  /** An entity or a variable. */
  #setOf(text: string): SetDerivation {
    if (variableIndex(text) !== undefined) return this.#variable(text).set
    const id = this.#entities.get(text) ?? this.#graph.find(text)
    if (id === undefined) {
      const names = [...this.#entities.keys()].map(quote).join(', ')
      throw new Mistake(`variable must be a variable or an entity. There is no ${quote(text)}; use ${names}.`)
    }
    const start = this.#starts.get(id) ?? { kind: 'entity', id }
    this.#starts.set(id, start)
    return start
  }

  /** A variable that is a set of entities. */
  #variable(text: string): { readonly set: SetDerivation; readonly type: string | undefined } {
    const index = variableIndex(text)
    if (index === undefined) throw new Mistake(`${quote(text)} is no variable such as #0.`)
    const variable = this.#variables[index]
    if (variable === undefined) throw new Mistake(this.missing(text.trim().slice(0, 20)))
    const { set, type } = variable
    if (set.kind === 'count') throw new Mistake(`${text.trim()} is a number, not a set of entities.`)
    return { set, type }
  }
}

function hint(name: string, what: string, known: readonly string[]): string {
  if (known.length === 0) return `${cut(name)} has no ${what}.`
  const more = known.length > namesInHint ? ', …' : ''
  return `${cut(name)} has ${known.slice(0, namesInHint).join(', ')}${more}.`
}

function cut(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name
}
