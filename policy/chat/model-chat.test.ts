import { describe, expect, it } from 'vitest'
import { servingFiles } from '../checkpoints/serving-files.ts'
import { fieldChats } from './field-templates.testing.ts'
import { readModelChat } from './model-chat.ts'

const reading = (files: Readonly<Record<string, string | undefined>>) =>
  readModelChat(async (name) => files[name])

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

  it('is nothing for a base model, and a file that cannot be read is named', async () => {
    expect(await reading({ 'tokenizer_config.json': '{}' })).toBeUndefined()
    await expect(reading({ 'tokenizer_config.json': '{' })).rejects.toThrow(
      'tokenizer_config.json cannot be read',
    )
  })
})
