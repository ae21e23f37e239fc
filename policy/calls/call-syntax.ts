/**
 * The syntaxes in which models of the field write tool calls: forms of the one grammar, each with the texts by which it is known.
 *
 * Invariants
 * - [CALL-SYNTAX-1] Reading never throws, whatever the text. Errors are returned as problems that show the agent the model's own form.
 * - A call is taken only when it is complete.
 */
import { type CallForm, hermesForm, type ParsedAction, readAction } from './action-parsing.ts'
import type { ThoughtReading } from './thoughts.ts'

/** A way to write calls. */
export interface CallSyntax {
  /** Texts that belong to it, and are no control tokens within an action even where the tokenizer has them as tokens. */
  readonly marks: readonly string[]
  /** Whether a text that a template rendered of a call may be written like this. */
  wrote(rendered: string): boolean
  /** Reads the text of an action, without the token that ends it. Never throws. */
  parse(text: string, thoughts?: ThoughtReading): ParsedAction
}

function syntaxIn(form: CallForm, own: Pick<CallSyntax, 'marks' | 'wrote'>): CallSyntax {
  return { ...own, parse: (text, thoughts) => readAction(text, form, thoughts) }
}

/** Qwen's, Hermes' and SmolLM2's. */
export const hermesSyntax = syntaxIn(hermesForm, {
  marks: [hermesForm.opening, hermesForm.words.closing],
  wrote: (rendered) => rendered.includes(hermesForm.opening),
})

const pythonTag = '<|python_tag|>'

/** Llama 3's: an action that is JSON and nothing else; several stand one after the other. */
const llamaSyntax = syntaxIn(
  {
    words: {
      place: 'The tool call',
      closing: 'a closing brace',
      key: 'parameters',
      example: '{"name": "TOOL", "parameters": {"KEY": "VALUE"}} and nothing else',
    },
    opening: pythonTag,
    bare: true,
    keys: { arguments: ['parameters', 'arguments'], id: false },
    beforeCall: (content) => content,
  },
  { marks: [pythonTag], wrote: (rendered) => /"name"\s*:/.test(rendered) },
)

const mistralOpening = '[TOOL_CALLS]'

/** Mistral's: a list of calls after a mark, or in later models a name and its arguments. */
const mistralSyntax = syntaxIn(
  {
    words: {
      place: `The text after ${mistralOpening}`,
      closing: 'a closing bracket',
      key: 'arguments',
      example: `${mistralOpening}[{"name": "TOOL", "arguments": {"KEY": "VALUE"}}]`,
    },
    opening: mistralOpening,
    named: true,
    keys: { arguments: ['arguments'], id: true },
    beforeCall: (content) => content.trimEnd(),
  },
  {
    marks: [mistralOpening, '[ARGS]', '[CALL_ID]'],
    wrote: (rendered) => rendered.includes(mistralOpening),
  },
)

/** The syntax in which a template wrote a call; undefined where it is none that can be read. */
export function syntaxOf(rendered: string): CallSyntax | undefined {
  return [mistralSyntax, hermesSyntax, llamaSyntax].find((syntax) => syntax.wrote(rendered))
}
