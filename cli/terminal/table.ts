/**
 * Tables, for terminals of any width.
 *
 * Invariants
 * - [TABLE-1] A table that fits is in its borders, one row a line.
 * - [TABLE-2] A table that does not fit is a list: each row as lines of `heading  value`, none of them cut off in the
 *   middle of a word that fits.
 * - [TABLE-3] Cells and facts hold no control codes; the styles are the table's own.
 */
import { stripVTControlCharacters } from 'node:util'
import CliTable from 'cli-table3'
import { shownLine, shownText } from '../../machine/files/shown-text.ts'
import { inLines } from './wording.ts'

type Cell = string | number

export interface TableShape {
  readonly head: readonly string[]
  /** Left by default. */
  readonly aligns?: readonly ('left' | 'right')[]
  readonly rows: readonly (readonly Cell[])[]
  readonly colours?: boolean
  /** Width of each column, at which words are wrapped; by default as wide as the longest cell. */
  readonly widths?: readonly number[]
}

/** A named value. */
export type Fact = readonly [name: string, value: string]

/** Facts one below the other, wrapped at the width. */
export function factLines(facts: readonly Fact[], columns: number): readonly string[] {
  const width = Math.max(...facts.map(([name]) => name.length))
  return facts.flatMap((fact) => factLine(fact, width, columns))
}

function factLine([name, value]: Fact, width: number, columns: number): readonly string[] {
  const lines = shownText(value)
    .split('\n')
    .flatMap((text) => inLines(text, Math.max(1, columns - width - 2)))
  return lines.map((line, at) => `${(at === 0 ? name : '').padEnd(width)}  ${line}`)
}

/** A table that is written where its width is known. */
export class Table {
  readonly #shape: TableShape

  constructor(shape: TableShape) {
    this.#shape = shape
  }

  /** The table for a place of that width. */
  inWidth(columns: number): string {
    const boxed = this.#boxed()
    const [border = ''] = boxed.split('\n', 1)
    return stripVTControlCharacters(border).length <= columns ? boxed : this.#listed(columns)
  }

  #boxed(): string {
    const { head, aligns, rows, colours = false, widths } = this.#shape
    const table = new CliTable({
      head: head.map(shownLine),
      ...(aligns === undefined ? {} : { colAligns: [...aligns] }),
      ...(widths === undefined ? {} : { colWidths: [...widths], wordWrap: true }),
      style: {
        head: colours ? ['bold'] : [],
        border: colours ? ['grey'] : [],
        compact: widths === undefined,
      },
    })
    for (const row of rows) table.push(row.map((cell) => (typeof cell === 'string' ? shownText(cell) : cell)))
    return table.toString()
  }

  #listed(columns: number): string {
    const { head, rows } = this.#shape
    const width = Math.max(...head.map((name) => name.length))
    const lineOf = (value: Cell, at: number) =>
      String(value) === '' ? [] : factLine([shownLine(head[at] ?? ''), String(value)], width, columns)
    return rows.map((row) => row.flatMap(lineOf).join('\n')).join('\n\n')
  }
}
