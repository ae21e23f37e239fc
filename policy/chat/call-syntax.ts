/**
 * The syntaxes in which models of the field write tool calls, each with its reader.
 *
 * Invariants
 * - [CALL-SYNTAX-1] Reading never throws, whatever the text. What is wrong comes back as problems that show the agent the model's own form.
 * - A call is taken only when it is complete.
 */
import type { ToolCall } from '../../messages/message.ts'
import {
  type ActionProblem,
  actionProblem,
  type CallWords,
  maxCalls,
  messageOf,
  type ParsedAction,
  parseTagged,
  tooLong,
} from './action-parsing.ts'
import {
  type InterpretedCall,
  interpretCall,
  interpretCalls,
  interpretNamed,
  type Scan,
  scanJson,
  skipBlanks,
} from './call-json.ts'
import { callClosing, callOpening } from './tool-call.ts'

/** A way to write calls. */
export interface CallSyntax {
  /** Texts that belong to it, and are no control tokens within an action even where the tokenizer has them as tokens. */
  readonly marks: readonly string[]
  /** Whether what a template rendered of a call is written like this. */
  wrote(rendered: string): boolean
  /** What an action says, without the token that ends it. Never throws. */
  parse(text: string): ParsedAction
}

/** Qwen's, Hermes', and with lists SmolLM2's. */
export const hermesSyntax: CallSyntax = {
  marks: [callOpening, callClosing],
  wrote: (rendered) => rendered.includes(callOpening),
  parse: (text) => parseTagged(text, { separator: '\n', lists: true }),
}

const pythonTag = '<|python_tag|>'
const llamaWords: CallWords = {
  place: 'The tool call',
  closing: 'a closing brace',
  example: '{"name": "TOOL", "parameters": {"KEY": "VALUE"}} and nothing else',
}

/** Llama 3's: an action that is JSON and nothing else; several stand one after the other. */
const llamaSyntax: CallSyntax = {
  marks: [pythonTag],
  wrote: (rendered) => /\{\s*"name"/.test(rendered),
  parse: (text) => tooLong(text) ?? parseBare(text),
}

function parseBare(text: string): ParsedAction {
  const begin = skipBlanks(text, 0)
  const isTagged = text.startsWith(pythonTag, begin)
  let at = skipBlanks(text, isTagged ? begin + pythonTag.length : begin)
  if (!isTagged && !/^\{\s*"name"/.test(text.slice(at, at + 64)))
    return { message: messageOf(text, []), problems: [] }
  const reading = new Reading(llamaWords)
  for (;;) {
    const scanned = scanJson(text, at)
    if (scanned.kind !== 'value') {
      reading.fail(scanned)
      return reading.result('')
    }
    reading.add(interpretCall(text.slice(at, scanned.end), ['parameters', 'arguments']))
    at = skipBlanks(text, scanned.end)
    if (text[at] === ';' || text[at] === ',') at = skipBlanks(text, at + 1)
    // What follows the calls is text.
    if (text[at] !== '{' || reading.isFull) return reading.result(text.slice(at))
  }
}

const mistralOpening = '[TOOL_CALLS]'
const mistralArguments = '[ARGS]'
const mistralWords: CallWords = {
  place: `What follows ${mistralOpening}`,
  closing: 'a closing bracket',
  example: `${mistralOpening}[{"name": "TOOL", "arguments": {"KEY": "VALUE"}}]`,
}

/** Mistral's: a list of calls after a mark, or in later models a name and its arguments. */
const mistralSyntax: CallSyntax = {
  marks: [mistralOpening, mistralArguments, '[CALL_ID]'],
  wrote: (rendered) => rendered.includes(mistralOpening),
  parse: (text) => tooLong(text) ?? parseMarked(text),
}

function parseMarked(text: string): ParsedAction {
  const [content = '', ...others] = text.split(mistralOpening)
  const reading = new Reading(mistralWords)
  for (const part of others) {
    if (reading.isFull) break
    const begin = skipBlanks(part, 0)
    const named = namedCall(part, begin)
    const scanned = named?.scanned ?? scanJson(part, begin, part[begin] === '[' ? '[' : '{')
    if (scanned.kind !== 'value') reading.fail(scanned)
    else if (skipBlanks(part, scanned.end) < part.length) reading.add({ problem: 'not_json' })
    else if (named !== undefined)
      reading.add(interpretNamed(named.name, part.slice(named.begin, scanned.end)))
    else if (part[begin] === '[')
      for (const call of interpretCalls(part.slice(begin, scanned.end))) reading.add(call)
    else reading.add(interpretCall(part.slice(begin, scanned.end)))
  }
  return reading.result(others.length === 0 ? content : content.trimEnd())
}

/** `NAME[ARGS]{…}`, and without the mark `NAME{…}`. */
function namedCall(
  text: string,
  at: number,
): { readonly name: string; readonly begin: number; readonly scanned: Scan } | undefined {
  const found = /^([\w.-]{1,200})(?:\[CALL_ID\]\w{0,64})?(?:\[ARGS\])?(?=\{)/.exec(text.slice(at, at + 400))
  if (found === null) return undefined
  const begin = at + found[0].length
  return { name: found[1] ?? '', begin, scanned: scanJson(text, begin) }
}

/** Calls and problems as they are read. */
class Reading {
  readonly #words: CallWords
  readonly #calls: ToolCall[] = []
  readonly #problems: ActionProblem[] = []
  #count = 0

  constructor(words: CallWords) {
    this.#words = words
  }

  get isFull(): boolean {
    return this.#count > maxCalls
  }

  add(read: InterpretedCall): void {
    if (this.isFull) return
    if (++this.#count > maxCalls) this.#problems.push(actionProblem('too_many_calls'))
    else if ('call' in read) this.#calls.push(read.call)
    else this.#problems.push(actionProblem(read.problem, this.#words))
  }

  fail({ kind }: Scan): void {
    const problem = kind === 'too_deep' ? kind : kind === 'unclosed' ? 'unclosed_call' : 'not_json'
    this.#problems.push(actionProblem(problem, this.#words))
  }

  result(content: string): ParsedAction {
    return { message: messageOf(content, this.#calls), problems: this.#problems }
  }
}

/** The syntax in which a template wrote a call; undefined where it is none that can be read. */
export function syntaxOf(rendered: string): CallSyntax | undefined {
  return [mistralSyntax, hermesSyntax, llamaSyntax].find((syntax) => syntax.wrote(rendered))
}
