import { expect, test } from 'vitest'
import { EnvironmentFault } from '../contract/environment.ts'
import { readSettings } from './settings.ts'

test('empty settings are valid ones', () => {
  expect(readSettings({})).toEqual(readSettings(undefined))
  expect(readSettings({}).showAdmissible).toBe(false)
})

test('a range that is given wins over the one of the difficulty', () => {
  const settings = readSettings({ difficulty: 'hard', rooms: { min: 1, max: 2 } })
  expect(settings.rooms).toEqual({ min: 1, max: 2 })
  expect(settings.receptacles.min).toBeGreaterThan(readSettings({}).receptacles.max)
})

test.each([
  [{ rooms: { min: 3, max: 2 } }, /rooms/],
  [{ tasks: ['fly'] }, /tasks.*|"place"/],
  [{ shine: true }, /shine/],
  [{ objects: 5 }, /objects/],
])('wrong settings are named: %j', (settings, message) => {
  expect(() => readSettings(settings)).toThrow(EnvironmentFault)
  expect(() => readSettings(settings)).toThrow(message)
})
