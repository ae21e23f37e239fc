import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { systemPrompt } from './prompt.ts'

test('the texts of a version never change: a change is a new version', () => {
  const texts = [systemPrompt('short'), systemPrompt('full')]
  const digest = createHash('sha256').update(texts.join('\u0000')).digest('hex').slice(0, 16)
  expect({ version: 1, digest }).toEqual({ version: 1, digest: '18e1e66ebcfd0d4b' })
})

test('the whole instruction names both tools and what ends the task', () => {
  for (const word of ['search_action', 'click_action', 'Buy Now'])
    expect(systemPrompt('full')).toContain(word)
})
