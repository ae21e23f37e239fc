import fc from 'fast-check'
import { expect, test } from 'vitest'
import { argumentsText, partOf, readExactly, withExactArguments } from './exact-arguments.ts'

function callOf(text: string) {
  return withExactArguments({ name: 'f', arguments: JSON.parse(text) }, readExactly(text))
}

test.each(['{"a":86.0}', '{"a":[1e3,{"b":-0}],"c":"86.0"}', '{"a":12345678901234567890}', '{"a":1E400}'])(
  'the text of %s is kept',
  (text) => {
    expect(argumentsText(callOf(text))).toBe(text)
  },
)

test('a call that JavaScript writes as it was written carries nothing extra', () => {
  for (const text of ['{}', '{"a":86,"b":0.5,"c":"1.0 e -0 1234567890123456789","d":[null,true]}'])
    expect(callOf(text)).toEqual({ name: 'f', arguments: JSON.parse(text) })
})

test('the exact text of arguments reads as the same arguments', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const text = JSON.stringify(value).replace(/(?<=[[:,])(\d+)(?=[\],}])/g, '$1.0')
      expect(JSON.parse(argumentsText(callOf(text)))).toEqual(JSON.parse(text))
    }),
  )
})

test('what is no call, or nested beyond what can be written, is no error', () => {
  const deep = `${'['.repeat(100_000)}1.0${']'.repeat(100_000)}`
  expect(readExactly(deep)).toBeUndefined()
  expect(argumentsText({ name: 'f', arguments: JSON.parse(deep) })).toBe('null')
  expect(withExactArguments(null as never, {})).toBeNull()
  expect(partOf({ a: [{ b: 1 }] }, 'a', 0, 'b')).toBe(1)
  expect(partOf({ a: 1 }, 'toString', 'length')).toBeUndefined()
})
