/**
 * A table as long as it needs to be, in a box that scrolls.
 *
 * Invariants
 * - Only the rows that are seen, and some on either side, are in the document: what it costs does not grow with its length.
 * - It scrolls as if all were there, and says to those who hear it how many there are.
 * - [STRETCHES-1] Every row that is seen is in a stretch, and no more stretches are needed than cover what is seen and a
 *   screen on either side.
 */
import type { ComponentChildren, FunctionComponent, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

interface LongTableProps {
  /** Its name for those who hear the page. */
  readonly label: string
  readonly class?: string
  readonly head: ComponentChildren
  readonly columns: number
  /** Rows in all. */
  readonly total: number
  /** The height of each row, in pixels: its style must keep it. */
  readonly rowHeight: number
  /** A row of the table, with its index and the index that it has for those who hear it. */
  readonly row: (index: number, rowIndex: number) => VNode
  /** Called after each drawing. */
  readonly onDrawn?: (rows: Seen) => void
  /** The table is shown from its top again when it differs. */
  readonly of?: string
}

/** Rows from `first` to before `end`. */
interface Seen {
  readonly first: number
  readonly end: number
}

export const LongTable: FunctionComponent<LongTableProps> = (props) => {
  const { label, head, columns, total, rowHeight, row, onDrawn, of = '' } = props
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  const { first, end } = drawnRows({ ...view, rowHeight }, total)
  useEffect(() => {
    box.current?.scrollTo(0, 0)
  }, [of])
  useEffect(() => onDrawn?.({ first, end }))
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const watcher = new ResizeObserver(() =>
      setView({ top: element.scrollTop, height: element.clientHeight }),
    )
    watcher.observe(element)
    return () => watcher.disconnect()
  }, [])
  return (
    <section
      class={`scrolls ${props.class ?? 'tall'}`}
      ref={box}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop: top, clientHeight: height } }) => setView({ top, height })}
    >
      <table aria-rowcount={total + 1}>
        {head}
        <tbody>
          <Filler columns={columns} height={first * rowHeight} />
          {Array.from({ length: end - first }, (_, at) => row(first + at, first + at + 2))}
          <Filler columns={columns} height={(total - end) * rowHeight} />
        </tbody>
      </table>
    </section>
  )
}

/** Takes the space of rows that are not drawn. */
const Filler: FunctionComponent<{ columns: number; height: number }> = ({ columns, height }) =>
  height === 0 ? null : (
    <tr class="filler">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  )

/** Rows that are asked for at once. */
export const stretchRows = 100

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
