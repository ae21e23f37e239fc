/**
 * From what a policy said to what it does: text to an assistant message with tool calls.
 *
 * There is one grammar. An action is text, thoughts and calls, read from left to right; a model family's form says how a call begins and
 * ends, and how its JSON looks.
 *
 * Invariants
 * - Never throws, whatever the text; what is wrong comes back as problems, each with a sentence for the agent.
 * - Time grows with the text's length at most, and calls, nesting and length are bounded.
 * - [READING-1] A call is taken only when it is complete, and nothing of it is left out: it is a call, a problem, or part of the content.
 * - [READING-2] A thought contains no call. An action whose thought does not end says and calls nothing.
 * - [READING-3] The content is what was sampled, thoughts included, without the calls that were taken; `said` is the content without thoughts.
 * - Parsing what a template rendered gives the message back (contents without marks of calls and thoughts).
 */

import type { AssistantMessage, ToolCall } from '../../messages/message.ts'
import { alternationOf } from '../tokenizer/tokenizer.ts'
import {
  type ActionProblem,
  type ActionProblemKind,
  actionProblem,
  type CallWords,
  hermesWords,
  maxCalls,
  maxLength,
} from './action-problem.ts'
import {
  type CallKeys,
  callClosing,
  callOpening,
  type InterpretedCall,
  interpretCalls,
  interpretNamed,
  meansCalls,
  type Scan,
  scanJson,
  skipBlanks,
} from './call-json.ts'
import { ordinaryThoughts, type ThoughtMarks, type ThoughtReading } from './thoughts.ts'

/** The content and the calls of an action, and the parts that could not be understood. */
export interface ParsedAction {
  /** Text outside of calls, and the calls that are complete. */
  readonly message: AssistantMessage
  readonly problems: readonly ActionProblem[]
}

/** The form in which a family of models writes calls. */
export interface CallForm {
  readonly words: CallWords
  /** The text that begins a call. */
  readonly opening: string
  /** The text that ends one; without it a call ends with its JSON. */
  readonly closing?: string
  /** Whether an action may be calls without an opening, several one after the other and text behind them. */
  readonly bare?: true
  /** Whether the name may stand before the JSON of the arguments: `NAME[ARGS]{…}`. */
  readonly named?: true
  readonly keys: CallKeys
  /** The content before a call, without what the template puts between them. */
  readonly beforeCall: (content: string) => string
}

/** Reads an action's text, without the token that ends it. Never throws. */
export function readAction(
  text: string,
  form: CallForm,
  thoughts: ThoughtReading = ordinaryThoughts,
): ParsedAction {
  if (text.length <= maxLength) return new Reading(text, form, thoughts).read()
  return {
    message: { role: 'assistant', content: text.slice(0, maxLength) },
    problems: [actionProblem('too_long', form.words)],
  }
}

/** `NAME[ARGS]{…}`, and without the mark `NAME{…}`. */
const callName = /^([^\s[\]{}"]{1,200})(?:\[CALL_ID\]\w{0,64})?(?:\[ARGS\])?\s*(?=\{)/
const maxNameLength = 400

/** JSON in the place of a call: what it means and where it ends, or why it does not end. */
type Payload =
  | { readonly kind: 'value'; readonly end: number; readonly read: readonly InterpretedCall[] }
  | Exclude<Scan, { readonly kind: 'value' }>

/** Content between calls: as it was sampled, and without its thoughts. */
interface Piece {
  whole: string
  said: string
}

class Reading {
  readonly #text: string
  readonly #form: CallForm
  readonly #thoughts: ThoughtReading
  readonly #pairs: ReadonlyMap<string, ThoughtMarks>
  /** Everything that may begin or end a thought, or begin a call. */
  readonly #marks: RegExp
  #pieces: Piece[] = [{ whole: '', said: '' }]
  #calls: ToolCall[] = []
  #problems: ActionProblem[] = []
  /** Calls so far, well-formed or not. */
  #count = 0
  #thought = false
  /** Calls that turned out to be part of a thought. */
  #drafted = false
  #at = 0

  constructor(text: string, form: CallForm, thoughts: ThoughtReading) {
    this.#text = text
    this.#form = form
    this.#thoughts = thoughts
    const { marks } = thoughts
    this.#pairs = new Map(marks.map((pair) => [pair.opening, pair]))
    const texts = [...marks.flatMap(({ opening, closing }) => [opening, closing]), form.opening]
    this.#marks = new RegExp(alternationOf(texts) ?? '', 'g')
  }

  read(): ParsedAction {
    if (this.#thoughts.open !== undefined) this.#readThought(this.#thoughts.open, 0)
    while (this.#at < this.#text.length) {
      if (this.#count > maxCalls) {
        this.#say(this.#text.length)
        break
      }
      if (!this.#readBare()) this.#readNext()
    }
    const isRead = this.#problems.length === 0
    if (this.#form.bare && isRead && this.#pieces.some(({ said }) => holdsCall(said, this.#form)))
      this.#fail('call_within_text')
    else if (this.#drafted && isRead && this.#calls.length === 0) this.#fail('unopened_thought')
    return this.#result()
  }

  /** Text up to the next mark, and what the mark begins or ends. */
  #readNext(): void {
    this.#marks.lastIndex = this.#at
    const found = this.#marks.exec(this.#text)
    this.#say(found?.index ?? this.#text.length)
    if (found === null) return
    const [mark] = found
    const after = this.#at + mark.length
    const pair = this.#pairs.get(mark)
    if (mark === this.#form.opening) this.#readCall(after)
    else if (pair === undefined) this.#endThought(after)
    else this.#readThought(pair, after)
  }

  #say(end: number): void {
    const text = this.#text.slice(this.#at, end)
    const piece = this.#lastPiece()
    piece.whole += text
    piece.said += text
    this.#at = end
  }

  #think(end: number): void {
    this.#lastPiece().whole += this.#text.slice(this.#at, end)
    this.#thought = true
    this.#at = end
  }

  #readThought({ closing }: ThoughtMarks, from: number): void {
    const end = this.#text.indexOf(closing, from)
    if (end === -1) this.#fail('unclosed_thought')
    this.#think(end === -1 ? this.#text.length : end + closing.length)
  }

  /** An end without a beginning: as engines of the field read it, all before it was thought. */
  #endThought(end: number): void {
    this.#drafted ||= this.#count > 0
    this.#at = 0
    this.#calls = []
    this.#problems = []
    this.#pieces = [{ whole: '', said: '' }]
    this.#think(end)
  }

  /** Reads calls that nothing opens, where nothing was said before them. @returns whether there are any */
  #readBare(): boolean {
    if (!this.#form.bare || this.#calls.length > 0 || this.#pieces.some(({ said }) => said.trim() !== ''))
      return false
    const begin = skipBlanks(this.#text, this.#at)
    if (!'{['.includes(this.#text.charAt(begin)) || !meansCalls(this.#text, begin)) return false
    this.#readCall(begin)
    return true
  }

  /** Reads a call, or several where the form has them one after the other, from behind its opening. */
  #readCall(start: number): void {
    const text = this.#text
    const { closing = '', bare } = this.#form
    for (let at = skipBlanks(text, start); ; ) {
      const payload = this.#payloadAt(at)
      const after = payload.kind === 'value' ? skipBlanks(text, payload.end) : at
      if (payload.kind !== 'value' || !this.#endsAt(after)) {
        this.#skipBroken(at, payload.kind)
        return
      }
      this.#take(payload.read, after + closing.length)
      if (bare === undefined) return
      const next = ';,'.includes(text.charAt(this.#at)) ? skipBlanks(text, this.#at + 1) : this.#at
      if (text[next] !== '{' || this.#count > maxCalls) return
      at = next
    }
  }

  /** Whether a call may end where its JSON does. */
  #endsAt(at: number): boolean {
    const { closing, bare, opening } = this.#form
    if (closing !== undefined) return this.#text.startsWith(closing, at)
    return bare === true || at === this.#text.length || this.#text.startsWith(opening, at)
  }

  /** The JSON of a call, or of a list of calls. */
  #payloadAt(at: number): Payload {
    const { named, keys } = this.#form
    const name = named === true ? callName.exec(this.#text.slice(at, at + maxNameLength)) : null
    const begin = at + (name?.[0].length ?? 0)
    const scanned = scanJson(this.#text, begin)
    if (scanned.kind !== 'value') return scanned
    const json = this.#text.slice(begin, scanned.end)
    const read = name?.[1] === undefined ? interpretCalls(json, keys) : [interpretNamed(name[1], json)]
    return { ...scanned, read }
  }

  /** Takes calls that stand together, all or none of them. */
  #take(read: readonly InterpretedCall[], end: number): void {
    this.#count += read.length
    const calls = read.flatMap((each) => ('call' in each ? [each.call] : []))
    if (this.#count > maxCalls) this.#fail('too_many_calls')
    else for (const each of read) if ('problem' in each) this.#fail(each.problem)
    if (this.#count > maxCalls || calls.length < read.length) {
      this.#say(end)
      return
    }
    this.#calls.push(...calls)
    this.#pieces.push({ whole: '', said: '' })
    this.#at = end
  }

  /** Leaves a call that is not complete as text, up to where it may end or a thought begins. */
  #skipBroken(from: number, kind: Payload['kind']): void {
    const { closing, opening } = this.#form
    const mark = this.#text.indexOf(closing ?? opening, from)
    const isOpen = closing === undefined ? kind === 'unclosed' : mark === -1
    if (++this.#count > maxCalls) this.#fail('too_many_calls')
    else this.#fail(kind === 'too_deep' ? 'too_deep' : isOpen ? 'unclosed_call' : 'not_json')
    const end = mark === -1 ? this.#text.length : mark + (closing?.length ?? 0)
    this.#say(this.#thoughtWithin(from, end))
  }

  /** Where a thought begins within a part of the text; the part's end where none does. */
  #thoughtWithin(from: number, end: number): number {
    this.#marks.lastIndex = from
    for (;;) {
      const found = this.#marks.exec(this.#text)
      if (found === null || found.index >= end) return end
      if (this.#pairs.has(found[0])) return found.index
    }
  }

  #fail(kind: ActionProblemKind): void {
    this.#problems.push(actionProblem(kind, this.#form.words))
  }

  #lastPiece(): Piece {
    return this.#pieces[this.#pieces.length - 1] as Piece
  }

  #result(): ParsedAction {
    const message: AssistantMessage = {
      role: 'assistant',
      content: this.#joined(({ whole }) => whole),
      ...(this.#thought ? { said: this.#joined(({ said }) => said).trim() } : {}),
      ...(this.#calls.length > 0 ? { tool_calls: this.#calls } : {}),
    }
    return { message, problems: this.#problems }
  }

  /** Text around calls, without the separators that stand for themselves. */
  #joined(textOf: (piece: Piece) => string): string {
    const [before = '', ...others] = this.#pieces.map(textOf)
    if (others.length === 0) return before
    return [this.#form.beforeCall(before), ...others.filter((text) => text.trim() !== '')].join('')
  }
}

/** How many objects within a text may be looked at as calls. */
const maxLooks = 16
const beginsCall = /\{\s*"(?:type|name|parameters|arguments)"\s*:/g

/** Whether a text holds a complete call. */
function holdsCall(text: string, { keys }: CallForm): boolean {
  let looks = 0
  for (const { index } of text.matchAll(beginsCall)) {
    if (++looks > maxLooks) return false
    const scanned = scanJson(text, index)
    if (scanned.kind !== 'value') continue
    if (interpretCalls(text.slice(index, scanned.end), keys).some((read) => 'call' in read)) return true
  }
  return false
}

/** Qwen's, Hermes' and SmolLM2's form. */
export const hermesForm: CallForm = {
  words: hermesWords,
  opening: callOpening,
  closing: callClosing,
  keys: { arguments: ['arguments'], id: false },
  beforeCall: (content) => withoutEnd(content, '\n'),
}

/**
 * Reads an action in Hermes' form. Never throws.
 * @param separator what the template puts between contents and calls
 */
export function parseActionText(text: string, separator: string): ParsedAction {
  return readAction(text, { ...hermesForm, beforeCall: (content) => withoutEnd(content, separator) })
}

function withoutEnd(text: string, end: string): string {
  return end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text
}
