import { expect, test } from 'vitest'
import { reasonOf } from './reason.ts'

test('whatever was thrown, there is a text', () => {
  const thrown = [new Error('no space left'), new RangeError('too far'), 'words', 7, null, undefined, {}]
  expect(thrown.map(reasonOf)).toEqual([
    'no space left',
    'too far',
    'words',
    '7',
    'null',
    'undefined',
    '[object Object]',
  ])
})
