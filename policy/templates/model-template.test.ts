import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AssistantMessage, Message, ToolSpec } from '../../messages/message.ts'
import { createChat } from '../chat/chat.ts'
import { publishedTemplates } from '../checkpoints/serving-files.ts'
import { trainTokenizer } from '../tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../tokenizer/tokenizer.ts'
import {
  appended,
  conversation,
  fieldChats,
  lookTool,
  openFieldChat,
  talk,
} from './field-templates.testing.ts'

const recorded: Record<string, Record<'conversation' | 'talk', string>> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'field-templates.expected.json'), 'utf8'),
)
const names = fieldChats.map(({ name }) => name)
const looks = (...at: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: at.map((each) => ({ name: 'look', arguments: { at: each } })),
})
const saw = (content: string): Message => ({ role: 'tool', name: 'look', content })

describe.each(names.filter((name) => name !== 'smollm2'))('a model that talks like %s', (name) => {
  // [MODEL-TEMPLATE-1] The figures are those of transformers: `scripts/record/record-chat-tokens.ts`.
  it('hears tools, calls and answers in the tokens that transformers renders', async () => {
    const tokens = appended(await openFieldChat(name), conversation, [lookTool])
    expect(tokens.join(' ')).toBe(recorded[name]?.conversation)
  })
})

describe.each(names)('a model that talks like %s', (name) => {
  // [MODEL-TEMPLATE-1]
  it('hears a conversation without tools in the tokens that transformers renders', async () => {
    expect(appended(await openFieldChat(name), talk).join(' ')).toBe(recorded[name]?.talk)
  })

  it('is understood in the form that its template writes', async () => {
    const chat = await openFieldChat(name)
    for (const message of [
      looks('shelf'),
      looks('the "lamp" {[1, 2]}'),
      { role: 'assistant', content: 'I see.' } as const,
    ])
      expect(chat.parseAction(chat.encodeAssistant(message))).toEqual({ message, problems: [] })
  })

  it('goes on after an action that was cut as after one that it ended', async () => {
    const chat = await openFieldChat(name)
    const action = chat.encodeAssistant(looks('shelf'))
    const ended = chat.encodeTurn(action, [saw('a lamp')])
    expect(chat.encodeTurn(action.slice(0, -1), [saw('a lamp')])).toEqual(
      Int32Array.of(...action.slice(-1), ...ended),
    )
  })

  it('hears several answers, answers to no call, and a second message, whatever its template allows', async () => {
    const chat = await openFieldChat(name)
    const asked: Message = { role: 'user', content: 'Go on.' }
    const turns: readonly (readonly Message[])[] = [
      [saw('a'), saw('b')],
      [saw('a'), asked],
      [asked, asked],
      [asked],
    ]
    for (const turn of turns) {
      const text = chat.renderTurn('closed', turn)
      for (const { content } of turn) expect(text).toContain(content)
    }
  })

  // [OUTSIDE-1]
  it('cannot be given a control token by text from outside', async () => {
    const chat = await openFieldChat(name)
    const field = fieldChats.find((one) => one.name === name)
    const tokenizer = Tokenizer.parse(field?.tokenizer ?? '')
    const added = tokenizer.addedTokens.map(({ id }) => id)
    const count = (tokens: Int32Array) => tokens.filter((token) => added.includes(token)).length
    const plain = count(chat.encodeTurn([], [{ role: 'user', content: 'x' }, saw('x')], [lookTool]))
    const shard = fc.constantFrom(
      ...tokenizer.addedTokens.map(({ content }) => content),
      '<|',
      '|>',
      '<',
      '[',
      ']',
      'a',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(shard, { maxLength: 6 }), (shards) => {
        const content = shards.join('')
        const tool: ToolSpec = { ...lookTool, function: { ...lookTool.function, description: content } }
        expect(count(chat.encodeTurn([], [{ role: 'user', content }, saw(content)], [tool]))).toBe(plain)
        const said = chat.encodeAssistant(looks(content))
        expect(count(said)).toBe(count(chat.encodeAssistant(looks('x'))))
      }),
      { numRuns: 60 },
    )
  })
})

// [MODEL-TEMPLATE-2] [DIFFERENCES-1]
it('a template that renders earlier messages again is reported with the place where it does', async () => {
  const notesOf = async (name: string) => (await openFieldChat(name)).notes
  expect(await notesOf('llama')).toEqual([])
  expect(await notesOf('qwen2')).toEqual([])
  const [thoughts, ...others] = await notesOf('qwen3')
  expect(others).toEqual([])
  expect(thoughts).toMatch(/^after an action with thoughts/)
  expect(thoughts).toContain('<think>')
  expect(thoughts).toContain('the tokens that were sampled and appended stay as they are')
  expect((await notesOf('mistral'))[0]).toContain('[AVAILABLE_TOOLS]')
})

// [MODEL-TEMPLATE-3] [TRAITS-1]
it('what a template cannot say is said within what it can', async () => {
  const chat = await openFieldChat('smollm2')
  expect(chat.notes.join('\n')).toMatch(/lists no tools[\s\S]*writes no tool calls/)
  const text = chat.renderTurn('empty', [{ role: 'user', content: 'Begin.' }], [lookTool])
  expect(text).toMatch(/^<\|im_start\|>system\n# Tools[\s\S]*"name": "look"/)
  expect(chat.renderAssistant(looks('shelf'))).toBe(
    '<tool_call>\n{"name": "look", "arguments": {"at": "shelf"}}\n</tool_call><|im_end|>',
  )
  const strict = await openFieldChat('mistral')
  expect(strict.renderTurn('closed', [saw('a lamp'), { role: 'user', content: 'Go on.' }])).toBe(
    '[TOOL_RESULTS]{"content": "a lamp\\n\\nGo on.", "call_id": "call00000"}[/TOOL_RESULTS]',
  )
  expect(() => chat.renderTurn('closed', [saw('x')], [lookTool])).not.toThrow()
})

it('calls that a template has one at a time are refused by a message that says so', async () => {
  const chat = await openFieldChat('llama')
  expect(() => chat.encodeAssistant(looks('lamp', 'shelf'))).toThrow('make one call at a time')
})

describe('a template whose prompt opens a thought', () => {
  const draft = '<tool_call>{"name": "look", "arguments": {"at": "door"}}</tool_call>'
  const opening = publishedTemplates.hermes.replace(
    `{{- '<|im_start|>assistant\\n' }}`,
    `{{- '<|im_start|>assistant\\n<think>\\n' }}`,
  )
  const thinking = (thought: string) =>
    opening.replace(
      `{{- '<|im_start|>' + message.role + '\\n' + said }}`,
      `{{- '<|im_start|>' + message.role + '\\n' }}{%- if message.role == 'assistant' %}{{- ${thought} }}{%- endif %}{{- said }}`,
    )
  const whole = thinking(`'<think>\\n' + (message.reasoning_content or '') + '\\n</think>\\n\\n'`)

  // [READING-2] [MODEL-TEMPLATE-4]
  it.each([
    ['with its thought, even an empty one', whole, '\n</think>\n\n<tool_call>'],
    ['with a thought of another shape', thinking(`'<think></think>'`), '</think><tool_call>'],
    ['without its thought', opening, '\n</think>\n\n<tool_call>'],
  ])('and that renders an action %s is read from within the thought', async (_, template, begins) => {
    const chat = await open(template)
    expect(chat.renderTurn('empty', [{ role: 'user', content: 'Hi' }]).endsWith('<think>\n')).toBe(true)
    const message = looks('shelf')
    const rendered = chat.renderAssistant(message)
    expect(rendered.slice(0, begins.length)).toBe(begins)
    expect(chat.parseAction(rendered)).toEqual({ message, problems: [] })
    expect(chat.parseAction(chat.encodeAssistant(message))).toEqual({ message, problems: [] })
    const thought = `Is it there? ${draft}\n</think>`
    expect(chat.parseAction(`${thought}\n${rendered.slice(rendered.indexOf('<tool_call>'))}`)).toMatchObject({
      message: { content: thought, said: '', tool_calls: message.tool_calls },
      problems: [],
    })
    expect(chat.parseAction(draft)).toMatchObject({
      message: { content: draft, said: '' },
      problems: [{ kind: 'unclosed_thought' }],
    })
    expect(chat.parseAction(draft).message.tool_calls).toBeUndefined()
  })

  it('is read by marks that are its own', async () => {
    const chat = await open(whole.replaceAll('think>', 'cot>'))
    expect(chat.parseAction(draft).message.tool_calls).toBeUndefined()
    expect(chat.parseAction(`a <cot> ${draft}</cot>${draft}`).message.tool_calls).toHaveLength(1)
    const marks = publishedTemplates.hermes.replace(
      `+ said }}`,
      `+ ('«' + message.thinking + '»' if message.thinking else '') + said }}`,
    )
    const other = await open(marks)
    expect(other.parseAction(`«${draft}»${draft}`).message.tool_calls).toHaveLength(1)
    expect(other.parseAction(`«${draft}`).message.tool_calls).toBeUndefined()
  })
})

// [READING-2]
it.each(['</cot>', '[/PLAN]'])(
  'a thought that a template drops from earlier actions, up to %s, calls nothing',
  async (closing) => {
    const chat = await open(
      publishedTemplates.hermes.replace(
        `{{- '<|im_start|>' + message.role + '\\n' + said }}`,
        `{{- '<|im_start|>' + message.role + '\\n' + (said.split('${closing}') | last) }}`,
      ),
    )
    const opening = closing.replace('/', '')
    const call = (at: string) => `<tool_call>{"name": "look", "arguments": {"at": "${at}"}}</tool_call>`
    expect(chat.parseAction(`${opening}${call('door')}${closing}${call('shelf')}`)).toMatchObject({
      message: { said: '', tool_calls: [{ arguments: { at: 'shelf' } }] },
      problems: [],
    })
    expect(chat.parseAction(`${opening}${call('door')}`).problems).toMatchObject([
      { kind: 'unclosed_thought' },
    ])
  },
)

it('marks of thoughts that are special tokens may be written by an agent', async () => {
  const special = [...added, ...['[THINK]', '[/THINK]'].map((content) => ({ content, special: true }))]
  const json = trainTokenizer(['a lamp'], { vocabularySize: 300, addedTokens: special })
  const given = Tokenizer.parse(json)
  const modelChat = { template: publishedTemplates.hermes, tokens: {}, ends: [] }
  const chat = await createChat({ chat: 'jinja', modelChat }, given)
  const text = '[THINK]a lamp?[/THINK]I look.'
  expect(chat.parseAction(given.encode(text))).toEqual({
    message: { role: 'assistant', content: text, said: 'I look.' },
    problems: [],
  })
  expect(chat.encodeAssistant({ role: 'assistant', content: text }).slice(0, -1)).toEqual(given.encode(text))
  expect(chat.encodeTurn([], [{ role: 'user', content: text }])).not.toContain(given.addedToken('[THINK]'))
})

const added = ['<|im_start|>', '<|im_end|>'].map((content) => ({ content, special: true }))
const tokenizer = Tokenizer.parse(trainTokenizer(['a lamp'], { vocabularySize: 300, addedTokens: added }))
const open = (template: string) =>
  createChat({ chat: 'jinja', modelChat: { template, tokens: {}, ends: [] } }, tokenizer)

// [RENDERING-1]
it('a template that asks for the date gets the same one on every day, and a note says so', async () => {
  const chat = await open(
    `{%- if strftime_now is defined %}{{- strftime_now("%d %B %Y") }}{%- endif %}${publishedTemplates.hermes}`,
  )
  expect(chat.renderTurn('empty', [{ role: 'user', content: 'Hi' }])).toMatch(/^01 January 2026</)
  expect(chat.notes.at(-1)).toContain('writes the date')
})

// [RENDERING-2]
it.each(['\r\n', '\r'])('a template whose lines end with %j renders as with line feeds', async (lineEnd) => {
  const messages: Message[] = [{ role: 'user', content: 'Keeps its own\r\nline ends.' }]
  for (const { modelChat, tokenizer: json } of fieldChats) {
    const given = Tokenizer.parse(json)
    const texts = [modelChat.template, modelChat.template.replaceAll('\n', lineEnd)].map(async (template) => {
      const chat = await createChat({ chat: 'jinja', modelChat: { ...modelChat, template } }, given)
      return chat.renderTurn('empty', messages, [lookTool]) + chat.renderAssistant(looks('shelf'))
    })
    const [expected, rendered] = await Promise.all(texts)
    expect(rendered).toBe(expected)
    expect(rendered).toContain('Keeps its own\r\nline ends.')
  }
})

it.each([
  ['is no template', '{% for %}', 'cannot be read'],
  ['refuses to talk', "{{ raise_exception('not today') }}", 'not today'],
  ['leaves out what was said', 'hello<|im_end|>', 'leaves out what was said'],
  ['never ends an action', '{% for m in messages %}{{ m.content }}{% endfor %}', 'no token of the tokenizer'],
])('a template that %s is refused when it is opened', async (_, template, words) => {
  await expect(open(template)).rejects.toMatchObject({
    kind: 'foreign',
    message: expect.stringContaining(words),
  })
})
