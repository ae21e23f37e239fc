/**
 * SHOW CREATE TABLE.
 *
 * Invariants
 * - The text creates a table with the same columns and keys.
 */

import { toText } from '../values/value.ts'
import type { Column, Relation, Table } from './catalog.ts'

export function definitionText(relation: Relation): string {
  if (relation.kind === 'view') return `CREATE VIEW ${quoted(relation.name)} AS ${relation.text}`
  const parts = [...relation.columns.map(columnText), ...keyTexts(relation)]
  return `CREATE TABLE ${quoted(relation.name)} (\n${parts.map((part) => `  ${part}`).join(',\n')}\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci`
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

function columnText({ name, declared, nullable, autoIncrement, default: given, type }: Column): string {
  const parts = [quoted(name), declared.text]
  if (!nullable) parts.push('NOT NULL')
  const isLong = /text$|blob$/.test(declared.name)
  if (given?.kind === 'literal' && given.value !== null) parts.push(`DEFAULT '${toText(given.value)}'`)
  else if (nullable && !isLong && type.kind !== 'null') parts.push('DEFAULT NULL')
  if (autoIncrement) parts.push('AUTO_INCREMENT')
  return parts.join(' ')
}

function keyTexts({ keys, columns }: Table): string[] {
  return keys.map(({ name, kind, columns: places }) => {
    const list = places.map((place) => quoted(columns[place]?.name ?? '')).join(',')
    if (kind === 'primary') return `PRIMARY KEY (${list})`
    return `${kind === 'unique' ? 'UNIQUE KEY' : 'KEY'} ${quoted(name)} (${list})`
  })
}
