/** Writes docs/configuration.md from the schema, and the tables of live settings and metrics into their pages: `npm run docs`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { configFields } from '../../config/schema/fields.ts'
import { pageWithLiveSettings, pageWithMetrics, referencePage } from '../../config/schema/reference-page.ts'

writeFileSync(new URL('../../docs/configuration.md', import.meta.url), referencePage(configFields()))
for (const [name, written] of [
  ['steer-a-run', pageWithLiveSettings],
  ['design', pageWithMetrics],
] as const) {
  const page = new URL(`../../docs/${name}.md`, import.meta.url)
  writeFileSync(page, written(readFileSync(page, 'utf8')))
}
