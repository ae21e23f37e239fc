import { expect, test } from 'vitest'
import { readSettings } from '../settings.ts'
import { openHousehold } from './library.ts'

const library = openHousehold(readSettings(undefined))

test('an id that a split gives can be opened; indices wrap at the size of the split', () => {
  for (const { name } of library.splits)
    for (const index of [0, 1, 1999, 2000, 123_456_789]) {
      const id = library.instanceAt(name, index)
      expect(library.open(id).id).toBe(id)
    }
  expect(library.instanceAt('test', 2001)).toBe('test/1')
  expect(library.instanceAt('test', -1)).toBe('test/1999')
})

test.each(['train', 'train/', 'train/01', 'train/1e3', 'train/9999999999', 'test/2000', 'dev/1', ' test/1'])(
  'any other id is an unknown instance: "%s"',
  (id) => {
    expect(() => library.open(id)).toThrow(expect.objectContaining({ kind: 'unknown_instance' }))
  },
)

test('sizes of held-out splits allow thousand-game evaluations, and training has no end', () => {
  const sizes = Object.fromEntries(library.splits.map(({ name, size }) => [name, size]))
  expect(sizes).toEqual({ train: Number.POSITIVE_INFINITY, validation: 2000, test: 2000 })
})

test('a share of unseen goals gives the split `unseen`, whose name other settings do not know', () => {
  const withUnseen = openHousehold(readSettings({ unseenGoals: 0.2 }))
  expect(withUnseen.splits.map(({ name }) => name)).toEqual(['train', 'validation', 'test', 'unseen'])
  expect(withUnseen.open(withUnseen.instanceAt('unseen', 2003)).id).toBe('unseen/3')
  expect(() => library.instanceAt('unseen', 0)).toThrow(/use train, validation, test$/)
})
