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
  it.each([
    ['llama', '{"name": "look", "parameters": {"at": "lamp"}}'],
    ['llama', '<|python_tag|>{"name": "look", "arguments": {"at": "lamp"}}\n'],
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
      mistral: `[TOOL_CALLS][${json}, {"name": "go"}]`,
      hermes: `<tool_call>[${json}, {"name": "go"}]</tool_call>`,
    }
    for (const name of ['llama', 'mistral', 'hermes'] as const)
      expect(read(name, text[name])).toEqual({ content: '', calls: [look, go], problems: [] })
    expect(read('mistral', '[TOOL_CALLS]look{"at": "lamp"}[TOOL_CALLS]go[ARGS]{}').calls).toEqual([look, go])
  })

  it('keep the text around them, and text without a call is text', () => {
    expect(read('mistral', 'I look. [TOOL_CALLS][{"name": "go"}]')).toEqual({
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

  it('keep their numbers as they were written', () => {
    const { message } = syntaxes.llama?.parse('{"name": "pay", "parameters": {"sum": 86.0}}') ?? {}
    expect(message?.tool_calls).toEqual([
      { name: 'pay', arguments: { sum: 86 }, exactArguments: '{"sum":86.0}' },
    ])
  })

  it.each([
    ['llama', '{"name": "look", "parameters": {"at"', 'unclosed_call'],
    ['llama', '<|python_tag|>print(1)', 'not_json'],
    ['llama', '{"name": "look", "parameters": [1]}', 'arguments_not_object'],
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
