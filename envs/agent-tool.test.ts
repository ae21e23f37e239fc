import fc from 'fast-check'
import { expect, test } from 'vitest'
import { textTool } from './agent-tool.ts'

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
