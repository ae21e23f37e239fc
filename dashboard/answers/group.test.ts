import { expect, test } from 'vitest'
import { shownActions } from './group.ts'

const calling = (name: string, text: string, content = '') =>
  JSON.stringify({ role: 'assistant', content, tool_calls: [{ name, arguments: { text } }] })

test('[SHOWN-ACTIONS-1] different actions have different words, even where what differs is cut off', () => {
  const long = 'x'.repeat(200)
  expect(
    shownActions([
      [calling('write', `${long}a`), calling('buy', '1')],
      [calling('write', `${long}b`), calling('sell', '1')],
      [calling('write', `${long}a`)],
    ]),
  ).toEqual([
    [expect.stringMatching(/^write\(x+…\)$/), 'buy(1)'],
    [expect.stringMatching(/^write\(x+…\) \(2\)$/), 'sell(1)'],
    [expect.stringMatching(/^write\(x+…\)$/)],
  ])
})

test('[SHOWN-ACTIONS-1] samples that thought otherwise and did the same have the same words', () => {
  expect(shownActions([[calling('look', 'up', 'I look.')], [calling('look', 'up', 'Let me see.')]])).toEqual([
    ['look(up)'],
    ['look(up)'],
  ])
  expect(shownActions([['{damaged']])).toEqual([['']])
})
