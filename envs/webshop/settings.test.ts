import { expect, test } from 'vitest'
import { EnvironmentFault } from '../contract/environment.ts'
import { readSettings } from './settings.ts'

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
