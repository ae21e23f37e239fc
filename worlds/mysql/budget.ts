/**
 * The time and memory of one statement.
 *
 * Invariants
 * - A loop over rows counts its steps here, so that it ends at the deadline.
 * - A value has at most `valueBytes`, a database `databaseBytes`, all databases of a thread `threadBytes`, and the rows
 *   of a running statement `statementBytes`.
 */
import { refuse, StatementOverdue, tableFull } from './failure.ts'
import { bytesOfRow, type Value } from './values/value.ts'

// How many steps pass between two looks at the clock.
const stepsPerLook = 500

export class Budget {
  readonly #deadline: number
  #steps = 0
  #bytes = 0

  /** @param deadline on the clock of `performance.now` */
  constructor(deadline: number) {
    this.#deadline = deadline
  }

  /** @throws StatementOverdue */
  step(): void {
    if (++this.#steps % stepsPerLook === 0 && performance.now() > this.#deadline)
      throw new StatementOverdue('the statement is out of time')
  }

  /** Counts a row that is held until the statement ends. @throws StatementRefused where there are too many */
  hold<Row extends readonly Value[]>(row: Row): Row {
    this.step()
    this.#bytes += bytesOfRow(row)
    if (this.#bytes > statementBytes) refuse(tableFull)
    return row
  }
}

/** Bytes of the longest text, that functions make included. */
export const valueBytes = 1 << 20

export const databaseBytes = 16 << 20
export const threadBytes = 192 << 20

/** Rows that a statement holds while it runs, its result included. */
const statementBytes = 48 << 20

/** Characters of the longest statement. */
export const statementLength = 100_000

/** Nested expressions and queries: deeper than anything sensible, and far from the end of the stack. */
export const deepestNesting = 100

/** MySQL's `cte_max_recursion_depth`. */
export const recursionRounds = 1000
