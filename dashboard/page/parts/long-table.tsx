/**
 * A table as long as it needs to be, in a box that scrolls.
 *
 * Invariants
 * - Only the rows that are seen, and some on either side, are in the document: what it costs does not grow with its length.
 * - It scrolls as if all were there, and says to those who hear it how many there are.
 */
import type { ComponentChildren, FunctionComponent, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { drawnRows, type Seen } from './stretches.ts'

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
