/** Writes the differences of the embedded databases into worlds/mysql/differences.md: `npm run docs`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { pageWithDifferences } from '../../worlds/mysql/differential/differences.testing.ts'

const page = new URL('../../worlds/mysql/differences.md', import.meta.url)
writeFileSync(page, pageWithDifferences(readFileSync(page, 'utf8')))
