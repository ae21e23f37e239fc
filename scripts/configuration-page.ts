/** Writes docs/configuration.md from the schema: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { configFields } from '../src/config/fields.ts'
import { referencePage } from '../src/config/reference-page.ts'

writeFileSync(new URL('../docs/configuration.md', import.meta.url), referencePage(configFields()))
