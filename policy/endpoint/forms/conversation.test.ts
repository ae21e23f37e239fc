import { expect, test } from 'vitest'
import { argumentsText } from '../../../messages/exact-arguments.ts'
import { Conversation, callOf } from './conversation.ts'

// [CONVERSATION-1]
test('calls join the message before them, and answers have the names of their calls', () => {
  const conversation = new Conversation()
  conversation.add({ role: 'assistant', content: 'I look.' })
  conversation.call('a', { name: 'look', arguments: {} })
  conversation.call('b', { name: 'go', arguments: {} })
  conversation.answer('b', 'a door', 'messages.1')
  conversation.call('c', { name: 'wait', arguments: {} })
  expect(conversation.messages).toEqual([
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [
        { name: 'look', arguments: {} },
        { name: 'go', arguments: {} },
      ],
    },
    { role: 'tool', name: 'go', content: 'a door' },
    { role: 'assistant', content: '', tool_calls: [{ name: 'wait', arguments: {} }] },
  ])
  expect(() => conversation.answer('d', '', 'messages.4')).toThrow('`messages.4`')
})

// [CONVERSATION-2]
test('arguments keep their numbers as they were written, and are an object', () => {
  expect(argumentsText(callOf('f', '{"a":86.0}', 'x'))).toBe('{"a":86.0}')
  expect(() => callOf('f', '[1]', 'x')).toThrow('`x`: expected a JSON object')
})
