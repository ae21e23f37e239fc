/**
 * SQL in parts, so that its words can be coloured.
 *
 * Invariants
 * - [SQL-1] The parts joined are the text, whatever it is.
 */

export type SqlKind = 'keyword' | 'text' | 'number' | 'comment' | 'other'

export interface SqlPart {
  readonly kind: SqlKind
  readonly text: string
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
