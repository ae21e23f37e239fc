import fc from 'fast-check'
import { expect, test } from 'vitest'
import { householdTools, nameOf, readCall } from './tools.ts'

test('whatever a call holds, reading it gives a command or the reason why not', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true }), (call) => {
      const reading = readCall(call)
      expect('command' in reading || reading.problem.length > 0).toBe(true)
      expect(nameOf(call).length).toBeGreaterThan(0)
    }),
  )
})

test('a command comes through as it was written', () => {
  fc.assert(
    fc.property(fc.string(), (action) => {
      expect(readCall({ name: 'take_action', arguments: { action, other: 1 } })).toEqual({ command: action })
    }),
  )
})

test('answers to wrong calls stay short, however long the call is', () => {
  const long = 'x'.repeat(1_000_000)
  for (const call of [{ name: long }, { name: 'take_action', arguments: { action: [long] } }]) {
    const reading = readCall(call)
    expect('problem' in reading && reading.problem.length).toBeLessThan(160)
    expect(nameOf(call).length).toBeLessThanOrEqual(40)
  }
})

test('the tool is named and shaped as AgentBench has it', () => {
  expect(householdTools).toHaveLength(1)
  expect(householdTools[0]?.function).toMatchObject({
    name: 'take_action',
    parameters: { required: ['action'], properties: { action: { type: 'string' } } },
  })
})
