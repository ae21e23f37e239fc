import { expect, test } from 'vitest'
import { inUsualOrder, listedLibrary } from './library.ts'

const problems = new Map([0, 2, 5].map((number) => [`dev/${number}`, number]))
const contents = new Map([
  ['empty', new Map<string, number>()],
  ['dev', problems],
])
const listed = listedLibrary('db data: /data/db', 'problem', contents, [])

test('the n-th id of a split is that of n modulo its size, also below 0', () => {
  expect([0, 1, 2, 3, 7, -1, -3, -4].map((index) => listed.instanceAt('dev', index))).toEqual(
    // 3 ids: 3 ≡ 0, 7 ≡ 1, -1 ≡ 2, -3 ≡ 0, -4 ≡ 2.
    ['dev/0', 'dev/2', 'dev/5', 'dev/0', 'dev/2', 'dev/5', 'dev/0', 'dev/5'],
  )
  expect(listed.splits).toEqual([
    { name: 'empty', size: 0 },
    { name: 'dev', size: 3 },
  ])
})

test('a split that is not there or has nothing, and an unknown instance, are faults that name what is there', () => {
  for (const split of ['std', 'empty'])
    expect(() => listed.instanceAt(split, 0)).toThrow(
      expect.objectContaining({
        kind: 'unknown_split',
        message: `db data: /data/db has no split "${split}": use empty, dev`,
      }),
    )
  expect(() => listed.open('dev/1')).toThrow(
    expect.objectContaining({
      kind: 'unknown_instance',
      message: 'db data: /data/db has no problem "dev/1": ids look like dev/0',
    }),
  )
})

test('an instance is opened by its id, with its split before it or without', () => {
  expect(['dev/2', 'dev/dev/2'].map((id) => listed.open(id))).toEqual([2, 2])
})

test('splits come in their usual order, others after them by name', () => {
  const splits = new Map(['zoo', 'std', 'train', 'ape'].map((name) => [name, name]))
  expect([...inUsualOrder(splits, ['train', 'dev', 'std']).keys()]).toEqual(['train', 'std', 'ape', 'zoo'])
})
