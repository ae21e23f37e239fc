/**
 * The time and memory of one statement.
 *
 * Invariants
 * - A loop over rows counts its steps here, so that it ends at the deadline.
 */
import { refuse, StatementOverdue, tableFull } from './failure.ts'
import { statementBytes } from './limits.ts'
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
