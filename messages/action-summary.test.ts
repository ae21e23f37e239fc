/** An action in a few words names its tools and shows all arguments. */
import { expect, test } from 'vitest'
import { actionSummary } from './action-summary.ts'
import type { AssistantMessage, ToolCall } from './message.ts'

const acting = (...calls: readonly ToolCall[]): AssistantMessage => ({
  role: 'assistant',
  content: 'I do it.',
  tool_calls: calls,
})

test('actions of two tools with the same argument look different', () => {
  const summaries = ['buy', 'sell'].map((name) => actionSummary(acting({ name, arguments: { item: 1 } })))
  expect(summaries).toEqual(['buy(1)', 'sell(1)'])
})

test('all arguments are shown, and all calls', () => {
  expect(actionSummary(acting({ name: 'move', arguments: { x: 1, y: { to: [2] } } }))).toBe(
    'move(x: 1, y: {"to":[2]})',
  )
  expect(
    actionSummary(acting({ name: 'look', arguments: {} }, { name: 'go', arguments: { to: 'north' } })),
  ).toBe('look(); go(north)')
})

test('[SUMMARY-2] a long argument is cut so that the ones after it are shown too', () => {
  const summary = actionSummary(
    acting({ name: 'write', arguments: { text: 'word\n'.repeat(1_000), file: 'a.txt', mode: 'append' } }),
  )
  expect(summary).toMatch(/^write\(text: word word .*…, file: a\.txt, mode: append\)$/)
})

test('[SUMMARY-1] it is one line of at most 80 characters, whatever the action is', () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`argument${at}`, 'x'.repeat(at)]))
  for (const action of [
    acting({ name: 'n'.repeat(200), arguments: many }),
    acting(...Array.from({ length: 30 }, () => ({ name: 'go', arguments: { to: 'a\nb' } }))),
    { role: 'assistant', content: 'line\n'.repeat(100) } as const,
  ]) {
    const summary = actionSummary(action)
    expect(summary.length).toBeLessThanOrEqual(80)
    expect(summary).not.toContain('\n')
  }
})

test('an action without a call is shown as what it said, without its thoughts', () => {
  expect(actionSummary({ role: 'assistant', content: '<think>hm</think> yes', said: ' yes' })).toBe('yes')
})
