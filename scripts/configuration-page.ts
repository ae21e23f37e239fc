/** Writes docs/configuration.md from the schema, and the live settings into docs/steer-a-run.md: `npm run docs`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { configFields } from '../config/schema/fields.ts'
import { pageWithLiveSettings, referencePage } from '../config/schema/reference-page.ts'

writeFileSync(new URL('../docs/configuration.md', import.meta.url), referencePage(configFields()))
const steering = new URL('../docs/steer-a-run.md', import.meta.url)
writeFileSync(steering, pageWithLiveSettings(readFileSync(steering, 'utf8')))
