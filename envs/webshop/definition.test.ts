import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { EnvironmentFault } from '../contract/environment.ts'
import { readSettings, systemPrompt } from './definition.ts'

test('the texts of a version never change: a change is a new version', () => {
  const texts = [systemPrompt('short'), systemPrompt('full')]
  const digest = createHash('sha256').update(texts.join('\u0000')).digest('hex').slice(0, 16)
  expect({ version: 1, digest }).toEqual({ version: 1, digest: '18e1e66ebcfd0d4b' })
})

test('the whole instruction names both tools and what ends the task', () => {
  for (const word of ['search_action', 'click_action', 'Buy Now'])
    expect(systemPrompt('full')).toContain(word)
})

test('empty settings are valid ones', () => {
  expect(readSettings({})).toEqual(readSettings(undefined))
  expect(readSettings({}).difficulty).toBe('normal')
})

test.each([
  [{ difficulty: 'mad' }, /easy/],
  [{ products: 0 }, /products/],
  [{ shine: true }, /shine/],
])('wrong settings are named: %j', (settings, message) => {
  expect(() => readSettings(settings)).toThrow(EnvironmentFault)
  expect(() => readSettings(settings)).toThrow(message)
})
