import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { syntaxOf } from './call-syntax.ts'

const syntaxes = {
  hermes: syntaxOf('<tool_call>'),
  llama: syntaxOf('{"name": "a"}'),
  mistral: syntaxOf('[TOOL_CALLS]'),
}
const read = (name: keyof typeof syntaxes, text: string) => {
  const { message, problems } = syntaxes[name]?.parse(text) ?? { message: undefined, problems: [] }
  return { content: message?.content, calls: message?.tool_calls, problems: problems.map(({ kind }) => kind) }
}
const look = { name: 'look', arguments: { at: 'lamp' } }
const go = { name: 'go', arguments: {} }

describe('calls of models of the field', () => {
  // [CALL-JSON-1]
  it.each([
    ['llama', '{"name": "look", "parameters": {"at": "lamp"}}'],
    ['llama', '<|python_tag|>{"name": "look", "arguments": {"at": "lamp"}}\n'],
    ['llama', '{"type": "function", "name": "look", "parameters": {"at": "lamp"}}'],
    ['llama', '\n{"parameters": {"at": "lamp"}, "type": "function", "name": "look"}'],
    ['llama', '[{"name": "look", "parameters": {"at": "lamp"}}]'],
    ['hermes', '<tool_call>{"arguments": {"at": "lamp"}, "name": "look"}</tool_call>'],
    ['mistral', '[TOOL_CALLS][{"arguments": {"at": "lamp"}, "id": "x", "name": "look"}]'],
    ['mistral', '[TOOL_CALLS]look[ARGS] {"at": "lamp"}'],
    ['mistral', '[TOOL_CALLS][{"name": "look", "arguments": {"at": "lamp"}, "id": "call00000"}]'],
    ['mistral', '[TOOL_CALLS] {"name": "look", "arguments": {"at": "lamp"}}'],
    ['mistral', '[TOOL_CALLS]look[ARGS]{"at": "lamp"}'],
    ['mistral', '[TOOL_CALLS]look[CALL_ID]abc123XYZ[ARGS]{"at": "lamp"}'],
    ['hermes', '<tool_call>\n{"name": "look", "arguments": {"at": "lamp"}}\n</tool_call>'],
    ['hermes', '<tool_call>[{"name": "look", "arguments": {"at": "lamp"}}]</tool_call>'],
  ] as const)('are read as %s writes them: %s', (name, text) => {
    expect(read(name, text)).toEqual({ content: '', calls: [look], problems: [] })
  })

  it('are several in one action', () => {
    const json = '{"name": "look", "arguments": {"at": "lamp"}}'
    const text = {
      llama: `${json}; {"name": "go", "parameters": {}}`,
      mistral: `[TOOL_CALLS][${json}, {"name": "go", "arguments": {}}]`,
      hermes: `<tool_call>[${json}, {"name": "go", "arguments": {}}]</tool_call>`,
    }
    for (const name of ['llama', 'mistral', 'hermes'] as const)
      expect(read(name, text[name])).toEqual({ content: '', calls: [look, go], problems: [] })
    expect(read('mistral', '[TOOL_CALLS]look{"at": "lamp"}[TOOL_CALLS]go[ARGS]{}').calls).toEqual([look, go])
  })

  it('keep the text around them, and text without a call is text', () => {
    expect(read('mistral', 'I look. [TOOL_CALLS][{"name": "go", "arguments": {}}]')).toEqual({
      content: 'I look.',
      calls: [go],
      problems: [],
    })
    for (const name of ['llama', 'mistral', 'hermes'] as const)
      expect(read(name, '{"answer": 3}')).toEqual({
        content: '{"answer": 3}',
        calls: undefined,
        problems: [],
      })
  })

  it.each([
    ['llama', '{"name": "say", "parameters": {"text": "{\\"name\\": 1} <|python_tag|> <think>"}}'],
    ['mistral', '[TOOL_CALLS][{"name": "say", "arguments": {"text": "[TOOL_CALLS]go[ARGS]{} [THINK]"}}]'],
    [
      'hermes',
      '<tool_call>{"name": "say", "arguments": {"text": "</tool_call> <tool_call> </think>"}}</tool_call>',
    ],
  ] as const)('may hold every mark within a text: %s %s', (name, text) => {
    const { calls, problems } = read(name, text)
    expect([calls?.map((call) => call.name), problems]).toEqual([['say'], []])
  })

  it.each([
    ['llama', '<think>{"name": "buy", "parameters": {}}</think>\n{"name": "go", "parameters": {}}'],
    ['mistral', '[THINK]so [TOOL_CALLS]buy[ARGS]{}[/THINK][TOOL_CALLS]go[ARGS]{}'],
    [
      'hermes',
      '[THINK]<tool_call>{"name": "buy", "arguments": {}}</tool_call>[/THINK]<tool_call>{"name": "go", "arguments": {}}</tool_call>',
    ],
  ] as const)('are none in a thought: %s %s', (name, text) => {
    expect(read(name, text)).toMatchObject({ calls: [go], problems: [] })
    const [cut = ''] = text.split(/<\/think>|\[\/THINK\]/)
    expect(read(name, cut)).toMatchObject({ calls: undefined, problems: ['unclosed_thought'] })
  })

  it('of Llama are known by their value, and JSON that is no call is text', () => {
    for (const text of ['{"answer": 3}', '[1, 2]', '{x | x > 1}', '{"type": "tool"}', '[]'])
      expect(read('llama', text)).toEqual({ content: text, calls: undefined, problems: [] })
  })

  it('keep their numbers as they were written', () => {
    const { message } = syntaxes.llama?.parse('{"name": "pay", "parameters": {"sum": 86.0}}') ?? {}
    expect(message?.tool_calls).toEqual([
      { name: 'pay', arguments: { sum: 86 }, exactArguments: '{"sum":86.0}' },
    ])
  })

  // [CALL-JSON-2]
  it.each([
    ['llama', '{"name": "look", "parameters": {"at"', 'unclosed_call'],
    ['llama', '<|python_tag|>print(1)', 'not_json'],
    ['llama', '{"name": "look", "parameters": [1]}', 'arguments_not_object'],
    ['llama', '{"name": "look"}', 'no_arguments'],
    ['llama', '{"name": "look", "args": {}}', 'misnamed_arguments'],
    ['llama', '{"name": "look", "parameters": {}, "arguments": {}}', 'unknown_key'],
    ['llama', "{'name': 'look', 'parameters': {}}", 'not_json'],
    ['llama', '{"type": "function", "function": {"name": "look", "arguments": {}}}', 'no_name'],
    ['llama', '[{"name": "look", "parameters": {"at": 1}', 'unclosed_call'],
    ['llama', 'I look. {"name": "look", "parameters": {}}', 'call_within_text'],
    ['mistral', '[TOOL_CALLS]look[ARGS]{"at": 1, "at": 2}', 'repeated_key'],
    ['mistral', '[TOOL_CALLS][{"name": "look", "parameters": {}}]', 'misnamed_arguments'],
    ['hermes', '<tool_call>{"name": "look", "arguments": {}, "id": "x"}</tool_call>', 'unknown_key'],
    ['mistral', '[TOOL_CALLS]', 'not_json'],
    ['mistral', '[TOOL_CALLS][{"name": "look"', 'unclosed_call'],
    ['mistral', '[TOOL_CALLS][{"arguments": {}}]', 'no_name'],
    ['mistral', '[TOOL_CALLS][{"name": "look"}] and more', 'not_json'],
    ['mistral', `[TOOL_CALLS][${'{"name": "go"},'.repeat(20)}{"name": "go"}]`, 'too_many_calls'],
    ['hermes', `<tool_call>[${'{"name": "go"},'.repeat(20)}{"name": "go"}]</tool_call>`, 'too_many_calls'],
    ['llama', `{"name": "a", "parameters": ${'['.repeat(40)}`, 'too_deep'],
    ['llama', `{"name": "${'a'.repeat(200_000)}"}`, 'too_long'],
  ] as const)('that are wrong come back as a problem: %s %s', (name, text, kind) => {
    expect(read(name, text).problems).toEqual([kind])
  })

  it('that are wrong are answered in the form of the model', () => {
    const sentence = (name: keyof typeof syntaxes, text: string) =>
      syntaxes[name]?.parse(text).problems[0]?.sentence
    expect(sentence('llama', '{"name": 1}')).toContain(
      'Send {"name": "TOOL", "parameters": {"KEY": "VALUE"}}',
    )
    expect(sentence('mistral', '[TOOL_CALLS]x')).toContain('Send [TOOL_CALLS][{"name": "TOOL"')
  })

  // [CALL-SYNTAX-1]
  it('never make a reader throw', () => {
    const shards = [
      '[TOOL_CALLS]',
      '[ARGS]',
      '<|python_tag|>',
      '<tool_call>',
      '</tool_call>',
      '{"name":',
      '"a"',
      '{',
      '}',
      '[',
      ']',
      ';',
      ',',
      ':',
    ]
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...shards), fc.string()), { maxLength: 20 }), (parts) => {
        for (const name of ['llama', 'mistral', 'hermes'] as const)
          expect(syntaxes[name]?.parse(parts.join('')).message.role).toBe('assistant')
      }),
      { numRuns: 300 },
    )
  })
})
