/**
 * A text game in the form of ALFWorld: PDDL world, text grammar, raw commands.
 *
 * Invariants
 * - The same source and the same commands give the same states.
 * - A command that is not admissible says "Nothing happens." and changes nothing.
 * - Blanks around a command do not matter; everything else, such as case, does.
 * - A command is listed once and exactly while some action behind it is possible.
 */
import { reasonOf } from '../../faults/reason.ts'
import { type Domain, parseDomain, parseProblem, type Schema } from './domain.ts'
import { TextAdventureFault } from './fault.ts'
import { type Grammar, parseGrammar, type Wording, withTask } from './grammar.ts'
import { type Finding, Narrator } from './narrator.ts'
import { nameObjects } from './objects.ts'
import type { Query, TextSymbol, Value } from './symbol.ts'
import { type Instance, type PlannedDomain, planDomain, World } from './world.ts'

/** The source of a game, all texts as in an official `game.tw-pddl`. */
export interface GameSource {
  /** The kind of its task, where it is known. */
  readonly kind?: string | undefined
  readonly id: string
  /** PDDL domain. */
  readonly domain: string
  /** Text grammar (`twl2`) with `@@TASK@@` where the task goes, or with the task itself. */
  readonly grammar: string
  /** PDDL problem. */
  readonly problem: string
  /** The task as the first observation ends with it, "Your task is to: …". */
  readonly task: string
  /** Commands of an expert that win. */
  readonly walkthrough?: readonly string[] | undefined
}

/** One state as the player sees it, texts exactly as the official engine prints them. */
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
  /** Plays a raw command, also after the game is won. @throws Error before the first `start` */
  play(command: string): GameState
  /** Names the state of the world: see `World.digest`. */
  digest(): string
}

/** Opens a game; domain and grammar are compiled once per text. @throws TextAdventureFault bad_data, naming the game */
export function openGame(source: GameSource): Game {
  try {
    return new PddlGame(source)
  } catch (cause) {
    const reason = reasonOf(cause)
    throw new TextAdventureFault('bad_data', `game ${source.id} cannot be opened: ${reason}`, { cause })
  }
}

/** The texts that thousands of games share: the last few are kept compiled. */
const compiledKept = 8

const plannedDomains = new Map<string, PlannedDomain>()
const grammars = new Map<string, Grammar>()

function compiled<Result>(
  kept: Map<string, Result>,
  text: string,
  compile: (text: string) => Result,
): Result {
  const known = kept.get(text)
  if (known !== undefined) return known
  const result = compile(text)
  const oldest = kept.keys().next()
  if (kept.size >= compiledKept && oldest.done !== true) kept.delete(oldest.value)
  kept.set(text, result)
  return result
}

/** How a game's grammar has its actions called, by their names in lower case. @throws TextAdventureFault bad_data */
export function wordingsOf({ grammar }: GameSource): ReadonlyMap<string, Wording> {
  return compiled(grammars, grammar, parseGrammar).wordings
}

/** A kind of action with its words. */
interface Action {
  readonly schema: Schema
  readonly wording: Wording
  /** Positions of the parameters that the command depends on. */
  readonly named: readonly number[]
  /** Commands by the objects of those parameters. */
  readonly commands: Map<number, string>
}

class PddlGame implements Game {
  readonly #world: World
  readonly #narrator: Narrator
  readonly #commands: Commands
  readonly #actions: readonly Action[]
  #started = false

  constructor(source: GameSource) {
    const planned = compiled(plannedDomains, source.domain, (text) => planDomain(parseDomain(text)))
    const grammar = withTask(compiled(grammars, source.grammar, parseGrammar), source.task)
    this.#actions = planned.domain.schemas.map((schema) => wordedAction(schema, grammar, planned.domain))

    // The world reports actions while it is being made, before their words can be written.
    const early: Instance[] = []
    this.#commands = new Commands((instance) => this.#commandText(instance))
    let report = (instance: Instance, _possible: boolean): void => {
      early.push(instance)
    }
    this.#world = new World(planned, parseProblem(source.problem), (instance, possible) =>
      report(instance, possible),
    )
    const { objects, mentioned } = this.#world
    const names = nameObjects(objects.ids.filter((_, number) => mentioned.has(number)))
    this.#narrator = new Narrator(grammar.rules, objects, names, (name, arity) =>
      this.#world.narrated(name, arity),
    )
    report = (instance, possible) => this.#commands.change(instance, possible)
    for (const instance of early) report(instance, true)
  }

  start(): GameState {
    if (this.#started) this.#world.reset()
    this.#started = true
    return this.#state(this.#narrator.write([{ kind: 'rule', name: 'intro' }], undefined))
  }

  play(command: string): GameState {
    if (!this.#started) throw new Error('a game must be started before it is played')
    const instance = this.#commands.action(stripped(command))
    if (instance === undefined) return this.#state('Nothing happens.')
    this.#world.apply(instance)
    const { wording } = this.#actionOf(instance)
    return this.#state(this.#narrator.write(wording.feedback, this.#findings(instance)))
  }

  digest(): string {
    return this.#world.digest()
  }

  #state(observation: string): GameState {
    return { observation, admissible: this.#commands.list(), won: this.#world.won }
  }

  #actionOf(instance: Instance): Action {
    return this.#actions[instance.source.schema] as Action
  }

  #findings(instance: Instance): Finding | undefined {
    let findings: Finding | undefined
    this.#actionOf(instance).schema.parameters.forEach(({ name, type }, position) => {
      findings = { name, type, object: instance.values[position] as number, earlier: findings }
    })
    return findings
  }

  #commandText(instance: Instance): string {
    const { wording, named, commands } = this.#actionOf(instance)
    let key = 0
    for (const position of named)
      key = key * this.#world.objects.ids.length + (instance.values[position] as number)
    let text = commands.get(key)
    if (text === undefined) {
      text = this.#narrator.write(wording.template, this.#findings(instance))
      commands.set(key, text)
    }
    return text
  }
}

function wordedAction(schema: Schema, grammar: Grammar, domain: Domain): Action {
  const wording = grammar.wordings.get(schema.name)
  if (wording === undefined)
    throw new TextAdventureFault(
      'bad_data',
      `text grammar: action "${schema.name}" of the domain has no words`,
    )
  const asked = new Set<string>()
  let foreign = false
  for (const symbol of wording.template)
    visitSymbols(symbol, grammar, new Set(), (name, query) => {
      asked.add(name)
      const known = query?.every(({ placeholders }) =>
        placeholders.every((own) =>
          schema.parameters.some(({ name, type }) => name === own.name && type === own.type),
        ),
      )
      if (known === false) foreign = true
      const changing = query?.find(({ predicate }) => domain.fluents.has(predicate.replace(/^not_/, '')))
      if (changing !== undefined)
        throw new TextAdventureFault(
          'bad_data',
          `text grammar: the command of "${schema.name}" depends on "${changing.predicate}", which changes during play`,
        )
    })
  const positions = schema.parameters.flatMap(({ name }, position) =>
    foreign || asked.has(name) ? [position] : [],
  )
  return { schema, wording, named: positions, commands: new Map() }
}

/** Visits all names of objects and all conditions under a symbol. */
function visitSymbols(
  symbol: TextSymbol,
  grammar: Grammar,
  entered: Set<string>,
  visit: (name: string, query: Query | undefined) => void,
): void {
  if (symbol.kind === 'value') visitValue(symbol.value, visit)
  else if (symbol.kind === 'list') visitSymbols(symbol.symbol, grammar, entered, visit)
  else if (symbol.kind === 'each') {
    if (symbol.given !== undefined) visitQuery(symbol.given, visit)
    visitSymbols(symbol.symbol, grammar, entered, visit)
  } else if (symbol.kind === 'rule' && !entered.has(symbol.name)) {
    entered.add(symbol.name)
    for (const { condition, symbols } of grammar.rules.get(symbol.name) ?? []) {
      if (condition !== undefined) visitQuery(condition, visit)
      for (const inner of symbols) visitSymbols(inner, grammar, entered, visit)
    }
  }
}

function visitQuery(query: Query, visit: (name: string, query: Query | undefined) => void): void {
  for (const { placeholders } of query) for (const { name } of placeholders) visit(name, query)
}

function visitValue(value: Value, visit: (name: string, query: Query | undefined) => void): void {
  if (value.kind === 'object') visit(value.name, undefined)
  else if (value.kind !== 'text') {
    visitValue(value.left, visit)
    visitValue(value.right, visit)
  }
}

/** Characters that Python's `str.strip` removes: unlike `trim`, also U+001C to U+001F and U+0085, but not U+FEFF. */
const blank = '\\t-\\r\\u001c- \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

const outerBlanks = new RegExp(`^[${blank}]+|[${blank}]+$`, 'g')

function stripped(command: string): string {
  return command.replace(outerBlanks, '')
}

interface Command {
  readonly text: string
  /** Possible actions behind it, the first to have become possible first. */
  readonly actions: Instance[]
  listed: boolean
  touched: boolean
}

/** The commands that can be given now, in order. */
class Commands {
  readonly #byText = new Map<string, Command>()
  readonly #byInstance = new Map<Instance, Command>()
  readonly #textOf: (instance: Instance) => string
  #touched: Command[] = []
  #listed: readonly string[] = []

  constructor(textOf: (instance: Instance) => string) {
    this.#textOf = textOf
  }

  /** Takes note that an action became possible or impossible. */
  change(instance: Instance, possible: boolean): void {
    const command = this.#commandOf(instance)
    if (possible) command.actions.push(instance)
    else command.actions.splice(command.actions.indexOf(instance), 1)
    if (command.touched) return
    command.touched = true
    this.#touched.push(command)
  }

  /** The action that a command takes now. */
  action(text: string): Instance | undefined {
    return this.#byText.get(text)?.actions[0]
  }

  /** All commands of now, sorted; the same array while nothing changes. */
  list(): readonly string[] {
    if (this.#touched.length === 0) return this.#listed
    const added: string[] = []
    let removed = false
    for (const command of this.#touched) {
      command.touched = false
      const possible = command.actions.length > 0
      if (possible && !command.listed) added.push(command.text)
      if (!possible && command.listed) removed = true
      command.listed = possible
    }
    this.#touched = []
    if (added.length === 0 && !removed) return this.#listed
    const kept = removed ? this.#listed.filter((text) => this.#byText.get(text)?.listed) : this.#listed
    this.#listed = added.length === 0 ? kept : merge(kept, added.sort())
    return this.#listed
  }

  #commandOf(instance: Instance): Command {
    let command = this.#byInstance.get(instance)
    if (command === undefined) {
      const text = this.#textOf(instance)
      command = this.#byText.get(text)
      if (command === undefined) {
        command = { text, actions: [], listed: false, touched: false }
        this.#byText.set(text, command)
      }
      this.#byInstance.set(instance, command)
    }
    return command
  }
}

function merge(left: readonly string[], right: readonly string[]): string[] {
  const merged: string[] = []
  let at = 0
  for (const text of right) {
    while (at < left.length && (left[at] as string) < text) merged.push(left[at++] as string)
    merged.push(text)
  }
  while (at < left.length) merged.push(left[at++] as string)
  return merged
}
