import { expect, it } from 'vitest'
import { Chat } from '../chat/chat.ts'
import { compactAddedTokens } from '../templates/compact-template.ts'
import { trainTokenizer } from '../tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../tokenizer/tokenizer.ts'
import { wordsOf } from './answer-words.ts'

const tokenizer = Tokenizer.parse(
  trainTokenizer(['a lamp'], { vocabularySize: 320, addedTokens: compactAddedTokens([]) }),
)
const model = {
  id: 'demo@0',

  contextLength: 256,
  checkpointDir: '',
  tokenizer,
  chat: new Chat('compact', tokenizer),
}
const answer = (text: string, wish?: { readonly oneCall: boolean }) =>
  wordsOf(model, { tokens: tokenizer.encode(text), finish: 'stop' }, wish)
const look = '<tool_call>{"name":"look","arguments":{}}</tool_call>'

// [ANSWER-WORDS-1]
it.each([
  ['with a call that is broken', `${look}<tool_call>{"name":"go"`],
  ['with a call that has no arguments', `${look}<tool_call>{"name":"go"}</tool_call>`],
  ['with a thought that does not end', `<think>${look}`],
])('an answer %s is text and calls nothing', (_, text) => {
  expect(answer(text)).toEqual({ content: text, calls: [], finish: 'stop' })
})

it('a call after a thought is given, and one within it is not', () => {
  expect(answer(`<think>${look}</think>${look}`)).toEqual({
    content: `<think>${look}</think>`,
    calls: [{ name: 'look', arguments: '{}' }],
    finish: 'calls',
  })
})

// [ANSWER-WORDS-2]
it('of several calls a client that wants one at a time gets the first', () => {
  expect(answer(`${look}${look}`).calls).toHaveLength(2)
  expect(answer(`${look}${look}`, { oneCall: true })).toMatchObject({
    calls: [{ name: 'look' }],
    finish: 'calls',
  })
})
