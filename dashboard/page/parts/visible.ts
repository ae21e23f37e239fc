/**
 * Texts of environments and agents as a page may show them: as they are, and with nothing in them that acts.
 *
 * Invariants
 * - [VISIBLE-1] Control characters, marks of direction and characters without width become signs; all else stays.
 * - [VISIBLE-2] The beginning of a text is a beginning of it, and is short, however long a line is.
 */

const shownLines = 14
const shownCharacters = 1600

/** The beginning of a text, which is shown before it is unfolded. */
export function beginningOf(text: string): string {
  let end = -1
  for (let line = 0; line < shownLines; line++) {
    end = text.indexOf('\n', end + 1)
    if (end === -1) break
  }
  const lines = end === -1 ? text : text.slice(0, end)
  // A few characters more than allowed are no reason to fold.
  if (lines.length <= shownCharacters + 200) return text.length - lines.length < 80 ? text : lines
  return lines.slice(0, shownCharacters)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are made visible
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g

/** Control characters and marks of direction as signs that are seen: they cannot change what is read. */
export function visible(text: string): string {
  return text.replaceAll(unseen, (character) => {
    const code = character.codePointAt(0) ?? 0
    return code < 0x20
      ? String.fromCodePoint(0x2400 + code)
      : `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
  })
}
