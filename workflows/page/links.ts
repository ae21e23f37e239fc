/**
 * Links of the Temporal UI, in Markdown: to workflows, to lists of them, and to the page of `perdure ui`.
 *
 * Invariants
 * - A link leads to the latest execution of a workflow id, whatever the id is made of.
 * - Text of a policy or of an environment is shown as it is, and never read as Markdown.
 * - This module is pure and safe inside workflows.
 */

import { searchAttributes } from '../../contract/messages.ts'
import { type HomeName, workflowIdOf } from '../../identity/identity.ts'
import { type PagePlace, pageAddress } from '../../identity/page-address.ts'

type Attribute = keyof typeof searchAttributes

/** The namespace and the home of a workflow; links lead there. */
export interface Place {
  readonly namespace: string
  readonly home: HomeName
}

/** One condition of a list of workflows, e.g. `['version', '>', 40]`. */
export type Condition = readonly [Attribute, '=' | '!=' | '<' | '>', string | number]

/** @param id the work's own, without its home. @example workflowLink(place, 'demo/g3') // '[demo/g3](/namespaces/…)' */
export function workflowLink({ namespace, home }: Place, id: string, text: string = id): string {
  return `[${text}](/namespaces/${namespace}/workflows/${encodeURIComponent(workflowIdOf(home, id))})`
}

/**
 * Link to the page of `perdure ui` about a piece of work. Its text is its address, which remains where links are not kept.
 * @param dashboardUrl where the page is served
 */
export function dashboardLink(dashboardUrl: string, place: PagePlace, id: string): string {
  const url = `${dashboardUrl.replace(/\/$/, '')}/${pageAddress(place, id)}`
  return `[${url}](${url})`
}

/** Attributes that name work: they hold workflow ids. */
const naming: ReadonlySet<Attribute> = new Set(['run', 'group'])

/** The UI's list of the workflows of a type for which all conditions hold. */
export function listLink(place: Place, text: string, type: string, conditions: readonly Condition[]): string {
  const ids = conditions.map(
    ([attribute, relation, value]): Condition =>
      naming.has(attribute)
        ? [attribute, relation, workflowIdOf(place.home, String(value))]
        : [attribute, relation, value],
  )
  const query = listQuery(type, ids)
  return `[${text}](/namespaces/${place.namespace}/workflows?query=${encodeURIComponent(query)})`
}

/** @example listQuery('episode', [['task', '=', 'kg']]) // 'WorkflowType="episode" AND PerdureTask="kg"' */
export function listQuery(type: string, conditions: readonly Condition[]): string {
  const parts = conditions.map(
    ([attribute, relation, value]) =>
      `${searchAttributes[attribute].name}${relation}${typeof value === 'number' ? value : JSON.stringify(value)}`,
  )
  return [`WorkflowType="${type}"`, ...parts].join(' AND ')
}

/** Quotes a text as code, on one line that stays within its cell of a table. */
export function verbatim(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll('`', "'").replaceAll('|', '\\|').trim()
  return line === '' ? '—' : `\`${line}\``
}

// The UI sets cells side by side without a gap.
const gap = '\u00a0\u00a0'

/** A table of Markdown; each row has as many cells as the head. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(`${gap} | `)} |`
  return [line(head), `|${head.map(() => ' --- |').join('')}`, ...rows.map(line)].join('\n')
}

/** Links to lists, with the separator before them: plain text leaves them out, because it cannot be followed. */
const listLinks = /( · )?\[[^\]]*\]\([^)]*\?query=[^)]*\)/g

/**
 * Details as lines of plain text: a table's row is one line, and a link is its text.
 * @example plainLines('**done** · [s0](/namespaces/…)') // ['done · s0']
 */
export function plainLines(markdown: string): readonly string[] {
  return markdown
    .split('\n')
    .filter((line) => !/^\|( --- \|)+$/.test(line))
    .map((line) => plainLine(line.replaceAll('\u00a0', '').replace(/^\| (.*) \|$/, '$1')))
    .filter((line) => line !== '')
}

/** Escapes a line, except the verbatim parts between backticks. */
function plainLine(line: string): string {
  return line
    .split('`')
    .map((part, index) =>
      index % 2 === 1
        ? part.replaceAll('\\|', '|')
        : part
            .replaceAll(listLinks, '')
            .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
            .replaceAll('**', '')
            .replaceAll(/ +/g, ' '),
    )
    .join('')
    .trim()
}

/** A reward or a share as a person reads it; a dash where there is none. */
export function figure(value: number | null | undefined): string {
  return value === null || value === undefined ? '—' : String(Number(value.toFixed(3)))
}
