import { describe, expect, it } from 'vitest'
import { servingFiles } from '../checkpoints/serving-files.ts'
import { fieldChats } from './field-templates.testing.ts'
import { readModelChat } from './model-chat.ts'

const reading = (files: Readonly<Record<string, string | undefined>>) =>
  readModelChat({
    text: async (path) => files[path],
    list: async (folder) =>
      Object.keys(files)
        .filter((path) => path.startsWith(`${folder}/`))
        .map((path) => path.slice(folder.length + 1)),
  })

const configured = JSON.stringify({
  chat_template: [
    { name: 'default', template: 'unused' },
    { name: 'tool_use', template: 'named' },
  ],
})

describe('how a published model talks', () => {
  // [MODEL-CHAT-1]
  it.each(fieldChats)(
    'is the same after it was written to a checkpoint: $name',
    async ({ tokenizer, modelChat }) => {
      const files = servingFiles({ max_position_embeddings: 64 }, tokenizer, { chat: 'jinja', modelChat })
      const read = await reading(files)
      expect(read).toMatchObject({
        template: modelChat.template,
        ends: modelChat.ends,
        tokens: modelChat.tokens,
      })
    },
  )

  it('is read from a file of its own, or from the configuration of the tokenizer as older models have it', async () => {
    const config = (more: object) =>
      JSON.stringify({ eos_token: { content: '</s>', special: true }, bos_token: null, ...more })
    const older = {
      'tokenizer_config.json': config({ chat_template: 'older' }),
      'config.json': '{"eos_token_id": 7}',
    }
    expect(await reading(older)).toEqual({ template: 'older', tokens: { eos_token: '</s>' }, ends: [7] })
    expect(await reading({ ...older, 'chat_template.jinja': 'newer' })).toMatchObject({ template: 'newer' })
    const several = config({
      chat_template: [
        { name: 'default', template: 'a' },
        { name: 'tool_use', template: 'b' },
      ],
    })
    expect(await reading({ 'tokenizer_config.json': several })).toMatchObject({ template: 'b' })
    expect(await reading({ ...older, 'generation_config.json': '{"eos_token_id": [3, 7]}' })).toMatchObject({
      ends: [3, 7],
    })
  })

  // [MODEL-CHAT-2] The order is that of transformers 5.24, `PreTrainedTokenizerBase._from_pretrained` and `get_chat_template`.
  it.each([
    [
      'the one for tools',
      { 'additional_chat_templates/tool_use.jinja': 'tools', 'chat_template.jinja': 'main' },
      'tools',
    ],
    [
      'the main one beside others',
      { 'additional_chat_templates/rag.jinja': 'rag', 'chat_template.jinja': 'main' },
      'main',
    ],
    [
      'the default of the folder',
      { 'additional_chat_templates/default.jinja': 'later', 'chat_template.jinja': 'main' },
      'later',
    ],
    ['the folder without a main one', { 'additional_chat_templates/tool_use.jinja': 'tools' }, 'tools'],
    [
      'files before the configuration',
      { 'chat_template.jinja': 'main', 'tokenizer_config.json': configured },
      'main',
    ],
    [
      'the configuration where no file is a template',
      { 'additional_chat_templates/README.md': 'x', 'tokenizer_config.json': configured },
      'named',
    ],
  ])('is read as transformers reads it: %s', async (_, files, template) => {
    expect(await reading(files)).toMatchObject({ template })
  })

  it('is refused by the names of its templates where none of them is the default', async () => {
    const asked = reading({ 'additional_chat_templates/rag.jinja': 'x', 'tokenizer_config.json': configured })
    await expect(asked).rejects.toMatchObject({ kind: 'foreign', message: expect.stringContaining('rag') })
  })

  it('has the tokens that older folders name in a file of their own', async () => {
    const files = {
      'chat_template.jinja': 'x',
      'tokenizer_config.json': '{"eos_token": "</s>", "bos_token": "<s>"}',
      'special_tokens_map.json': '{"eos_token": {"content": "<|im_end|>"}}',
    }
    expect(await reading(files)).toMatchObject({ tokens: { eos_token: '<|im_end|>', bos_token: '<s>' } })
    const described = '{"eos_token": "</s>", "added_tokens_decoder": {}}'
    expect(await reading({ ...files, 'tokenizer_config.json': described })).toMatchObject({
      tokens: { eos_token: '</s>' },
    })
  })

  it('is nothing for a base model, and a file that cannot be read is named', async () => {
    expect(await reading({ 'tokenizer_config.json': '{}' })).toBeUndefined()
    await expect(reading({ 'tokenizer_config.json': '{' })).rejects.toThrow(
      'tokenizer_config.json cannot be read',
    )
  })
})
