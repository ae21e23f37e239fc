/**
 * Text with styles of our own, for a terminal.
 *
 * Invariants
 * - [PAINTED-1] Its escape sequences are the only ones that reach a terminal: each part that comes from elsewhere has been through
 *   `shownText` before it was styled.
 */
export class Painted {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export function painted(lines: readonly string[]): readonly Painted[] {
  return lines.map((line) => new Painted(line))
}
