import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { systemPrompt } from './definition.ts'
import { householdDialect } from './dialect.ts'

test('the texts of a version never change: a change is a new version', () => {
  const commands = householdDialect.words
    .list()
    .map((command) => (command.startsWith('put ') ? 'put A at B' : command))
  const texts = [systemPrompt('short', commands), systemPrompt('full', commands)]
  const digest = createHash('sha256').update(texts.join('\u0000')).digest('hex').slice(0, 16)
  expect({ version: 1, digest }).toEqual({ version: 1, digest: '22d536a1eb9d96fc' })
})

test('the short text is one sentence', () => {
  expect(systemPrompt('short', []).match(/\./g)).toHaveLength(1)
})
