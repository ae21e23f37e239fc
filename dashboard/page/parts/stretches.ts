/**
 * Stretches: which parts of a long table are needed for what is seen of it.
 *
 * Invariants
 * - [STRETCHES-1] Every row that is seen is in a stretch, and no more stretches are needed than cover what is seen and a
 *   screen on either side.
 */

/** Rows that are asked for at once. */
export const stretchRows = 100

/** Rows from `first` to before `end`. */
export interface Seen {
  readonly first: number
  readonly end: number
}

/** The rows that are drawn: what is seen and some on either side, so that scrolling shows no gap. */
export function drawnRows(
  { top, height, rowHeight }: { readonly top: number; readonly height: number; readonly rowHeight: number },
  total: number,
): Seen {
  const margin = Math.ceil(height / rowHeight / 2)
  const first = Math.max(0, Math.floor(top / rowHeight) - margin)
  const end = Math.min(total, Math.ceil((top + height) / rowHeight) + margin)
  return { first: Math.min(first, end), end }
}

/** Numbers of the stretches that hold these rows. @example stretchesOf({ first: 90, end: 201 }) // [0, 1, 2] */
export function stretchesOf({ first, end }: Seen): readonly number[] {
  const [from, to] = [Math.floor(first / stretchRows), Math.ceil(end / stretchRows)]
  return Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at)
}
