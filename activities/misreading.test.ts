import fc from 'fast-check'
import { expect, test } from 'vitest'
import { calling } from '../envs/agent-tool.ts'
import { uniforms } from '../identity/identity.ts'
import { misread, wordsOf } from './misreading.ts'

const query = calling('execute_sql', { query: "SELECT pay FROM bamboo WHERE name = 'sven'" })

/** Draws that come in this order. */
function inOrder(...draws: readonly number[]): () => number {
  let at = 0
  return () => draws[at++] ?? 0
}

test('a word is read as another one that was seen, or as one that begins as it does', () => {
  // The fourth of seven words, the second of the others that were seen.
  const draws = [3.5 / 7, 0.5] as const
  const read = (kind: number) =>
    misread(query, ['bamboo', 'stock', 'copper'], inOrder(...draws, kind))?.tool_calls?.[0]?.arguments
  expect(read(0)).toEqual({ query: "SELECT pay FROM copper WHERE name = 'sven'" })
  expect(read(0.9)).toEqual({ query: "SELECT pay FROM bamper WHERE name = 'sven'" })
})

test('[MISREADING-1] one word of one argument differs, whatever is drawn', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0 }), (seed) => {
      const wrong = misread(query, ['stock', 'copper', 'sven'], uniforms(seed))
      const [before, after] = [query, wrong ?? query].map(({ tool_calls: calls = [] }) =>
        wordsOf(JSON.stringify(calls)),
      )
      expect(after).toHaveLength(before?.length ?? 0)
      expect(after?.filter((word, at) => word !== before?.[at])).toHaveLength(1)
    }),
  )
})

test('an action without words, and one beside which nothing else was seen, is not misread', () => {
  expect(misread({ role: 'assistant', content: 'yes' }, ['stock'], uniforms(1))).toBeUndefined()
  expect(misread(calling('count', { of: 7, where: '#0' }), ['stock'], uniforms(1))).toBeUndefined()
  expect(misread(calling('look', { at: 'stock' }), ['stock'], uniforms(1))).toBeUndefined()
})
