import { expect, test } from 'vitest'
import { readSettings } from './settings.ts'

test('empty settings are valid ones, and every setting has a default', () => {
  expect(readSettings(undefined)).toEqual(readSettings({}))
  expect(readSettings({}).prompt).toBe('short')
})

test('what a setting cannot be is refused by key, with what is allowed', () => {
  expect(() => readSettings({ levels: ['lunatic'] })).toThrow(/easy.*normal.*hard/s)
  expect(() => readSettings({ noSuchSetting: 1 })).toThrow(/noSuchSetting/)
})

test('levels follow from the difficulty, unless they are given', () => {
  expect(readSettings({}).levels).toEqual(['easy', 'normal', 'hard'])
  expect(readSettings({ difficulty: 'easy' }).levels).toEqual(['easy'])
  expect(readSettings({ difficulty: 'hard' }).levels).toEqual(['hard'])
  expect(readSettings({ difficulty: 'easy', levels: ['normal'] }).levels).toEqual(['normal'])
})
