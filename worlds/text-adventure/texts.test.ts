import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseExpression, typedNames } from './expression.ts'
import { FactTable } from './facts.ts'
import { TextAdventureFault } from './fault.ts'
import { parseGrammar, withTask } from './grammar.ts'
import { nameObjects } from './objects.ts'
import { parseQuery, parseSymbols } from './symbol.ts'

test('PDDL words come out in lower case, comments are left out', () => {
  expect(parseExpression('(A ; (no)\n (bC d) )', 'text')).toEqual(['a', ['bc', 'd']])
  expect(typedNames(['a', 'b', '-', 't', 'c'], 'text')).toEqual([
    { name: 'a', type: 't' },
    { name: 'b', type: 't' },
    { name: 'c', type: 'object' },
  ])
})

test('a PDDL text that ends too early or too late is refused with what is missing', () => {
  expect(() => parseExpression('(a (b)', 'the text')).toThrow('the text: ends before its last ")"')
  expect(() => parseExpression('(a) b', 'the text')).toThrow('the text: nothing may follow')
  expect(() => parseExpression('a', 'the text')).toThrow(TextAdventureFault)
})

test('objects of a kind are numbered from 1, falling along the ids; basins are a kind of their own', () => {
  const ids = ['chair', 'mug_bar__minus_1', 'mug_bar__plus_1', 'sink_bar_1', 'sink_bar_1_bar_sinkbasin']
  expect([...nameObjects(ids).values()]).toEqual(['chair ', 'mug 2', 'mug 1', 'sink 1', 'sinkbasin 1'])
})

test('facts come out in the order of their objects, from any side, however they came and went', () => {
  const change = fc.record({ left: fc.nat(5), right: fc.nat(5), add: fc.boolean(), ask: fc.nat(5) })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const table = new FactTable(6, 2)
      const model = new Map<number, readonly [number, number]>()
      for (const { left, right, add, ask } of changes) {
        const key = table.key([left, right])
        if (add) {
          table.add(key)
          model.set(key, [left, right])
        } else {
          table.delete(key)
          model.delete(key)
        }
        const sorted = [...model].sort(([, a], [, b]) => a[0] - b[0] || a[1] - b[1])
        expect(table.all()).toEqual(sorted.map(([fact]) => fact))
        expect(table.with(0, ask)).toEqual(sorted.filter(([, fact]) => fact[0] === ask).map(([fact]) => fact))
        expect(table.with(1, ask)).toEqual(sorted.filter(([, fact]) => fact[1] === ask).map(([fact]) => fact))
        expect([table.objectAt(key, 0), table.objectAt(key, 1), table.has(key)]).toEqual([left, right, add])
      }
    }),
  )
})

test('reading symbols stops silently at the first character that fits none', () => {
  expect(parseSymbols('a {x.name}} b')).toEqual([
    { kind: 'text', text: 'a ' },
    {
      kind: 'each',
      symbol: { kind: 'value', value: { kind: 'object', name: 'x', attribute: 'name' } },
      given: undefined,
    },
  ])
})

test('blanks and comments at the start of a line before a symbol are left out, those after one stay', () => {
  expect(parseSymbols('\n  a\n#b#\n')).toEqual([
    { kind: 'text', text: 'a\n' },
    { kind: 'rule', name: 'b' },
    { kind: 'text', text: '\n' },
  ])
  expect(parseSymbols('// note\n\ta')).toEqual([{ kind: 'text', text: 'a' }])
})

test('a condition names facts with typed placeholders', () => {
  expect(parseQuery('p(a:t) & not_q(a:t, b)')).toEqual([
    { predicate: 'p', placeholders: [{ name: 'a', type: 't' }] },
    {
      predicate: 'not_q',
      placeholders: [
        { name: 'a', type: 't' },
        { name: 'b', type: 'b' },
      ],
    },
  ])
  expect(() => parseQuery('p(a:t) q')).toThrow('cannot read condition')
  expect(() => parseSymbols('{a - b}')).toThrow('cannot read expression')
})

test('where a grammar gives a rule twice the later one counts, and only the task differs between games', () => {
  const grammar = parseGrammar(
    'grammar :: """{"a": [{"rhs": "1"}], "task": [{"rhs": "Do @@TASK@@!"}]}"""; grammar :: """{"a": [{"rhs": "2"}]}""";',
  )
  expect(grammar.rules.get('a')).toEqual([{ condition: undefined, symbols: [{ kind: 'text', text: '2' }] }])
  const own = withTask(grammar, 'cost $& what')
  expect(own.rules.get('task')?.[0]?.symbols).toEqual([{ kind: 'text', text: 'Do cost $& what!' }])
  expect(own.rules.get('a')).toBe(grammar.rules.get('a'))
})

test('a grammar that cannot be read says where', () => {
  expect(() => parseGrammar('action look { template :: "look"; }')).toThrow(
    'action look needs a template and a feedback',
  )
  expect(() => parseGrammar('grammar :: """{]""";')).toThrow('not the JSON')
  expect(() => parseGrammar('grammar :: "x" action')).toThrow('expected ;, got action')
})
