import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseActionText } from './action-parsing.ts'
import { type ActionProblemKind, actionProblem } from './action-problem.ts'
import { syntaxOf } from './call-syntax.ts'

const go = '<tool_call>{"name": "go", "arguments": {"to": "bed 1"}}</tool_call>'
const goCall = { name: 'go', arguments: { to: 'bed 1' } }

function kindsOf(text: string): ActionProblemKind[] {
  return parseActionText(text, '\n').problems.map(({ kind }) => kind)
}

describe('parseActionText', () => {
  test('takes content and calls apart', () => {
    const second = '<tool_call>\n{"name":"look","arguments":{}}\n</tool_call>'
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
    ['an empty list', '<tool_call>[]</tool_call>', ['not_json']],
    ['a list of no objects', '<tool_call>[1, "go"]</tool_call>', ['not_json', 'not_json']],
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
    ['no arguments', '<tool_call>{"name":"a"}</tool_call>', ['no_arguments']],
    [
      'arguments as Llama names them',
      '<tool_call>{"name":"a","parameters":{}}</tool_call>',
      ['misnamed_arguments'],
    ],
    ['arguments under a short name', '<tool_call>{"name":"a","args":{}}</tool_call>', ['misnamed_arguments']],
    ['one key more', '<tool_call>{"name":"a","arguments":{},"why":"x"}</tool_call>', ['unknown_key']],
    ['an unknown type', '<tool_call>{"type":"tool","name":"a","arguments":{}}</tool_call>', ['unknown_key']],
    ['a key twice', '<tool_call>{"name":"a","name":"b","arguments":{}}</tool_call>', ['repeated_key']],
    [
      'an argument twice',
      '<tool_call>{"name":"a","arguments":{"x":[{"y":1,"\\u0079":2}]}}</tool_call>',
      ['repeated_key'],
    ],
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

  // [READING-1]
  test('text outside of calls stays in the content, and calls beside it are taken or reported', () => {
    const text = `I go.\n<tool_call>{"name": "go", "to": 1}</tool_call>\n${go}`
    expect(parseActionText(text, '\n')).toEqual({
      message: {
        role: 'assistant',
        content: 'I go.\n<tool_call>{"name": "go", "to": 1}</tool_call>',
        tool_calls: [goCall],
      },
      problems: [actionProblem('unknown_key')],
    })
    const list = `<tool_call>[{"name":"go","arguments":{}},{"name":"go"}]</tool_call>`
    expect(parseActionText(list, '')).toEqual({
      message: { role: 'assistant', content: list },
      problems: [actionProblem('no_arguments')],
    })
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
    ['thoughts that begin', '<think>'],
    ['thoughts that end', '</think>'],
    ['thoughts within broken calls', '<tool_call><think></think></think>'],
    ['bare calls that become thoughts', '{"name</think>'],
  ])('time grows with length at most: %s', (_, unit) => {
    // The thread's own time: other work on the machine does not count.
    const computed = () => {
      const { user, system } = process.threadCpuUsage()
      return (user + system) / 1000
    }
    const time = (length: number) => {
      const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
      const rounds = Array.from({ length: 5 }, () => {
        const since = computed()
        parseActionText(text, '\n')
        syntaxOf('"name":')?.parse(text)
        return computed() - since
      })
      return Math.min(...rounds)
    }
    // Sixteen times the text; a quadratic parser would need 256 times as long, and seconds. 50 ms are for the collection of garbage.
    expect(time(128_000)).toBeLessThan(64 * time(8_000) + 50)
  })
})

describe('a thought', () => {
  const draft = '<tool_call>{"name": "buy", "arguments": {"n": 9}}</tool_call>'

  // [READING-2] [READING-3]
  test.each([
    ['before the action', `<think>${draft} or not</think>\n${go}`, `<think>${draft} or not</think>`, ''],
    [
      'with tags of its own',
      `<think>a <think> b ${draft}</think>\n${go}`,
      `<think>a <think> b ${draft}</think>`,
      '',
    ],
    ['beside words', `<think>${draft}</think>\nI go.\n${go}`, `<think>${draft}</think>\nI go.`, 'I go.'],
    [
      'of several',
      `<think>a</think>${go}<thinking>${draft}</thinking>`,
      `<think>a</think><thinking>${draft}</thinking>`,
      '',
    ],
    ['without a beginning', `I could ${draft}</think>\n${go}`, `I could ${draft}</think>`, ''],
    [
      'with a call that has no end',
      `<think><tool_call>{"name": </think>\n${go}`,
      '<think><tool_call>{"name": </think>',
      '',
    ],
  ])('%s calls nothing, and stays in the content', (_, text, content, said) => {
    expect(parseActionText(text, '\n')).toEqual({
      message: { role: 'assistant', content, said, tool_calls: [goCall] },
      problems: [],
    })
  })

  // [READING-2]
  test.each([
    ['that does not end', `<think>maybe ${draft} or`, ['unclosed_thought']],
    [
      'that begins within a call that is wrong',
      `<tool_call>{go <think></tool_call>${draft}`,
      ['not_json', 'unclosed_thought'],
    ],
    ['that ends behind the only call', `I could ${draft}</think> or not`, ['unopened_thought']],
    ['that a second one does not close', `<think>a</think><reasoning>${draft}</think>`, ['unclosed_thought']],
  ])('%s is a problem, and calls nothing', (_, text, kinds) => {
    const { message, problems } = parseActionText(text, '\n')
    expect(problems.map(({ kind }) => kind)).toEqual(kinds)
    expect(message).toEqual({ role: 'assistant', content: text, said: expect.any(String) })
  })

  // [READING-2]
  test.each([
    ['<|inner_prefix|>', '<|inner_suffix|>'],
    ['◁think▷', '◁/think▷'],
    ['<scratch_pad>', '</scratch_pad>'],
  ])('of another family of models calls nothing: %s', (opening, closing) => {
    expect(parseActionText(`${opening}${draft}${closing}${go}`, '').message.tool_calls).toEqual([goCall])
    expect(kindsOf(`${opening}${draft}`)).toEqual(['unclosed_thought'])
  })

  test('is none within the arguments of a call', () => {
    const call = { name: 'say', arguments: { text: '<think> </think> [THINK]' } }
    const text = `<tool_call>${JSON.stringify(call)}</tool_call>`
    expect(parseActionText(text, '').message).toEqual({ role: 'assistant', content: '', tool_calls: [call] })
  })
})

test('each problem says what to send', () => {
  for (const kind of ['not_json', 'no_name', 'arguments_not_object', 'unclosed_call', 'too_deep'] as const)
    expect(actionProblem(kind).sentence).toContain(
      'Send <tool_call>{"name": "TOOL", "arguments": {"KEY": "VALUE"}}</tool_call>.',
    )
})
