import { expect, it } from 'vitest'
import type { Message } from '../../messages/message.ts'
import { Chat } from '../chat/chat.ts'
import { compactAddedTokens } from '../templates/compact-template.ts'
import { appended, conversation, lookTool, talk } from '../templates/field-templates.testing.ts'
import { TemplateRendering } from '../templates/template-rendering.ts'
import { trainTokenizer } from '../tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../tokenizer/tokenizer.ts'
import { publishedTemplates, servingFiles } from './serving-files.ts'

const shape = { max_position_embeddings: 64 }

const tokenizer = (...added: readonly (readonly [number, string])[]) =>
  JSON.stringify({ added_tokens: added.map(([id, content]) => ({ id, content })) })

// [SERVING-1]
it('files for other programs name every token that ends an action', () => {
  const chatMl = tokenizer([0, '<|endoftext|>'], [1, '<|im_start|>'], [2, '<|im_end|>'])
  const files = servingFiles(shape, chatMl, { chat: 'hermes' })
  expect(JSON.parse(files['generation_config.json'] ?? '')).toEqual({ eos_token_id: [2, 0], pad_token_id: 2 })
  expect(JSON.parse(files['tokenizer_config.json'] ?? '')).toMatchObject({
    eos_token: '<|im_end|>',
    model_max_length: 64,
  })
  expect(
    servingFiles(shape, tokenizer([9, '<|end|>']), { chat: 'compact' })['generation_config.json'],
  ).toContain('9')
})

// [SERVING-2]
it('other programs are given the template by which the policy talks', () => {
  const given = tokenizer([0, '<s>'], [1, '</s>'], [2, '<pad>'])
  const modelChat = {
    template: '{{ bos_token }}',
    tokens: { bos_token: '<s>', pad_token: '<pad>' },
    ends: [1],
  }
  const files = servingFiles(shape, given, { chat: 'jinja', modelChat })
  expect(files['chat_template.jinja']).toBe('{{ bos_token }}')
  expect(JSON.parse(files['generation_config.json'] ?? '')).toEqual({ eos_token_id: [1], pad_token_id: 2 })
  expect(JSON.parse(files['tokenizer_config.json'] ?? '')).toMatchObject({
    ...{ bos_token: '<s>', eos_token: '</s>', pad_token: '<pad>' },
  })
  expect(
    servingFiles(shape, tokenizer([9, '<|end|>']), { chat: 'compact' })['chat_template.jinja'],
  ).toContain("'<|end|>'")
})

it('a tokenizer without an end has no such files', () => {
  for (const text of ['{}', 'none', tokenizer([1, '<|im_start|>'])])
    expect(servingFiles(shape, text, { chat: 'hermes' })).toEqual({})
})

const added = {
  hermes: ['<|endoftext|>', '<|im_start|>', '<|im_end|>'].map((content) => ({ content, special: true })),
  compact: compactAddedTokens([lookTool]),
}

const several: readonly Message[] = [
  { role: 'user', content: 'Look at both.' },
  {
    role: 'assistant',
    content: 'I look.',
    tool_calls: [
      { name: 'look', arguments: { at: 'lamp' } },
      { name: 'go', arguments: { to: 'shelf', times: 2, slowly: true } },
    ],
  },
  { role: 'tool', name: 'look', content: 'a' },
  { role: 'tool', name: 'go', content: 'b' },
]

// [PUBLISHED-TEMPLATE-1]
it.each(['hermes', 'compact'] as const)(
  'the published template of %s gives the tokens of an episode',
  (format) => {
    const tokenizer = Tokenizer.parse(
      trainTokenizer(['a lamp'], { vocabularySize: 330, addedTokens: added[format] }),
    )
    const chat = new Chat(format, tokenizer)
    const rendering = new TemplateRendering({ template: publishedTemplates[format], tokens: {}, ends: [] })
    for (const messages of [conversation, talk, several])
      for (const tools of [[lookTool], undefined]) {
        const text = rendering.render(messages, { tools, prompt: true, argumentsAs: 'object' })
        expect([...tokenizer.encode(text)]).toEqual(appended(chat, messages, tools))
      }
  },
)
