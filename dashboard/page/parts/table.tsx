/** A table under the names of its columns, which scrolls where it is wider than what holds it. */
import type { ComponentChildren, FunctionComponent } from 'preact'

/** A column: its name, and how its cells stand. */
export interface Column {
  readonly name: string
  /** Numbers stand to the right. */
  readonly isFigures?: boolean
  /** Its cells are pictures that say themselves: the name is only heard. */
  readonly isUnseen?: boolean
  readonly class?: string
}

interface TableProps {
  /** Its name for those who hear the page. */
  readonly label: string
  readonly columns: readonly (Column | string)[]
  readonly class?: string
  /** Its rows. */
  readonly children: ComponentChildren
}

export const Table: FunctionComponent<TableProps> = ({ label, columns, class: more, children }) => (
  <Scrolls label={label} {...(more === undefined ? {} : { class: more })}>
    <table>
      <TableHead columns={columns} />
      <tbody>{children}</tbody>
    </table>
  </Scrolls>
)

export const TableHead: FunctionComponent<Pick<TableProps, 'columns'>> = ({ columns }) => (
  <thead>
    <tr>
      {columns.map((column) => {
        const {
          name,
          isFigures,
          isUnseen,
          class: own = '',
        } = typeof column === 'string' ? plain(column) : column
        return (
          <th key={name} class={isFigures === true ? `figures ${own}`.trim() : own}>
            {isUnseen === true ? <span class="unseen">{name}</span> : name}
          </th>
        )
      })}
    </tr>
  </thead>
)

function plain(name: string): Column {
  return { name }
}

interface ScrollsProps {
  /** Its contents, for those who do not see it. */
  readonly label: string
  readonly class?: string
}

/** A box for what is wider or longer than the page: it scrolls by itself, by keyboard too. */
export const Scrolls: FunctionComponent<ScrollsProps> = ({ label, class: kind = '', children }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
  <section class={`scrolls ${kind}`} aria-label={label} tabIndex={0}>
    {children}
  </section>
)
