import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AssistantMessage, JsonObject, Message, ToolSpec } from '../../messages/message.ts'
import { publishCheckpoint } from '../checkpoints/checkpoint.ts'
import { compactAddedTokens } from '../templates/compact-template.ts'
import { trainTokenizer } from '../tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../tokenizer/tokenizer.ts'
import { elementCount, weightSpecs } from '../transformer/architecture.ts'
import { Chat, openChat } from './chat.ts'

function tool(name: string, properties: JsonObject): ToolSpec {
  return {
    type: 'function',
    function: { name, description: `Does ${name}.`, parameters: { type: 'object', properties } },
  }
}

const takeAction = tool('take_action', { action: { type: 'string' } })
const move = tool('move', { to: { type: 'string' }, steps: { type: 'integer' } })
const tools = [takeAction, move]
const texts = ['You open the drawer 12.', 'go to drawer 12', 'go to drawer 12', 'You open the drawer 12.']

const compactJson = trainTokenizer(texts, { vocabularySize: 300, addedTokens: compactAddedTokens(tools) })
const hermesJson = trainTokenizer(texts, {
  vocabularySize: 300,
  addedTokens: ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<tool_call>', '</tool_call>'].map(
    (content, i) => ({
      content,
      special: i < 3,
    }),
  ),
})
const tokenizers = { compact: Tokenizer.parse(compactJson), hermes: Tokenizer.parse(hermesJson) }
const chats = {
  compact: new Chat('compact', tokenizers.compact),
  hermes: new Chat('hermes', tokenizers.hermes),
}
const formats = ['compact', 'hermes'] as const

function acts(action: string, content = ''): AssistantMessage {
  return { role: 'assistant', content, tool_calls: [{ name: 'take_action', arguments: { action } }] }
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      '<|end|>',
      '<|im_end|>',
      '</tool_call>',
      '"}}</tool_call>',
      '"',
      '\\',
      '\n',
      '\0',
      '<tool_',
      '😀',
      'a',
    ),
  }),
)
// A number that JSON writes differently (-0) and the forbidden key do not come back as they were.
const anyArguments = fc.dictionary(anyText, fc.jsonValue({ maxDepth: 3 })).map((value) => {
  const text = JSON.stringify(value).replaceAll('__proto__', 'proto')
  return JSON.parse(text) as JsonObject
})
const anyName = fc.stringMatching(/^[a-z_.-]{1,12}$/)
const anyCall = fc.oneof(
  fc.record({ name: anyName, arguments: anyArguments }),
  fc.record({ name: fc.constant('take_action'), arguments: fc.record({ action: anyText }) }),
)
const anyAction: fc.Arbitrary<AssistantMessage> = fc
  .tuple(anyText, fc.array(anyCall, { maxLength: 3 }))
  .filter(([content]) => !content.includes('<tool_call>'))
  .map(([content, calls]) => {
    const message = { role: 'assistant', content: content.toWellFormed() } as const
    return calls.length === 0 ? message : { ...message, tool_calls: calls }
  })

describe.each(formats)('a chat in the format %s', (format) => {
  const chat = chats[format]
  const tokenizer = tokenizers[format]
  const end = chat.stopTokens[0] as number

  test('parsing what was rendered gives the message back, from text and from tokens', () => {
    fc.assert(
      fc.property(anyAction, (message) => {
        const read = { message, problems: [] }
        expect(chat.parseAction(chat.renderAssistant(message))).toEqual(read)
        expect(chat.parseAction(chat.encodeAssistant(message))).toEqual(read)
        expect(chat.parseAction(chat.encodeAssistant(message).slice(0, -1))).toEqual(read)
      }),
      { numRuns: 300 },
    )
  })

  // At some microseconds a byte, tokenizing all of it would take minutes.
  test('a turn and an action of a hundred megabytes are refused at once where there is room for a thousand tokens', () => {
    const content = 'You open the drawer. '.repeat(5_000_000)
    expect(chat.encodeTurnWithin(1000, [], [{ role: 'user', content }])).toBeUndefined()
    expect(chat.encodeAssistantWithin(1000, { role: 'assistant', content })).toBeUndefined()
  })

  test('any tokens are parsed without throwing', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1, max: 400 })), (tokens) => {
        expect(chat.parseAction(tokens).message.role).toBe('assistant')
        expect(chat.parseAction(Int32Array.from(tokens))).toEqual(chat.parseAction(tokens))
      }),
    )
  })

  test('a control token within an action is a problem and no content', () => {
    const control = tokenizer.addedToken(format === 'compact' ? '<|user|>' : '<|im_start|>') as number
    const { message, problems } = chat.parseAction([
      ...tokenizer.encode('a'),
      control,
      ...tokenizer.encode('b'),
    ])
    expect(message.content).toBe('ab')
    expect(problems.map(({ kind }) => kind)).toEqual(['control_token'])
  })

  test('an action ends with the first stop token, and only there', () => {
    fc.assert(
      fc.property(anyAction, (message) => {
        const tokens = [...chat.encodeAssistant(message)]
        expect(tokens.findIndex((token) => chat.stopTokens.includes(token))).toBe(tokens.length - 1)
      }),
    )
  })

  test('text from environments cannot end a message', () => {
    fc.assert(
      fc.property(anyText, (content) => {
        const tokens = chat.encodeTurn([], [{ role: 'user', content }])
        expect([...tokens].filter((token) => token === end)).toHaveLength(1)
      }),
    )
  })

  test('the tokens are those of the rendered text, where contents hold no tags', () => {
    const messages: Message[] = [
      { role: 'system', content: 'You play.' },
      { role: 'user', content: 'You open the drawer 12.' },
      acts('go to drawer 12', 'Hm.'),
      { role: 'tool', name: 'take_action', content: 'Nothing happens.' },
    ]
    expect(chat.encodeTurn([], messages, tools)).toEqual(
      tokenizer.encode(chat.renderTurn('empty', messages, tools)),
    )
    const action: AssistantMessage = {
      role: 'assistant',
      content: 'Hm.',
      tool_calls: [
        { name: 'move', arguments: { steps: 2, to: 'a' } },
        { name: 'move', arguments: { to: 'a', steps: 2 } },
        { name: 'look', arguments: {} },
        { name: 'take_action', arguments: { action: 'say "hi"' } },
      ],
    }
    expect(chat.encodeAssistant(action)).toEqual(tokenizer.encode(chat.renderAssistant(action)))
  })

  test('an action that was cut is closed before the next turn, an ended one is not closed again', () => {
    const next: Message[] = [{ role: 'tool', name: 'take_action', content: 'Nothing happens.' }]
    const action = chat.encodeAssistant(acts('go to drawer 12'))
    const afterEnd = chat.encodeTurn(action, next)
    const afterCut = chat.encodeTurn(action.slice(0, -1), next)
    expect(afterCut).toEqual(Int32Array.from([end, ...afterEnd]))
    expect(afterEnd[0]).not.toBe(end)
  })

  test('a demonstration is the sequence that playing it would give', () => {
    const first: Message[] = [{ role: 'user', content: 'You are in a room.' }]
    const second: Message[] = [{ role: 'tool', name: 'take_action', content: 'You open the drawer 12.' }]
    const { tokens, lossMask } = chat.encodeDemonstration(
      [
        { messages: first, action: acts('open drawer 12') },
        { messages: second, action: acts('go to bed 1') },
      ],
      tools,
    )
    const played = [...chat.encodeTurn([], first, tools), ...chat.encodeAssistant(acts('open drawer 12'))]
    const turn = chat.encodeTurn(played, second)
    played.push(...turn, ...chat.encodeAssistant(acts('go to bed 1')))
    expect([...tokens]).toEqual(played)
    expect(lossMask.reduce((sum, bit) => sum + bit, 0)).toBe(
      chat.encodeAssistant(acts('open drawer 12')).length + chat.encodeAssistant(acts('go to bed 1')).length,
    )
    expect(lossMask[0]).toBe(0)
    expect(lossMask.at(-1)).toBe(1)
  })
})

describe('the compact format', () => {
  const chat = chats.compact

  test('spends two tokens around the text of a call, and its text is the Hermes form', () => {
    const action = acts('go to drawer 12')
    expect(chat.renderAssistant(action)).toBe(
      '<tool_call>{"name":"take_action","arguments":{"action":"go to drawer 12"}}</tool_call><|end|>',
    )
    const text = tokenizers.compact.encode('go to drawer 12')
    expect(chat.encodeAssistant(action)).toHaveLength(text.length + 3)
  })

  test('starts and ends a message with one token each and lists no tools', () => {
    const messages: Message[] = [
      { role: 'user', content: 'a' },
      { role: 'tool', name: 'x', content: 'b' },
    ]
    expect(chat.renderTurn('empty', messages, tools)).toBe('<|user|>a<|end|><|tool|>b<|end|><|assistant|>')
    expect(chat.encodeTurn([], messages, tools)).toHaveLength(7)
  })

  test('its added tokens come from the tools', () => {
    expect(compactAddedTokens(tools).map(({ content }) => content)).toEqual([
      '<|system|>',
      '<|user|>',
      '<|assistant|>',
      '<|tool|>',
      '<|end|>',
      '<tool_call>{"name":"take_action","arguments":{"action":"',
      '<tool_call>{"name":"move","arguments":{',
      '"}}</tool_call>',
      '}}</tool_call>',
    ])
  })
})

describe('the Hermes format', () => {
  const chat = chats.hermes

  test('lists tools in the system message and groups their answers in one user turn', () => {
    const messages: Message[] = [
      { role: 'system', content: 'Play.' },
      { role: 'user', content: 'Hi' },
    ]
    const text = chat.renderTurn('empty', messages, [takeAction])
    expect(text.startsWith('<|im_start|>system\nPlay.\n\n# Tools\n')).toBe(true)
    expect(text).toContain(
      '<tools>\n{"type": "function", "function": {"name": "take_action", "description": "Does take_action.", "parameters": {"type": "object", "properties": {"action": {"type": "string"}}}}}\n</tools>',
    )
    expect(text.endsWith('<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n')).toBe(true)
    const answers: Message[] = ['a', 'b'].map((content) => ({ role: 'tool', name: 'x', content }))
    expect(chat.renderTurn('closed', answers)).toBe(
      '\n<|im_start|>user\n<tool_response>\na\n</tool_response>\n<tool_response>\nb\n</tool_response><|im_end|>\n<|im_start|>assistant\n',
    )
  })

  test('writes calls as published checkpoints have seen them', () => {
    expect(chat.renderAssistant(acts('look', 'I look.'))).toBe(
      'I look.\n<tool_call>\n{"name": "take_action", "arguments": {"action": "look"}}\n</tool_call><|im_end|>',
    )
  })

  test('an empty list of tools is no list', () => {
    expect(chat.renderTurn('empty', [], [])).toBe('<|im_start|>assistant\n')
  })

  test('ends of other kinds stop an action too', () => {
    expect(chat.stopTokens).toEqual([
      tokenizers.hermes.addedToken('<|im_end|>'),
      tokenizers.hermes.addedToken('<|endoftext|>'),
    ])
  })
})

test('a tokenizer without the control tokens of the format is refused by their names', () => {
  expect(() => new Chat('hermes', tokenizers.compact)).toThrow(
    'the tokenizer has no <|im_start|>, <|im_end|>',
  )
})

test('openChat reads format and tokenizer of a checkpoint, and refuses one that was changed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'perdure-chat-'))
  const architecture = {
    vocab_size: tokenizers.compact.vocabularySize,
    hidden_size: 2,
    intermediate_size: 2,
    num_hidden_layers: 1,
    num_attention_heads: 1,
    num_key_value_heads: 1,
    head_dim: 2,
    rope_theta: 10000,
    rms_norm_eps: 1e-6,
    tie_word_embeddings: true,
    max_position_embeddings: 8,
  }
  const weights = new Map(
    weightSpecs(architecture).map(({ name, shape }) => [name, new Float32Array(elementCount(shape))]),
  )
  const state = { version: 0, step: 0, chat: 'compact', facts: {} } as const
  const dir = join(root, '0')
  await publishCheckpoint(dir, { architecture, weights, tokenizer: compactJson, state })
  const chat = await openChat(dir)
  expect(chat.format).toBe('compact')
  expect(chat.encodeAssistant(acts('look'))).toEqual(chats.compact.encodeAssistant(acts('look')))
  await writeFile(join(dir, 'tokenizer.json'), compactJson.replace('drawer', 'drawee'))
  await expect(openChat(dir)).rejects.toThrow('tokenizer.json')
  await rm(root, { recursive: true })
})
