/**
 * Databases: statements in colour, and what they gave as tables.
 *
 * Invariants
 * - [SQL-1] The parts joined are the text, whatever it is.
 */
import type { FunctionComponent } from 'preact'
import type { JsonValue } from '../../../messages/message.ts'
import { Folded } from '../parts/folded.tsx'
import { beginningOf, visible } from '../parts/visible.ts'
import { type AnswerProps, argumentText, type CallProps, type Renderer } from './renderer.ts'

/** Rows that are shown; an agent reads fewer. */
const shownRows = 100

/** SQL in parts, so that its words can be coloured. */
type SqlKind = 'keyword' | 'text' | 'number' | 'comment' | 'other'

interface SqlPart {
  readonly kind: SqlKind
  readonly text: string
}

const Call: FunctionComponent<CallProps> = ({ arguments: given }) => {
  const query = argumentText(given, 'query')
  if (query === '') return <Folded text={JSON.stringify(given, null, 2)} />
  // A browser lays out a line of a megabyte for seconds.
  if (beginningOf(query) !== query) return <Folded text={query} />
  return (
    <pre class="sql">
      {sqlParts(query).map(({ kind, text }, at) => (
        <span key={at} class={`sql-${kind}`}>
          {visible(text)}
        </span>
      ))}
    </pre>
  )
}

const Answer: FunctionComponent<AnswerProps> = ({ observation: { info } }) => {
  const rows = rowsOf(info.rows)
  return (
    <div class="result">
      <table class="plain-table">
        <tbody>
          {rows.slice(0, shownRows).map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} class={typeof cell === 'number' ? 'figures' : ''}>
                  <Cell value={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="quiet small">
        {rows.length === 0 ? 'No rows.' : `${rows.length} ${rows.length === 1 ? 'row' : 'rows'}.`}
        {typeof info.affected === 'number' ? ` ${info.affected} changed.` : ''}
      </p>
    </div>
  )
}

const Cell: FunctionComponent<{ value: JsonValue }> = ({ value }) => {
  if (value === null) return <i class="quiet">NULL</i>
  const text = String(value)
  return beginningOf(text) === text ? <span>{visible(text)}</span> : <Folded text={text} />
}

function rowsOf(value: JsonValue | undefined): readonly (readonly JsonValue[])[] {
  return Array.isArray(value) ? value.filter((row) => Array.isArray(row)) : []
}

export const dbRenderer: Renderer = {
  Call,
  Answer,
  isFor: ({ info }) =>
    Array.isArray(info.rows) && (info.rows.length > 0 || typeof info.affected === 'number'),
}

const keywords = new Set(
  'select from where and or not in is null as on join left right inner outer group by order having limit offset insert into values update set delete create table drop alter distinct union all case when then else end like between exists asc desc count sum avg min max with'.split(
    ' ',
  ),
)

const pattern =
  /'(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.)*"?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\b\d+(?:\.\d+)?\b|\w+|\s+|./gs

export function sqlParts(text: string): readonly SqlPart[] {
  return [...text.matchAll(pattern)].map(([part]) => ({ kind: kindOf(part), text: part }))
}

function kindOf(part: string): SqlKind {
  if (part.startsWith("'") || part.startsWith('"')) return 'text'
  if (part.startsWith('--') || part.startsWith('/*')) return 'comment'
  if (/^\d/.test(part)) return 'number'
  return keywords.has(part.toLowerCase()) ? 'keyword' : 'other'
}
