/**
 * Text from outside within what a Jinja template renders: marked, so that it cannot become a control token.
 *
 * A template may trim, split or quote its input, so text cannot be put in afterwards. A mark that no text has is put into
 * each text that would be a token, and removed when the rendering is cut into parts.
 *
 * Invariants
 * - [OUTSIDE-1] No text from outside gives an added token, whatever the template puts around it; and without the marks the rendering is that of
 *   the text itself.
 */
import type { JsonValue } from '../../messages/message.ts'
import { alternationOf, type TextPart } from '../tokenizer/tokenizer.ts'
import { outside, own } from './template.ts'

/** A noncharacter: Unicode reserves it for use within programs. */
const mark = '\uFDD0'

/** A token whose text is given. */
export interface GivenToken {
  readonly content: string
  readonly special: boolean
}

export class OutsideText {
  readonly #all: RegExp | undefined
  readonly #special: RegExp | undefined
  readonly #beginnings: ReadonlySet<string>

  constructor(added: readonly GivenToken[]) {
    // A token of one character is that character, wherever it comes from.
    const long = added.filter(({ content }) => content.trim().length > 1)
    const special = long.filter((token) => token.special)
    this.#all = alternationOf(long.map(({ content }) => content))
    this.#special = alternationOf(special.map(({ content }) => content))
    this.#beginnings = new Set(
      long.flatMap(({ content }) =>
        Array.from(content, (_, end) => content.slice(0, end)).filter((part) => part !== ''),
      ),
    )
  }

  /** Marks a text of an environment or of a call. */
  guard(text: string): string {
    return this.#guarded(text, this.#all)
  }

  /** Marks what an agent said; tokens that are no control tokens, such as those around thoughts, stay. */
  guardSaid(text: string): string {
    return this.#guarded(text, this.#special)
  }

  /** The same for every text of a JSON value, keys included. */
  guardJson<T extends JsonValue>(value: T): T {
    if (typeof value === 'string') return this.guard(value) as T
    if (Array.isArray(value)) return value.map((item) => this.guardJson(item)) as unknown as T
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.guard(key), this.guardJson(item as JsonValue)]),
    ) as T
  }

  /** Cuts a rendering: added tokens are the template's own, what is between them is text. */
  parts(rendered: string): TextPart[] {
    const sections = this.#all === undefined ? [rendered] : rendered.split(this.#all)
    return sections
      .map((section, index) => (index % 2 === 1 ? own(section) : outside(section.replaceAll(mark, ''))))
      .filter(({ text }) => text !== '')
  }

  #guarded(text: string, pattern: RegExp | undefined): string {
    const clean = text.replaceAll(mark, '\uFFFD')
    if (pattern === undefined) return clean
    const marked = clean.replace(new RegExp(pattern, 'g'), (token) => token.split('').join(mark))
    // The next text may be the rest of a token.
    return this.#beginsToken(marked) ? marked + mark : marked
  }

  #beginsToken(text: string): boolean {
    for (let length = Math.min(text.length, 64); length > 0; length--)
      if (this.#beginnings.has(text.slice(-length))) return true
    return false
  }
}
