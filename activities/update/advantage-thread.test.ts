import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { advantagesBy } from './advantage-thread.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-advantages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const group = { task: 'maze', rewards: [0, 1], actionTokens: [3, 3] }
const rules = { stepGroups: { weight: 0, discount: 1 } }

/** A module whose algorithm has advantages of that body, after the given lines. */
function module(name: string, body: string, before = ''): string {
  const file = join(folder, `${name}.ts`)
  writeFileSync(
    file,
    `${before}\nexport const own = { name: '${name}', loss: { lossesOf() {} }, advantagesOf(groups: any) { ${body} } }\n`,
  )
  return file
}

const centred = 'return groups.map(({ episodes }: any) => episodes.map(({ reward }: any) => reward - 0.5))'
const answers = async (file: string, limitMs?: number) =>
  (await advantagesBy(file, [group, group], rules, limitMs)).groups.map(({ advantages }) => advantages)
const expected = [
  [-0.5, 0.5],
  [-0.5, 0.5],
]

test('a module says the advantages of a batch, and of none whether it can be used', async () => {
  const file = module('centred', centred)
  expect(await answers(file)).toEqual(expected)
  expect((await advantagesBy(file, [], rules)).groups).toEqual([])
})

// [ADVANTAGE-THREAD-1]
test.each([
  ['ends the process', 'process.exit(0)', '', /"ends the process" of .* called process\.exit\(0\)/],
  ['aborts', 'process.abort()', '', /"aborts" of .* called process\.abort\(\)/],
  ['ends it when it is loaded', centred, 'process.exit(0)', /does not load: .* called process\.exit\(0\)/],
  ['throws', 'throw new Error("boom")', '', /"throws" of .* fails: boom/],
])('a module that %s is refused by name, and the process goes on', async (name, body, before, words) => {
  await expect(answers(module(name, body, before))).rejects.toThrow(words)
  expect(await answers(module('next', centred))).toEqual(expected)
})

// [ADVANTAGE-THREAD-1]
test('a module that never answers is ended, and blocks nothing meanwhile', async () => {
  const file = module('endless', 'for (;;);')
  await expect(answers(file, 300)).rejects.toThrow(
    /the algorithm of .*endless\.ts did not answer within 0\.3 s/,
  )
  expect(await answers(module('after', centred))).toEqual(expected)
})
