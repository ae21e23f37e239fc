import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { promptOf } from './prompt.ts'

test('the texts of a version never change: a change is a new version', () => {
  const texts = JSON.stringify([promptOf('short'), promptOf('full')])
  const digest = createHash('sha256').update(texts).digest('hex').slice(0, 16)
  expect({ version: 1, digest }).toEqual({ version: 1, digest: '86497dd75f550375' })
})
