/**
 * Warnings about a data folder.
 *
 * Invariants
 * - A folder gives a bounded number of warnings, and the last one counts those left out.
 * - A file of which no entry can be used is another kind of file, and gives one.
 */

const mostWarnings = 20
const longestWarning = 500

export class Warnings {
  readonly #task: string
  readonly #texts: string[] = []
  #more = 0

  /** @param task its name, which every warning begins with */
  constructor(task: string) {
    this.#task = task
  }

  add(text: string): void {
    if (this.#texts.length < mostWarnings)
      this.#texts.push(`${this.#task} data: ${text.slice(0, longestWarning)}`)
    else this.#more++
  }

  /**
   * Adds those of a file.
   * @param texts one for each entry that is left out, in their order
   * @param used number of the other entries
   */
  addOf(file: string, texts: readonly string[], used: number): void {
    const [first] = texts
    if (used === 0 && texts.length > 1)
      this.add(`${file} is left out: none of its ${texts.length} entries can be used; the first: ${first}`)
    else for (const text of texts) this.add(text)
  }

  all(): readonly string[] {
    return this.#more === 0 ? this.#texts : [...this.#texts, `${this.#task} data: and ${this.#more} more`]
  }
}
