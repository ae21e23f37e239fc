/**
 * The language in which the table of episodes is filtered, as the page's address keeps it.
 *
 *     task:alfworld,kg reward<1 turns>=5 -outcome:completed is:lost "soapbar 1" shelf
 *
 * A word is a condition (`field:value`, `field<number`), or else a text that messages and actions are searched for. All
 * conditions must hold; values between commas are alternatives; a leading minus negates a condition; quotes hold
 * words together.
 *
 * Invariants
 * - [FILTER-1] Every text is read: a word that is no condition is searched for, and a condition that cannot hold is named as a
 *   fault with its place.
 * - [FILTER-2] The text of a filter reads as the same filter.
 */
import { outcomes } from '../../learning/evaluation/outcome.ts'

/** Fields whose values are texts. */
export const textFields = ['run', 'task', 'instance', 'outcome', 'kind', 'group', 'episode', 'is'] as const
export type TextField = (typeof textFields)[number]

/** Fields whose values are numbers. */
export const numberFields = ['reward', 'turns', 'tokens', 'version', 'update', 'sample', 'attempt'] as const
export type NumberField = (typeof numberFields)[number]

/** Values of fields that know all of theirs. */
export const fieldValues = {
  outcome: outcomes,
  kind: ['group', 'evaluation', 'branch'],
  /** `won`: completed with full reward. `lost`: ended otherwise, with a reward. `cut`: its turns were removed. */
  is: ['won', 'lost', 'running', 'ended', 'kept', 'cut'],
} as const satisfies Partial<Record<TextField, readonly string[]>>

export const relations = ['<=', '>=', '<', '>', '='] as const
export type Relation = (typeof relations)[number]

export interface TextCondition {
  readonly kind: 'text'
  readonly field: TextField
  /** One of them. */
  readonly values: readonly string[]
  readonly negated: boolean
}

export interface NumberCondition {
  readonly kind: 'number'
  readonly field: NumberField
  readonly relation: Relation
  readonly value: number
  readonly negated: boolean
}

/** Text that messages and actions are searched for. */
export interface SearchedText {
  readonly kind: 'search'
  readonly text: string
  /** Whether its last word must be whole: it was quoted. */
  readonly whole: boolean
  readonly negated: boolean
}

export type FilterTerm = TextCondition | NumberCondition | SearchedText

/** A word that cannot be meant. */
export interface FilterFault {
  /** Where the word begins and ends in the text. */
  readonly begin: number
  readonly end: number
  /** The error, and the correct form. */
  readonly message: string
}

export type ParsedFilter = { readonly terms: readonly FilterTerm[] } | { readonly fault: FilterFault }

/** Longer ones are no one's. */
const mostTerms = 32
const longestFilter = 2000

/** @example parseFilter('task:kg reward<1') */
export function parseFilter(text: string): ParsedFilter {
  if (text.length > longestFilter)
    return { fault: { begin: longestFilter, end: text.length, message: 'the filter is too long' } }
  const terms: FilterTerm[] = []
  for (const word of wordsOf(text)) {
    const read = termOf(word.text)
    if (typeof read === 'string') return { fault: { begin: word.begin, end: word.end, message: read } }
    if (read !== undefined) terms.push(read)
    if (terms.length > mostTerms)
      return {
        fault: { begin: word.begin, end: text.length, message: `at most ${mostTerms} conditions` },
      }
  }
  return { terms }
}

/** The text that reads as these terms. */
export function filterText(terms: readonly FilterTerm[]): string {
  return terms.map(wordFor).join(' ')
}

interface Word {
  readonly text: string
  readonly begin: number
  readonly end: number
}

/** Words between spaces; quotes hold them together, also after a colon. */
function wordsOf(text: string): readonly Word[] {
  return [...text.matchAll(/(?:[^\s"]+|"[^"]*"?)+/g)].map((match) => ({
    text: match[0],
    begin: match.index,
    end: match.index + match[0].length,
  }))
}

/** @returns what is wrong, as a text; undefined for a word without content */
function termOf(word: string): FilterTerm | string | undefined {
  const negated = /^-(?=[^\s-])/.test(word)
  const body = negated ? word.slice(1) : word
  const [, field = '', relation = '', value = ''] = /^([a-z]+)(:|<=|>=|<|>|=)(.*)$/s.exec(body) ?? []
  if (isTextField(field)) return textTerm(field, relation, value, negated)
  if (isNumberField(field)) return numberTerm(field, relation, value, negated)
  const text = unquoted(body).trim()
  if (text === '') return undefined
  return { kind: 'search', text, whole: body.startsWith('"'), negated }
}

function textTerm(
  field: TextField,
  relation: string,
  value: string,
  negated: boolean,
): TextCondition | string {
  if (relation !== ':' && relation !== '=') return `${field} is a text: write ${field}:VALUE`
  const values = splitValues(value)
  if (values.length === 0) return `${field} needs a value: ${field}:VALUE`
  const allowed: readonly string[] | undefined = Object.hasOwn(fieldValues, field)
    ? fieldValues[field as keyof typeof fieldValues]
    : undefined
  const wrong = allowed && values.find((each) => !allowed.includes(each))
  if (wrong !== undefined) return `${field}:${wrong} is unknown; there are ${allowed?.join(', ')}`
  return { kind: 'text', field, values, negated }
}

function numberTerm(
  field: NumberField,
  relation: string,
  value: string,
  negated: boolean,
): NumberCondition | string {
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number))
    return `${field} is a number: write ${field}<5 or ${field}:5`
  return {
    kind: 'number',
    field,
    relation: relation === ':' ? '=' : (relation as Relation),
    value: number,
    negated,
  }
}

/** Values between commas, of which quotes are taken off. */
function splitValues(text: string): readonly string[] {
  return [...text.matchAll(/(?:[^,"]+|"[^"]*"?)+/g)]
    .map(([value]) => unquoted(value))
    .filter((value) => value !== '')
}

function unquoted(text: string): string {
  return text.replaceAll('"', '')
}

function wordFor(term: FilterTerm): string {
  const sign = term.negated ? '-' : ''
  switch (term.kind) {
    case 'text':
      return `${sign}${term.field}:${term.values.map(quotedIfNeeded).join(',')}`
    case 'number':
      return `${sign}${term.field}${term.relation === '=' ? ':' : term.relation}${term.value}`
    case 'search':
      return `${sign}${term.whole || needsQuotes(term.text) ? `"${term.text}"` : term.text}`
  }
}

function quotedIfNeeded(value: string): string {
  return /[\s,"]/.test(value) ? `"${value}"` : value
}

/** Whether a text would be read as something else without quotes. */
function needsQuotes(text: string): boolean {
  return /\s/.test(text) || /^-/.test(text) || /^([a-z]+)(:|<=|>=|<|>|=)/.test(text)
}

function isTextField(field: string): field is TextField {
  return (textFields as readonly string[]).includes(field)
}

function isNumberField(field: string): field is NumberField {
  return (numberFields as readonly string[]).includes(field)
}
