import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ActionProblemKind, actionProblem, parseActionText } from './action-parsing.ts'

const go = '<tool_call>{"name": "go", "arguments": {"to": "bed 1"}}</tool_call>'
const goCall = { name: 'go', arguments: { to: 'bed 1' } }

function kindsOf(text: string): ActionProblemKind[] {
  return parseActionText(text, '\n').problems.map(({ kind }) => kind)
}

describe('parseActionText', () => {
  test('takes content and calls apart', () => {
    const second = '<tool_call>\n{"name":"look"}\n</tool_call>'
    expect(parseActionText(`I go.\n${go}\n${second}`, '\n')).toEqual({
      message: {
        role: 'assistant',
        content: 'I go.',
        tool_calls: [goCall, { name: 'look', arguments: {} }],
      },
      problems: [],
    })
  })

  test('text without a call is content, and no problem', () => {
    expect(parseActionText('Done.', '\n')).toEqual({
      message: { role: 'assistant', content: 'Done.' },
      problems: [],
    })
  })

  test('tags within the arguments are text', () => {
    const text = '<tool_call>{"name":"go","arguments":{"to":"</tool_call> \\" <tool_call>{"}}</tool_call>'
    expect(parseActionText(text, '').message.tool_calls).toEqual([
      { name: 'go', arguments: { to: '</tool_call> " <tool_call>{' } },
    ])
  })

  test.each<[string, string, ActionProblemKind[]]>([
    ['no JSON', '<tool_call>go to bed</tool_call>', ['not_json']],
    ['an array', '<tool_call>[{"name":"go"}]</tool_call>', ['not_json']],
    ['a missing brace', '<tool_call>{"name":"go","arguments":{}</tool_call>', ['not_json']],
    ['brackets that do not match', '<tool_call>{"name":"go"]</tool_call>', ['not_json']],
    ['single quotes', "<tool_call>{'name':'go'}</tool_call>", ['not_json']],
    ['more than one object', '<tool_call>{"name":"a"}{"name":"b"}</tool_call>', ['not_json']],
    [
      'a number beyond all numbers',
      '<tool_call>{"name":"a","arguments":{"n":1e999}}</tool_call>',
      ['not_json'],
    ],
    ['an unescaped line feed', '<tool_call>{"name":"a\n"}</tool_call>', ['not_json']],
    ['no name', '<tool_call>{"arguments":{}}</tool_call>', ['no_name']],
    ['an empty name', '<tool_call>{"name":""}</tool_call>', ['no_name']],
    ['an inherited name', '<tool_call>{"constructor":1}</tool_call>', ['no_name']],
    ['arguments as text', '<tool_call>{"name":"a","arguments":"{}"}</tool_call>', ['arguments_not_object']],
    ['arguments as list', '<tool_call>{"name":"a","arguments":[]}</tool_call>', ['arguments_not_object']],
    [
      'no arguments but null',
      '<tool_call>{"name":"a","arguments":null}</tool_call>',
      ['arguments_not_object'],
    ],
    [
      'a key that reaches prototypes',
      '<tool_call>{"name":"a","arguments":{"x":[{"__proto__":{"y":1}}]}}</tool_call>',
      ['forbidden_key'],
    ],
    ['half a call', '<tool_call>{"name": "go", "argu', ['unclosed_call']],
    ['a call without its closing tag', '<tool_call>{"name": "go"}', ['unclosed_call']],
    ['only the opening tag', '<tool_call>', ['unclosed_call']],
    ['10,000 open brackets', `<tool_call>${'{"a":['.repeat(5000)}`, ['too_deep']],
    ['nested tags', `<tool_call>${go}</tool_call>`, ['not_json']],
    ['too many calls', '<tool_call>'.repeat(3) + go.repeat(20), ['not_json', 'too_many_calls']],
    ['a megabyte', 'a'.repeat(1_000_000), ['too_long']],
  ])('%s is a problem by its name', (_, text, kinds) => {
    expect(kindsOf(text)).toEqual(kinds)
  })

  test('a call after a broken one is still taken', () => {
    const { message, problems } = parseActionText(`<tool_call>{"name": "go</tool_call>\n${go}`, '\n')
    expect(message.tool_calls).toEqual([goCall])
    expect(problems.map(({ kind }) => kind)).toEqual(['not_json'])
  })

  test('of a key given twice the last counts, as JSON has it', () => {
    const text = '<tool_call>{"name":"a","name":"b","arguments":{}}</tool_call>'
    expect(parseActionText(text, '').message.tool_calls).toEqual([{ name: 'b', arguments: {} }])
  })

  test('never throws, whatever the text', () => {
    const shards = fc.constantFrom(
      '<tool_call>',
      '</tool_call>',
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      ':',
      ',',
      '"name"',
      '"arguments"',
      '"__proto__"',
      'null',
      '1e999',
      '\0',
      '\ud800',
      '\n',
      'x',
    )
    const text = fc.oneof(
      fc.string({ unit: shards, maxLength: 60 }),
      fc.string({ unit: 'binary' }),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    )
    fc.assert(
      fc.property(text, (text) => {
        const { message, problems } = parseActionText(text, '\n')
        expect(message.role).toBe('assistant')
        for (const call of message.tool_calls ?? []) expect(JSON.parse(JSON.stringify(call))).toEqual(call)
        for (const { kind, sentence } of problems) expect(actionProblem(kind).sentence).toBe(sentence)
      }),
      { numRuns: 800 },
    )
  })

  test.each([
    ['opening tags', '<tool_call>'],
    ['calls that begin', '<tool_call>{"'],
    ['empty calls', '<tool_call></tool_call>'],
    ['calls that nest', '<tool_call>{"a":'],
    ['blanks after a tag', '<tool_call>          '],
    ['backslashes', '<tool_call>{"\\\\'],
  ])('time grows with length at most: %s', (_, unit) => {
    const time = (length: number) => {
      const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
      const rounds = Array.from({ length: 5 }, () => {
        const since = performance.now()
        parseActionText(text, '\n')
        return performance.now() - since
      })
      return Math.min(...rounds)
    }
    // Sixteen times the text; a quadratic parser would need 256 times as long. 5 ms absorb the clock's noise.
    expect(time(128_000)).toBeLessThan(64 * time(8_000) + 5)
  })
})

test('each problem says what to send', () => {
  for (const kind of ['not_json', 'no_name', 'arguments_not_object', 'unclosed_call', 'too_deep'] as const)
    expect(actionProblem(kind).sentence).toContain(
      'Send <tool_call>{"name": "TOOL", "arguments": {"KEY": "VALUE"}}</tool_call>.',
    )
})
