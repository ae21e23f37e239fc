/**
 * Every reader of calls beside a second one, over texts that models may write: 10,000 of each format.
 *
 * The second reader is written for these texts alone. It finds the end of a JSON value by trying every end, and knows no limits.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue, ToolCall } from '../../messages/message.ts'
import { syntaxOf } from './call-syntax.ts'

const texts = 10_000

/** A format as the second reader and the writer of texts know it. */
interface Format {
  readonly opening: string
  readonly closing: string
  readonly keys: readonly string[]
  /** A list of calls in one place, or each in a place of its own. */
  readonly write: (calls: readonly ToolCall[], style: Style) => string
}

interface Style {
  readonly blanks: string
  /** Whether the arguments come first, and whether the object says that it is a function. */
  readonly turned: boolean
  readonly typed: boolean
  readonly listed: boolean
  readonly key: number
}

function objectOf({ name, arguments: args }: ToolCall, keys: readonly string[], style: Style): string {
  const parts = [
    `"name":${style.blanks}${JSON.stringify(name)}`,
    `${JSON.stringify(keys[style.key % keys.length])}:${style.blanks}${JSON.stringify(args)}`,
  ]
  if (style.turned) parts.reverse()
  if (style.typed) parts.push('"type": "function"')
  return `{${style.blanks}${parts.join(`,${style.blanks}`)}}`
}

function written(calls: readonly ToolCall[], keys: readonly string[], style: Style): readonly string[] {
  const objects = calls.map((call) => objectOf(call, keys, style))
  return style.listed ? [`[${style.blanks}${objects.join(',')}]`] : objects
}

const formats: Readonly<Record<'hermes' | 'llama' | 'mistral' | 'mistral by name', Format>> = {
  hermes: {
    opening: '<tool_call>',
    closing: '</tool_call>',
    keys: ['arguments'],
    write: (calls, style) =>
      written(calls, ['arguments'], style)
        .map((json) => `<tool_call>${style.blanks}${json}${style.blanks}</tool_call>`)
        .join(style.blanks),
  },
  llama: {
    opening: '<|python_tag|>',
    closing: '',
    keys: ['parameters', 'arguments'],
    write: (calls, style) =>
      `${style.turned ? '<|python_tag|>' : ''}${written(calls, ['parameters', 'arguments'], style).join(`;${style.blanks}`)}`,
  },
  mistral: {
    opening: '[TOOL_CALLS]',
    closing: '',
    keys: ['arguments'],
    write: (calls, style) =>
      written(calls, ['arguments'], style)
        .map((json) => `[TOOL_CALLS]${style.blanks}${json}`)
        .join(''),
  },
  'mistral by name': {
    opening: '[TOOL_CALLS]',
    closing: '',
    keys: ['arguments'],
    write: (calls, { turned, typed }) =>
      calls
        .map(
          ({ name, arguments: args }) =>
            `[TOOL_CALLS]${name}${typed ? '[CALL_ID]abc123XYZ' : ''}${turned || typed ? '[ARGS]' : ''}${JSON.stringify(args)}`,
        )
        .join(''),
  },
}
type FormatName = keyof typeof formats
const names = Object.keys(formats) as FormatName[]
const syntaxes = {
  hermes: syntaxOf('<tool_call>'),
  llama: syntaxOf('{"name": 1}'),
  mistral: syntaxOf('[TOOL_CALLS]'),
  'mistral by name': syntaxOf('[TOOL_CALLS]'),
}

function read(name: FormatName, text: string) {
  const parsed = syntaxes[name]?.parse(text)
  if (parsed === undefined) throw new Error(`there is no ${name}`)
  const { content, tool_calls: calls = [] } = parsed.message
  return { content, calls: calls.map(plain), problems: parsed.problems.map(({ kind }) => kind) }
}

function plain({ name, arguments: args }: ToolCall): ToolCall {
  return { name, arguments: args }
}

/** Pairs that these texts have; `[THINK]` begins as a list does. */
const pairs = [
  ['<think>', '</think>'],
  ['[THINK]', '[/THINK]'],
] as const

/** The calls that the second reader finds in an action, or that it must be a problem. */
function reference(name: FormatName, text: string): readonly ToolCall[] | 'problem' {
  const { opening } = formats[name]
  let calls: readonly ToolCall[] = []
  let said = ''
  let drafted = false
  for (let at = 0; at < text.length; ) {
    const isBare = name === 'llama' && said.trim() === '' && calls.length === 0
    const isOpened = text.startsWith(opening, at)
    const pair = pairs.find((marks) => marks.some((mark) => text.startsWith(mark, at)))
    const found = isOpened || isBare ? callsAt(name, text, isOpened ? at + opening.length : at) : undefined
    if (found !== undefined) {
      calls = [...calls, ...found.calls]
      at = found.end
    } else if (isOpened) {
      return 'problem'
    } else if (pair !== undefined) {
      const [begin, end] = pair
      const closed = text.indexOf(end, at)
      if (closed === -1) return 'problem'
      if (!text.startsWith(begin, at)) {
        drafted ||= calls.length > 0
        calls = []
        said = ''
      }
      at = closed + end.length
    } else said += text.charAt(at++)
  }
  return drafted && calls.length === 0 ? 'problem' : calls
}

/** The calls behind an opening; undefined where they are not complete. */
function callsAt(
  name: FormatName,
  text: string,
  from: number,
): { readonly calls: readonly ToolCall[]; readonly end: number } | undefined {
  const { opening, closing, keys } = formats[name]
  const isMistral = name.startsWith('mistral')
  const blanksFrom = (at: number) => at + (/^[ \n\r\t]*/.exec(text.slice(at))?.[0].length ?? 0)
  const calls: ToolCall[] = []
  for (let at = blanksFrom(from); ; ) {
    const called = isMistral
      ? /^([^\s[\]{}"]+)(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?\s*(?=\{)/.exec(text.slice(at))
      : null
    const found = valueAt(text, at + (called?.[0].length ?? 0))
    const read =
      found &&
      (called ? callsIn({ name: called[1] ?? '', arguments: found.value }, keys) : callsIn(found.value, keys))
    if (read === undefined) return undefined
    calls.push(...read)
    const end = blanksFrom(found?.end ?? at)
    const isEnded = isMistral
      ? end === text.length || text.startsWith(opening, end)
      : text.startsWith(closing, end)
    if (!isEnded) return undefined
    at = name === 'llama' ? blanksFrom(end + (/[;,]/.test(text.charAt(end)) ? 1 : 0)) : end + closing.length
    if (name !== 'llama' || text.charAt(at) !== '{') return { calls, end: name === 'llama' ? end : at }
  }
}

/** The shortest JSON object or list that begins at a place. */
function valueAt(
  text: string,
  begin: number,
): { readonly value: JsonValue; readonly end: number } | undefined {
  if (!/[{[]/.test(text.charAt(begin))) return undefined
  for (let end = begin + 2; end <= text.length; end++) {
    if (!/[}\]]/.test(text.charAt(end - 1))) continue
    try {
      return { value: JSON.parse(text.slice(begin, end)) as JsonValue, end }
    } catch {
      // It ends later, or never.
    }
  }
  return undefined
}

/** The calls of a value; undefined where one of them is not a call with all its parts. */
function callsIn(value: JsonValue, keys: readonly string[]): readonly ToolCall[] | undefined {
  const items = (Array.isArray(value) ? value : [value]) as readonly JsonValue[]
  const calls = items.map((item) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return undefined
    const { name, type = 'function', id = '', ...rest } = item as Record<string, JsonValue>
    const [[key, args] = ['', null], ...others] = Object.entries(rest)
    const isCall =
      typeof name === 'string' &&
      name !== '' &&
      type === 'function' &&
      typeof id === 'string' &&
      others.length === 0
    if (!isCall || !keys.includes(key) || typeof args !== 'object' || args === null || Array.isArray(args))
      return undefined
    return { name, arguments: args as ToolCall['arguments'] }
  })
  return calls.length === 0 || calls.includes(undefined) ? undefined : (calls as ToolCall[])
}

/** The second reader's calls from behind each end of a thought. */
function afterThoughts(name: FormatName, text: string) {
  const ends = [...text.matchAll(/<\/think>|\[\/THINK\]/g)]
  return ends.map(([end], at) => reference(name, text.slice((ends[at]?.index ?? 0) + end.length)))
}

const marks = [
  ...['<tool_call>', '</tool_call>', '[TOOL_CALLS]', '[ARGS]', '[CALL_ID]', '<|python_tag|>'],
  ...pairs.flat(),
]
/** Text within JSON: marks, quotes and signs of JSON included. */
const within = fc
  .array(
    fc.constantFrom(
      ...marks,
      '"',
      '\\',
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      ';',
      '\n',
      '日本',
      'é',
      '😀',
      'a ',
      '1',
    ),
    {
      maxLength: 5,
    },
  )
  .map((parts) => parts.join(''))
/** No backslash: V8 takes an escaped key for an earlier one that ends with a backslash. */
const key = fc.constantFrom(
  'at',
  'é',
  '日本',
  '<tool_call>',
  '</think>',
  '[TOOL_CALLS]',
  '{"name"',
  '}}',
  'a\nb',
)
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  within,
  fc.integer({ min: -9, max: 9 }),
  fc.constantFrom(true, null, 0.5),
  fc.array(within, { maxLength: 2 }),
  fc.dictionary(key, within, { maxKeys: 2, noNullPrototype: true }),
)
const call: fc.Arbitrary<ToolCall> = fc.record({
  name: fc.constantFrom('look', 'über_sicht', '見る', 'a.b-c', 'подойти'),
  arguments: fc.dictionary(key, value, { maxKeys: 2, noNullPrototype: true }),
})
/** Plain text that no format takes for anything else. */
const spoken = fc.constantFrom('', 'I look.', 'あ. ', '3 > 2 ', '\n')
const thought = fc.tuple(fc.constantFrom(...pairs), fc.array(fc.oneof(call, spoken), { maxLength: 2 }))
const style: fc.Arbitrary<Style> = fc.record({
  blanks: fc.constantFrom('', ' ', '\n', '\r\n '),
  turned: fc.boolean(),
  typed: fc.boolean(),
  listed: fc.boolean(),
  key: fc.nat(1),
})

/** An action of a format: thoughts with drafts of calls, text, and calls. */
function action(name: FormatName) {
  const { write } = formats[name]
  return fc
    .tuple(fc.array(thought, { maxLength: 2 }), spoken, fc.array(call, { maxLength: 3 }), style)
    .map(([thoughts, words, calls, how]) => {
      const thinking = thoughts.map(([[opening, closing], drafts]) => {
        const inside = drafts.map((draft) =>
          // An end within a draft would end the thought.
          typeof draft === 'string' ? draft : write([draft], how).replaceAll(closing, ''),
        )
        return `${opening}${inside.join(' ')}${closing}`
      })
      const before = `${thinking.join('')}${name === 'llama' && calls.length > 0 ? '' : words}`
      const payload = calls.length === 0 ? '' : write(calls, how)
      return { text: `${before}${payload}`, calls, from: before.length }
    })
}

const seeded = { seed: 20_261_129 }

describe.each(names)('the reader of %s', (name) => {
  it('reads the calls that were written, and none from a thought', () => {
    fc.assert(
      fc.property(action(name), ({ text, calls }) => {
        expect(reference(name, text)).toEqual(calls)
        expect(read(name, text)).toMatchObject({ calls, problems: [] })
      }),
      { ...seeded, numRuns: texts * 0.4 },
    )
  })

  it('reads of an action that was cut the calls that are complete, or names a problem', () => {
    fc.assert(
      fc.property(
        action(name),
        fc.double({ min: 0, max: 1, noNaN: true }),
        ({ text, calls, from }, share) => {
          const cut = Math.floor(share * text.length)
          const { opening } = formats[name]
          const got = read(name, text.slice(0, cut))
          if (got.problems.length > 0) return
          expect(got.calls).toEqual(calls.slice(0, got.calls.length))
          // Without a problem nothing of a call is left behind but a part of its opening.
          const rest = got.content.slice(Math.min(from, got.content.length)).trim()
          expect(opening.startsWith(rest) || got.content.length <= from).toBe(true)
        },
      ),
      { ...seeded, numRuns: texts * 0.3 },
    )
  })

  it('reads an action with a changed character as the second reader does, or names a problem', () => {
    const changed = fc.tuple(
      action(name),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.constantFrom('', '', '"', '{', '}', '[', ']', ',', ':', '\\', 'x', ' ', ...marks),
      fc.nat(1),
    )
    fc.assert(
      fc.property(changed, ([{ text }, share, put, removed]) => {
        const at = Math.floor(share * text.length)
        const other = text.slice(0, at) + put + text.slice(at + removed)
        const got = read(name, other)
        const expected = reference(name, other)
        if (got.problems.length > 0) return
        // All before the end of a thought may be taken for thought, even where it could not be read.
        if (expected === 'problem') expect(afterThoughts(name, other)).toContainEqual(got.calls)
        else expect(got.calls).toEqual(expected)
      }),
      { ...seeded, numRuns: texts * 0.3 },
    )
  })
})
