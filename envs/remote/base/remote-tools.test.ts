import { expect, it } from 'vitest'
import { checkedTools } from './remote-tools.ts'

const parameters = { type: 'object', properties: { a: { type: ['string', 'null'] } }, required: ['a'] }
const tool = { name: 'say', description: 'Says.', parameters }

it('a tool is what the server describes', () => {
  expect(checkedTools('it', [tool])).toEqual([{ type: 'function', function: tool }])
})

// [REMOTE-TOOLS-1]
it.each([
  ['two of one name', [tool, tool], /two tools "say"/],
  ['no name', [{ ...tool, name: '' }], /the tool ""/],
  ['a schema of a text', [{ ...tool, parameters: { type: 'string' } }], /parameters of the tool "say"/],
  ['no schema', [{ ...tool, parameters: 'none' }], /parameters of the tool "say"/],
  [
    'a type that is none',
    [{ ...tool, parameters: { type: 'object', properties: { a: { type: 'text' } } } }],
    /"say"/,
  ],
  [
    '10,000 tools',
    Array.from({ length: 10_000 }, (_, at) => ({ ...tool, name: `t${at}` })),
    /10000 tools.*128 at most/,
  ],
  ['a book', [{ ...tool, description: 'x'.repeat(1_000_001) }], /1000000 at most/],
])('%s is refused', (_, described, words) => {
  expect(() => checkedTools('it', described)).toThrow(words)
})
