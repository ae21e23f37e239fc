/** Writes docs/configuration.md from the schema: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { configFields } from '../config/fields.ts'
import { referencePage } from '../config/reference-page.ts'

writeFileSync(new URL('../docs/configuration.md', import.meta.url), referencePage(configFields()))
