/**
 * The reference page of the configuration, written from the schema.
 *
 * Invariants
 * - Pure: the same schema gives the same page, byte by byte.
 * - Every field is on it once, with type, bounds, default and description; a section whose fields are those of another names that.
 */
import { type LiveSetting, liveSettings } from '../../learning/run/live-settings.ts'
import { metricRows } from '../../learning/run/metrics.ts'
import type { Field } from './fields.ts'

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

function defaultOf(field: Field): string {
  return field.default === undefined ? 'absent' : `\`${JSON.stringify(field.default)}\``
}

function tableOf(fields: readonly Field[]): string {
  const rows = fields.map(
    (field) =>
      `| \`${field.key}\` | ${cell(field.allowed)} | ${defaultOf(field)} | ${cell(field.description)} |`,
  )
  return ['| key | value | default | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

/** The fields of a section, or the section that has the same. */
function fieldsOf(
  section: Field,
  own: (section: Field) => readonly Field[],
  sections: readonly Field[],
): string {
  const inside = (of: Field) =>
    tableOf(own(of).map((field) => ({ ...field, key: field.key.slice(of.key.length) })))
  const same = sections.find((other) => inside(other) === inside(section))
  return same === undefined || same === section
    ? tableOf(own(section))
    : `Its fields are those of \`${same.key}\`.`
}

function isWithin(field: Field, section: Field): boolean {
  return field.key.startsWith(`${section.key}.`)
}

/** The page as Markdown. */
export function referencePage(fields: readonly Field[]): string {
  const sections = fields.filter(({ section }) => section)
  const depth = (field: Field) => field.key.split('.').length
  const parentOf = (field: Field) =>
    sections.filter((section) => isWithin(field, section)).sort((a, b) => depth(b) - depth(a))[0]
  const own = (section: Field | undefined) =>
    fields.filter((field) => !field.section && parentOf(field) === section)
  return `${[
    '# Configuration',
    'Written from `config/schema/schema.ts` by `npm run docs`; a test keeps both equal.',
    'A configuration is a YAML file, single values from `--set key=value`, and these defaults; an empty one is valid. ' +
      '`N` is the index of a list entry: `--set tasks.0.weight=2`. A key without a value takes its default. ' +
      'Unknown keys are errors. `npx perdure train --dry-run` prints what a configuration comes to.',
    tableOf(own(undefined)),
    ...sections
      .filter((section) => own(section).length > 0)
      .map((section) =>
        [`## ${section.key}`, section.description, fieldsOf(section, own, sections)].join('\n\n'),
      ),
  ].join('\n\n')}\n`
}

/** A page with the table of live settings as they are; those that apply from the same moment share a row. */
export function pageWithLiveSettings(page: string): string {
  const rows = Map.groupBy(Object.entries<LiveSetting>(liveSettings), ([, { applies }]) => applies)
  const lines = [...rows].map(([applies, settings]) => {
    const keys = settings.map(
      ([key, row]) => `\`${key}\`${row.default === null ? ' (a number, or `none`)' : ''}`,
    )
    return `- ${keys.join(', ')}: ${applies}`
  })
  const head = 'Each key applies from:\n\n'
  return page.replace(/Each key applies from:\n\n(- .*\n)+/, () => `${head}${lines.join('\n')}\n`)
}

/** A page with the keys that `metrics.jsonl` has of an update, by unit. */
export function pageWithMetrics(page: string): string {
  const rows = Map.groupBy(metricRows, ([, { unit }]) => unit)
  const lines = [...rows].map(([unit, metrics]) => {
    return `| ${unit} | ${metrics.map(([name]) => `\`${name}\``).join(', ')} |`
  })
  const head = '| unit | keys |\n| --- | --- |\n'
  return page.replace(/\| unit \| keys \|\n(\|.*\n)+/, () => `${head}${lines.join('\n')}\n`)
}
