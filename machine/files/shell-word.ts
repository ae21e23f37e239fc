/** Words as a shell reads them. */

/** A text as one word, whatever is in it; a NUL, which no argument can hold, is left out. @example shellWord("it's") // 'it'\''s' */
export function shellWord(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`
}
