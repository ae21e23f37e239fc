import fc from 'fast-check'
import { expect, test } from 'vitest'
import { webshop } from './definition.ts'
import { readAction } from './tools.ts'

test.each([
  ['Red SHOES', { kind: 'search', keywords: 'red shoes' }],
  ['a] b', { kind: 'search', keywords: 'a] b' }],
  ['a[', { kind: 'search', keywords: 'a[' }],
  [' ', { kind: 'search', keywords: ' ' }],
  ['', { kind: 'nothing' }],
  ['one\ntwo', { kind: 'nothing' }],
  ['one] \ntwo', { kind: 'search', keywords: 'one' }],
  ['[2 pack] red', { kind: 'nothing' }],
])('keywords are read as the original reads them: %j', (keywords, action) => {
  expect(readAction('search', keywords)).toEqual(action)
})

test('actions are what the original’s expression finds', () => {
  const part = fc.string({ unit: fc.constantFrom('a', '[', ']', '\n', ' '), maxLength: 8 })
  fc.assert(
    fc.property(part, (value) => {
      const [, name, argument = ''] = /^([^\n]+)\[([^\n]+)\]/.exec(`click[${value}]`) ?? []
      const expected = name === 'click' ? { kind: 'click', value: argument } : { kind: 'nothing' }
      expect(readAction('click', value)).toEqual(expected)
    }),
    { numRuns: 2000 },
  )
})

test('a megabyte of brackets is read in a moment', () => {
  expect(readAction('search', `${'['.repeat(1_000_000)}\n`)).toEqual({ kind: 'nothing' })
})

test('the tools are named and shaped as AgentBench has them', async () => {
  const { tools } = await (await webshop.open({})).create()
  expect(tools.map(({ function: { name, parameters } }) => [name, parameters.required])).toEqual([
    ['search_action', ['keywords']],
    ['click_action', ['value']],
  ])
})
