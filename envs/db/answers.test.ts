import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sameAnswers } from './answers.ts'

describe('the rules of answers', () => {
  test.each([
    [['17'], ['17'], true],
    [['17'], ['17.0'], true],
    [['1,234'], ['1234'], true],
    [['45%'], ['45'], true],
    [['23.67'], ['23.6667'], true],
    [['23.66'], ['23.6667'], true],
    [['9.627'], ['9.626'], false],
    [['0.76'], ['0.75'], false],
    [['7.01'], ['7'], false],
    [['1e3'], ['1000'], true],
    [['0'], ['null'], false],
    [['null'], ['0'], false],
    [['0.0'], ['none'], false],
    [['None'], ['none'], true],
    [[''], ['NULL'], true],
    [['none'], ['Nine'], false],
    [['"House of Cards"'], ['House of Cards'], true],
    [["Checco D'Angelo"], ["Checco D'Angelo"], true],
    [['vienna'], ['Vienna'], false],
    [['2000-08-15'], ['August 15, 2000'], true],
    [['15 August 2000'], ['Aug 15, 2000'], true],
    [['2000-08-16'], ['August 15, 2000'], false],
    [['08/15/2000'], ['August 15, 2000'], false],
    [['2000-02-30'], ['March 1, 2000'], false],
    [['b', 'a'], ['a', 'b'], true],
    [['2', '1.0'], ['1', '2.0'], true],
    [['a'], ['a', 'a'], false],
    [['a', 'b', 'b'], ['a', 'b'], false],
    [[], ['none'], false],
    [['1 + 1'], ['2'], false],
    [['__import__("os").getcwd()'], ['/'], false],
    [['e\u0301'], ['\u00e9'], true],
  ])('%j for %j: %s', (answers, right, equal) => {
    expect(sameAnswers(answers, right)).toBe(equal)
  })
})

// Letters that are no number, no date and no null word however they are put together.
const word = fc.stringMatching(/^[g-m]{2,8}$/)
const value = fc.oneof(word, fc.integer({ min: -99_999, max: 99_999 }).map(String))
const values = fc.array(value, { minLength: 1, maxLength: 8 })

test('order does not matter', () => {
  fc.assert(
    fc.property(
      values.chain((right) =>
        fc.tuple(fc.constant(right), fc.shuffledSubarray(right, { minLength: right.length })),
      ),
      ([right, answers]) => sameAnswers(answers, right),
    ),
  )
})

test('a value that is left out, added or changed makes the answers wrong', () => {
  fc.assert(
    fc.property(values, fc.nat(), fc.constantFrom(...corruptions), (right, at, corrupt) => {
      expect(sameAnswers(corrupt(right, at % right.length), right)).toBe(false)
    }),
  )
})

const corruptions: readonly ((right: readonly string[], at: number) => readonly string[])[] = [
  (right, at) => right.toSpliced(at, 1),
  (right, at) => [...right, right[at] ?? ''],
  (right) => [...right, 'null'],
  (right, at) => right.with(at, `${right[at]}x`),
  (right, at) => right.with(at, `9${(right[at] ?? '').replace('-', '')}`),
  (right, at) => right.with(at, 'null'),
  (right, at) => right.with(at, `${right[at]}; ${right[at]}`),
  (right) => [right.join(', '), 'and more'],
  (right) => [...right, ...right],
]

test('no text is evaluated as code, and the longest ones are compared in time', () => {
  const long = '1'.repeat(1_000_000)
  expect(sameAnswers([long], ['1'])).toBe(false)
  expect(sameAnswers([long], [long])).toBe(true)
  expect(sameAnswers([' '.repeat(1_000_000)], ['none'])).toBe(true)
  expect(sameAnswers(['['.repeat(100_000)], ['1'])).toBe(false)
})
