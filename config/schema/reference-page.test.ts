/** The reference page and the examples stand for the schema. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { liveSettings } from '../../learning/run/live-settings.ts'
import { metrics } from '../../learning/run/metrics.ts'
import { loadConfig } from '../files/loader.ts'
import { configFields } from './fields.ts'
import { pageWithLiveSettings, pageWithMetrics, referencePage } from './reference-page.ts'

const root = resolve(import.meta.dirname, '..', '..')
const examples = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.yaml'))

test('docs/configuration.md is what the schema gives; `npm run docs` writes it', () => {
  expect(readFileSync(join(root, 'docs/configuration.md'), 'utf8')).toBe(referencePage(configFields()))
})

test('docs/steer-a-run.md has the live settings of the table, and from when on each applies', () => {
  const page = readFileSync(join(root, 'docs/steer-a-run.md'), 'utf8')
  expect(page).toBe(pageWithLiveSettings(page))
  for (const key of Object.keys(liveSettings)) expect(page).toContain(`\`${key}\``)
})

// [METRICS-TABLE-1]
test('docs/design.md has the metrics of the table', () => {
  const page = readFileSync(join(root, 'docs/design.md'), 'utf8')
  expect(page).toBe(pageWithMetrics(page))
  for (const name of Object.keys(metrics)) expect(page).toContain(`\`${name}\``)
})

test('every field is on the page once, or its section names another that has the same', () => {
  const page = referencePage(configFields())
  const fields = configFields().filter(({ section }) => !section)
  const isSame = ({ key }: (typeof fields)[number]) => key.startsWith('tasks.N.user.')
  for (const field of fields)
    expect(page.split(`| \`${field.key}\` |`).length, field.key).toBe(isSame(field) ? 1 : 2)
  expect(page).toMatch(/## tasks\.N\.user\n\n.*\n\nIts fields are those of `tasks\.N\.judge`\.\n/)
})

test.each(examples)('examples/%s is a valid configuration', (name) => {
  expect(() => loadConfig({ file: join(root, 'examples', name) })).not.toThrow()
})

test('the examples that the documents name exist', () => {
  expect(examples).toEqual(expect.arrayContaining(['alfworld.yaml', 'household.yaml', 'smoke.yaml']))
})
