/**
 * The turns of an agent's episode as a tree: each follows the turn whose conversation its request extends.
 *
 * Invariants
 * - [TURN-TREE-1] A request follows the deepest turn whose messages, answers included, it begins with. So the context of a turn is what
 *   was sampled, and only messages after it are rendered.
 * - [TURN-TREE-2] After a restart an equal request gets the recorded turn, each turn once. A request that is none of those recorded at
 *   its place, while one of them has not been repeated, contradicts them.
 * - [TURN-TREE-3] The first turn that follows the end of a branch continues it; every other one begins a branch.
 * - An answer is recognized where the program sends it back with other white space around it, without its thoughts, or with the first
 *   of its calls alone.
 */
import type { AssistantMessage, Message } from '../../messages/message.ts'

/** A turn that was answered. */
export interface TreeTurn {
  /** Its number in the episode, in the order in which turns were stored. */
  readonly turn: number
  readonly branch: number
  /** The number of the turn before it; −1 where it begins the conversation. */
  readonly follows: number
  /** The messages of its request after those of the turn before. */
  readonly messages: readonly Message[]
  /** The answer as the program reads it. */
  readonly said: AssistantMessage
  /** [time] rendered messages, then what was sampled. */
  readonly prompt: Int32Array
  readonly tokens: Int32Array
  /** Digest of its request. */
  readonly request: string
  /** The body of its answer. */
  readonly answer: string
  /** JSON of the tools that the policy was shown last. */
  readonly tools: string
}

/** The prompt of a request: messages, or token ids. */
export type TreePrompt = { readonly messages: readonly Message[] } | { readonly ids: readonly number[] }

/** The place of a request in the tree. */
export interface TreePlace {
  readonly follows: TreeTurn | undefined
  /** How many of its messages or ids are known from the turns before. */
  readonly known: number
  /** A turn that was recorded at this place and not repeated since the restart: the request contradicts it. */
  readonly contradicts: TreeTurn | undefined
}

interface Node {
  readonly turn: TreeTurn
  /** Keys of the messages; keys of the ways in which the answer may be sent back. */
  readonly keys: readonly string[]
  readonly saidKeys: ReadonlySet<string>
}

export class TurnTree {
  readonly #nodes: Node[] = []
  readonly #children = new Map<number, Node[]>()
  /** Recorded before the restart, and not asked for since. */
  readonly #unrepeated = new Set<number>()
  /** Turns that a turn of their branch follows, or is about to. */
  readonly #continued = new Set<number>()
  #branches = 0

  /** @param recorded the turns before the restart, in their order */
  constructor(recorded: readonly TreeTurn[] = []) {
    for (const turn of recorded) {
      this.add(turn)
      this.#unrepeated.add(turn.turn)
      if (this.#nodes[turn.follows]?.turn.branch === turn.branch) this.#continued.add(turn.follows)
    }
  }

  get turns(): number {
    return this.#nodes.length
  }

  get branches(): number {
    return this.#branches
  }

  /** The last turn that was stored. */
  get last(): TreeTurn | undefined {
    return this.#nodes.at(-1)?.turn
  }

  /** The recorded turn of an equal request; from now on it is repeated. */
  repeat(request: string): TreeTurn | undefined {
    for (const number of this.#unrepeated) {
      const turn = this.#nodes[number]?.turn
      if (turn?.request !== request) continue
      this.#unrepeated.delete(number)
      return turn
    }
    return undefined
  }

  /** Where a request comes that is none of those recorded. */
  place(prompt: TreePrompt): TreePlace {
    const found =
      'ids' in prompt ? this.#deepestByIds(prompt.ids) : this.#deepestByKeys(prompt.messages.map(keyOf))
    const follows = found.node?.turn
    const beside = this.#children.get(follows?.turn ?? -1) ?? []
    const contradicted = beside.find(({ turn }) => this.#unrepeated.has(turn.turn))
    return { follows, known: found.known, contradicts: contradicted?.turn }
  }

  /** The branch of a turn that is about to be sampled. */
  begin(follows: TreeTurn | undefined): number {
    if (follows === undefined || this.#continued.has(follows.turn)) return this.#branches++
    this.#continued.add(follows.turn)
    return follows.branch
  }

  /** The turn is not sampled after all. */
  giveUp(follows: TreeTurn | undefined, branch: number): void {
    if (follows?.branch === branch) this.#continued.delete(follows.turn)
  }

  add(turn: TreeTurn): void {
    const node = { turn, keys: turn.messages.map(keyOf), saidKeys: new Set(saidKeysOf(turn.said)) }
    this.#nodes.push(node)
    this.#children.set(turn.follows, [...(this.#children.get(turn.follows) ?? []), node])
    this.#branches = Math.max(this.#branches, turn.branch + 1)
  }

  /** The turns from the beginning of the conversation to one of them. */
  path(tip: TreeTurn | undefined): readonly TreeTurn[] {
    const path: TreeTurn[] = []
    for (let turn = tip; turn !== undefined; turn = this.#nodes[turn.follows]?.turn) path.unshift(turn)
    return path
  }

  /** The tokens of an answer that a message sends back at another place; undefined where none was sampled so. */
  sampledAs(message: AssistantMessage): Int32Array | undefined {
    const key = keyOf(message)
    return this.#nodes.find(({ saidKeys }) => saidKeys.has(key))?.turn.tokens
  }

  #deepestByKeys(keys: readonly string[]): { readonly node: Node | undefined; readonly known: number } {
    return this.#deepest((node, at) => {
      const end = at + node.keys.length
      const isNext = node.keys.every((key, index) => keys[at + index] === key)
      return isNext && node.saidKeys.has(keys[end] ?? '') ? end + 1 : undefined
    })
  }

  #deepestByIds(ids: readonly number[]): { readonly node: Node | undefined; readonly known: number } {
    return this.#deepest(({ turn }, at) => {
      const end = at + turn.prompt.length
      const isNext =
        turn.prompt.every((id, index) => ids[at + index] === id) &&
        turn.tokens.every((id, index) => ids[end + index] === id)
      return isNext ? end + turn.tokens.length : undefined
    })
  }

  /** @param extended how many parts of a request are known after a node, from those before it; undefined: it does not extend the node */
  #deepest(extended: (node: Node, at: number) => number | undefined): {
    readonly node: Node | undefined
    readonly known: number
  } {
    let best: { readonly node: Node | undefined; readonly known: number } = { node: undefined, known: 0 }
    const open = [{ number: -1, at: 0 }]
    for (let here = open.pop(); here !== undefined; here = open.pop())
      for (const node of this.#children.get(here.number) ?? []) {
        const known = extended(node, here.at)
        if (known === undefined) continue
        open.push({ number: node.turn.turn, at: known })
        // A conversation that is not continued yet is preferred to an equal one.
        const isBetter = known > best.known || (known === best.known && this.#isContinued(best.node))
        if (isBetter) best = { node, known }
      }
    return best
  }

  #isContinued(node: Node | undefined): boolean {
    return node !== undefined && this.#continued.has(node.turn.turn)
  }
}

function keyOf(message: Message): string {
  if (message.role !== 'assistant')
    return JSON.stringify([message.role, message.content, message.role === 'tool' ? message.name : ''])
  const calls = (message.tool_calls ?? []).map(({ name, arguments: given }) => [name, ordered(given)])
  return JSON.stringify(['assistant', message.content.trim(), calls])
}

function saidKeysOf({ said, ...message }: AssistantMessage): readonly string[] {
  const contents = said === undefined ? [message.content] : [message.content, said]
  const calls = message.tool_calls ?? []
  const shortened = calls.length > 1 ? [calls, calls.slice(0, 1)] : [calls]
  return contents.flatMap((content) =>
    shortened.map((tool_calls) => keyOf({ role: 'assistant', content, tool_calls })),
  )
}

/** The same value with the keys of objects in order. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, ordered(each)]),
  )
}
