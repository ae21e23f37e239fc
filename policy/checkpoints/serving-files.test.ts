import { expect, it } from 'vitest'
import { servingFiles } from './serving-files.ts'

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
