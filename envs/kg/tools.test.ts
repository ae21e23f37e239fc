import { expect, test } from 'vitest'
import { type KgCall, kgTools } from './tools.ts'

const tools = kgTools<KgCall[]>((call, made) => {
  made.push(call)
  return { reply: 'Made.' }
})

test('the tools are AgentBench’s seven, all of their arguments required texts', () => {
  expect(tools.map(({ spec }) => [spec.function.name, spec.function.parameters.required])).toEqual([
    ['get_relations', ['variable']],
    ['get_neighbors', ['variable', 'relation']],
    ['intersection', ['variable1', 'variable2']],
    ['get_attributes', ['variable']],
    ['argmax', ['variable', 'attribute']],
    ['argmin', ['variable', 'attribute']],
    ['count', ['variable']],
  ])
})

test('arguments are passed by name, and a call without one is answered with the signature', async () => {
  const argmax = tools.find(({ spec }) => spec.function.name === 'argmax')
  const made: KgCall[] = []
  await argmax?.call({ attribute: 'a', variable: 'v', more: 1 }, made)
  expect(made).toEqual([{ tool: 'argmax', first: 'v', second: 'a' }])
  expect(await argmax?.call({ attribute: 'a' }, made)).toMatchObject({
    reply:
      'Arguments do not match the function signature. argmax needs "variable" and "attribute", each a string.',
    usable: false,
  })
})
