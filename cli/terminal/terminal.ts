/**
 * Where a command writes: reports, notes, and the live view.
 *
 * Invariants
 * - With `--json` standard output carries the JSON document alone; all else goes to standard error.
 * - A line that is written while the live view is on the screen is above it, whole.
 * - [TERMINAL-1] No text reaches a stream with its control codes, no matter which code writes it: control codes outside of `Painted` are made visible.
 * - Colours only where the stream shows them: NO_COLOR, FORCE_COLOR and pipes are heeded.
 * - [PAINTED-1] Its escape sequences are the only ones that reach a terminal: each part that comes from elsewhere has been through
 *   `shownText` before it was styled.
 */
import { createLogUpdate } from 'log-update'
import { jsonLine, shownText } from '../../machine/files/shown-text.ts'
import { withTypedCommands } from '../../machine/processes/typed-command.ts'
import { unfiltered } from './output.ts'
import type { Table } from './table.ts'

/** A command's way out. */
export interface Terminal {
  /** The stream that people read. */
  readonly interactive: boolean
  readonly columns: number
  /** Limit for the width of a table; infinite where the output is no terminal. */
  readonly tableColumns: number
  readonly colours: boolean
  /** A line for people. */
  say(line: string | Painted): void
  /** Redraws the live view. */
  draw(lines: readonly (string | Painted)[]): void
  /** Leaves the last view on the screen and continues below it. */
  settle(): void
  /** Prints the result: the JSON document with `--json`, else the lines for people. */
  report(value: unknown, lines: readonly (string | Painted | Table)[]): void
}

// A terminal that tells no width is taken for the classic one.
const defaultColumns = 80

/** The process's own streams. */
export function openTerminal({ json = false }: { json?: boolean }): Terminal {
  const stream = unfiltered(json ? process.stderr : process.stdout)
  const interactive = stream.isTTY === true && process.env.TERM !== 'dumb'
  const update = interactive ? createLogUpdate(stream) : undefined
  let drawn: readonly string[] = []
  return {
    interactive,
    get columns() {
      return interactive ? (stream.columns ?? defaultColumns) : defaultColumns
    },
    get tableColumns() {
      return interactive ? this.columns : Number.POSITIVE_INFINITY
    },
    colours: interactive && stream.hasColors?.() === true && (process.env.NO_COLOR ?? '') === '',
    say(text) {
      const line = withTypedCommands(safe(text))
      if (update !== undefined && drawn.length > 0) update.persist(line)
      else stream.write(`${line}\n`)
      if (update !== undefined && drawn.length > 0) update(drawn.join('\n'))
    },
    draw(lines) {
      drawn = lines.map(safe)
      update?.(drawn.join('\n'))
    },
    settle() {
      if (drawn.length > 0) update?.done()
      drawn = []
    },
    report(value, lines) {
      if (json) process.stdout.write(`${jsonLine(value)}\n`)
      else
        for (const line of lines)
          this.say(
            typeof line === 'string' || line instanceof Painted
              ? line
              : new Painted(line.inWidth(this.tableColumns)),
          )
    },
  }
}

function safe(text: string | Painted): string {
  return text instanceof Painted ? text.text : shownText(text)
}

/** Text with styles of our own, for a terminal. */
export class Painted {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export function painted(lines: readonly string[]): readonly Painted[] {
  return lines.map((line) => new Painted(line))
}
