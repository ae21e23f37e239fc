/**
 * Text as it may be written where a terminal can read it: lines for people, JSON documents, log files.
 *
 * Texts come from modules, environments, engines, trackers and files, and a terminal obeys the control codes in them: they
 * clear the screen, rewrite lines above, set the title or hide words.
 *
 * Invariants
 * - [SHOWN-TEXT-1] No control character but a line feed and a tab is left, and none that reorders text; each is replaced by one
 *   visible character, so that nothing is hidden and widths stay as they are.
 * - [SHOWN-TEXT-2] JSON has them escaped and parses to the same value, except that U+FFFD replaces a lone surrogate:
 *   orjson, serde and DuckDB refuse its escape.
 */

/** C0 but tab and line feed, DEL, C1, and the marks, embeddings, overrides and isolates of bidirectional text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const controls = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** JSON escapes C0 by itself; line separators end a line for some readers of JSON Lines. */
const unescaped = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Each is matched as a whole: `\\ud83d` is a backslash and five letters. */
const escapes = /\\(?:u[0-9a-f]{4}|.)/g
/** JSON.stringify escapes surrogates only where they stand alone. */
const loneSurrogate = /^\\ud[89a-f]/

/** A text with its control characters made visible. @example shownText('a\u001b[2J') // 'a␛[2J' */
export function shownText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(controls, visible)
}

/** The same on one line. */
export function shownLine(text: string): string {
  return shownText(text).replace(/[\n\t]+/g, ' ')
}

/** A value as one line of JSON. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value)
    .replace(escapes, (found) => (loneSurrogate.test(found) ? '\ufffd' : found))
    .replace(unescaped, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Unicode has pictures of C0 and DEL alone. */
function visible(control: string): string {
  const code = control.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}
