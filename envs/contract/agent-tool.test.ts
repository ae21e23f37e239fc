import fc from 'fast-check'
import { expect, test } from 'vitest'
import { calledName, fieldsOf, quoted, textTool } from './agent-tool.ts'

const pour = textTool<'from' | 'to', string[]>({
  name: 'pour',
  description: 'Pours.',
  takes: { from: 'The jug.', to: '' },
  run({ from, to }, poured) {
    poured.push(`${from}>${to}`)
    return { reply: 'Poured.' }
  },
})

test('a tool of texts shows each argument as a required string, with its meaning where it has one', () => {
  expect(pour.spec.function.parameters).toEqual({
    type: 'object',
    properties: { from: { type: 'string', description: 'The jug.' }, to: { type: 'string' } },
    required: ['from', 'to'],
    additionalProperties: false,
  })
})

test('arguments come through as they were written', () => {
  fc.assert(
    fc.asyncProperty(fc.string(), fc.string(), async (from, to) => {
      const poured: string[] = []
      expect(await pour.call({ to, more: 1, from }, poured)).toEqual({ reply: 'Poured.' })
      expect(poured).toEqual([`${from}>${to}`])
    }),
  )
})

test('arguments that do not fit are answered in words and change nothing', async () => {
  const poured: string[] = []
  const cases: readonly (readonly [unknown, string])[] = [
    [undefined, 'pour needs "from", a string.'],
    [null, 'pour needs "from", a string.'],
    ['from', 'pour needs "from", a string.'],
    [{ from: 7, to: '' }, 'pour needs "from", a string, not "number".'],
    [{ from: '', to: ['x'.repeat(1_000_000)] }, 'pour needs "to", a string, not "object".'],
    // Only what the call itself has counts.
    [Object.create({ from: 'a', to: 'b' }), 'pour needs "from", a string.'],
  ]
  for (const [given, reply] of cases) expect(await pour.call(given, poured)).toEqual({ reply, usable: false })
  expect(poured).toEqual([])
})

test('whatever the arguments are, reading them never throws', () => {
  const anything = fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true })
  fc.assert(
    fc.asyncProperty(anything, async (given) => {
      expect((await pour.call(given, [])).reply.length).toBeGreaterThan(0)
    }),
  )
})

const anything = fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true })

test('whatever a call holds, reading it never throws', () => {
  fc.assert(
    fc.property(anything, (call) => {
      expect(typeof fieldsOf(call)).toBe('object')
      expect(calledName(call, 'act').length).toBeGreaterThan(0)
      expect(quoted(call)).toMatch(/^".*"$/s)
    }),
  )
  expect(fieldsOf(null)).toEqual({})
  expect(fieldsOf('name')).toEqual({})
})

test('of a name or value that the agent made up, no more than the limit comes back to it', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 100 }), fc.integer({ min: 1, max: 80 }), (text, limit) => {
      expect(calledName({ name: text }, 'act', limit)).toBe(text === '' ? 'act' : text.slice(0, limit))
      expect(quoted(text, limit)).toBe(text.length > limit ? `"${text.slice(0, limit)}…"` : `"${text}"`)
    }),
  )
  expect(calledName({ name: 'x'.repeat(1_000_000) }, 'act')).toHaveLength(40)
})

test('a call without a name is answered under the one given for it', () => {
  for (const call of [undefined, null, 'act', {}, { name: '' }, { name: 7 }])
    expect(calledName(call, 'take_action')).toBe('take_action')
})

test('a value that is no text is quoted as its type', () => {
  expect([7, true, null, undefined, {}, []].map((value) => quoted(value))).toEqual([
    '"number"',
    '"boolean"',
    '"object"',
    '"undefined"',
    '"object"',
    '"object"',
  ])
})
