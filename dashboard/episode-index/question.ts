/**
 * A filter of episodes as a question to the index.
 *
 * Invariants
 * - [QUESTION-1] A person's text reaches SQLite as values alone, and the search as quoted words: no text of a
 *   filter is ever part of a statement.
 */
import type { SQLInputValue } from 'node:sqlite'
import type { FilterTerm, NumberCondition, SearchedText, TextCondition } from '../contract/episode-filter.ts'
import type { EpisodeSort } from '../contract/episodes.ts'

/** A condition with its values. */
export interface Condition {
  readonly sql: string
  readonly values: readonly SQLInputValue[]
}

/** The column that each sort goes by. */
export const sortColumns: Readonly<Record<EpisodeSort, string>> = {
  created: 'created',
  ended: 'ended',
  reward: 'reward',
  turns: 'turns',
  tokens: 'tokens',
  task: 'task',
  instance: 'instance',
  outcome: 'outcome',
  version: 'version_max',
}

/** @param parentsOf groups that the updates of a condition have consumed */
export function conditionOf(
  term: FilterTerm,
  parentsOf: (update: NumberCondition) => readonly string[],
): Condition {
  const condition = positive(term, parentsOf)
  // Neither a condition nor its opposite holds for an unknown value, except under a leading minus.
  return term.negated ? { ...condition, sql: `not coalesce((${condition.sql}), 0)` } : condition
}

function positive(term: FilterTerm, parentsOf: (update: NumberCondition) => readonly string[]): Condition {
  switch (term.kind) {
    case 'text':
      return textCondition(term)
    case 'number':
      return numberCondition(term, parentsOf)
    case 'search':
      return searchCondition(term)
  }
}

const textColumns = {
  run: 'run',
  task: 'task',
  instance: 'instance',
  outcome: 'outcome',
  kind: 'kind',
  group: 'parent',
  episode: 'id',
} as const

const states: Readonly<Record<string, string>> = {
  won: 'won = 1',
  lost: 'won = 0 and reward is not null',
  running: 'outcome is null',
  ended: 'outcome is not null',
  kept: 'kept = 1',
  cut: 'kept = 0',
}

function textCondition({ field, values }: TextCondition): Condition {
  if (field === 'is')
    return { sql: values.map((value) => `(${states[value] ?? 'false'})`).join(' or '), values: [] }
  return oneOf(textColumns[field], values)
}

function oneOf(column: string, values: readonly string[]): Condition {
  return { sql: `${column} in (select value from json_each(?))`, values: [JSON.stringify(values)] }
}

function numberCondition(
  term: NumberCondition,
  parentsOf: (update: NumberCondition) => readonly string[],
): Condition {
  const { field, relation, value } = term
  if (field === 'update') return oneOf('parent', parentsOf(term))
  if (field !== 'version') return { sql: `${field} ${relation} ?`, values: [value] }
  // An episode has several: one of them fits.
  if (relation === '=') return { sql: 'version_min <= ? and version_max >= ?', values: [value, value] }
  const column = relation.startsWith('<') ? 'version_min' : 'version_max'
  return { sql: `${column} ${relation} ?`, values: [value] }
}

function searchCondition({ text, whole }: SearchedText): Condition {
  // A null character would end the text for SQLite.
  const quoted = `"${text.replaceAll('"', ' ').replaceAll('\0', ' ')}"`
  const hasWord = /[\p{L}\p{N}_]/u.test(text)
  // Signs alone are no words: nothing was said by which they could be found.
  if (!hasWord) return { sql: 'false', values: [] }
  return {
    sql: 'number in (select rowid from words where words match ?)',
    values: [whole ? quoted : `${quoted}*`],
  }
}
