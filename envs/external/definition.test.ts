import { expect, test } from 'vitest'
import { instanceRandom } from './definition.ts'

test('the numbers come from the names of environment and instance alone', () => {
  const draw = (name: string, instance: string) => {
    const random = instanceRandom(name, instance)
    return Array.from({ length: 8 }, () => random.int(0, 999))
  }
  expect(draw('dice', 'train/0')).toEqual(draw('dice', 'train/0'))
  expect(draw('dice', 'train/0')).not.toEqual(draw('dice', 'train/1'))
  expect(draw('dice', 'train/0')).not.toEqual(draw('coin', 'train/0'))
})

test('both ends of a range are drawn, and nothing beyond', () => {
  const random = instanceRandom('dice', 'train/0')
  expect(new Set(Array.from({ length: 500 }, () => random.int(1, 6)))).toEqual(new Set([1, 2, 3, 4, 5, 6]))
  expect(['a', 'b']).toContain(random.pick(['a', 'b']))
})

test('ranges and lists that hold nothing are refused', () => {
  const random = instanceRandom('dice', 'train/0')
  expect(() => random.int(2, 1)).toThrow(RangeError)
  expect(() => random.int(0.5, 1)).toThrow(RangeError)
  expect(() => random.pick([])).toThrow(RangeError)
})
