import { expect, it } from 'vitest'
import { Chat } from '../../policy/chat/chat.ts'
import { compactAddedTokens } from '../../policy/templates/compact-template.ts'
import { trainTokenizer } from '../../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../../policy/tokenizer/tokenizer.ts'
import { messageOf } from './answer.ts'

const tokenizer = Tokenizer.parse(
  trainTokenizer(['a lamp'], { vocabularySize: 320, addedTokens: compactAddedTokens([]) }),
)
const model = {
  id: 'demo@0',
  version: 0,
  contextLength: 256,
  checkpointDir: '',
  tokenizer,
  chat: new Chat('compact', tokenizer),
}
const answer = (text: string) =>
  messageOf(model, {
    tokens: tokenizer.encode(text),
    logprobs: new Float32Array(),
    version: 0,
    finish: 'stop',
  })
const look = '<tool_call>{"name":"look","arguments":{}}</tool_call>'

// [SERVED-ANSWER-3]
it.each([
  ['with a call that is broken', `${look}<tool_call>{"name":"go"`],
  ['with a call that has no arguments', `${look}<tool_call>{"name":"go"}</tool_call>`],
  ['with a thought that does not end', `<think>${look}`],
])('an answer %s is text and calls nothing', (_, text) => {
  const { message, finish_reason: reason } = answer(text)
  expect(message).toEqual({ role: 'assistant', content: text, refusal: null })
  expect(reason).toBe('stop')
})

it('a call after a thought is given, and one within it is not', () => {
  const { message, finish_reason: reason } = answer(`<think>${look}</think>${look}`)
  expect(message.content).toBe(`<think>${look}</think>`)
  expect(message.tool_calls?.map(({ function: called }) => called.name)).toEqual(['look'])
  expect(reason).toBe('tool_calls')
})
