import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pageWithDifferences } from './differences.testing.ts'

test('the documents list the differences that the suite allows', () => {
  const page = readFileSync(new URL('../differences.md', import.meta.url), 'utf8')
  expect(page).toBe(pageWithDifferences(page))
})
