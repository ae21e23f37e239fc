import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { moduleAdvantages } from './advantage-thread.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-advantages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const group = {
  task: 'maze',
  episodes: [0, 1].map((reward) => ({
    reward,
    completed: true,
    actionTokens: 3,
    turns: [{ reward, actionTokens: 3 }],
  })),
}

/** A module whose advantage has that body, after the given lines. */
function module(name: string, body: string, before = ''): string {
  const file = join(folder, `${name}.ts`)
  writeFileSync(
    file,
    `${before}\nexport const advantage = { name: '${name}', advantagesOf(group: any) { ${body} } }\n`,
  )
  return file
}

const centred = 'return group.episodes.map(({ reward }: any) => reward - 0.5)'

test('a module says the advantages of groups, and of none whether it can be used', async () => {
  const file = module('centred', centred)
  expect(await moduleAdvantages(file, [group, group])).toEqual([
    [[-0.5], [0.5]],
    [[-0.5], [0.5]],
  ])
  expect(await moduleAdvantages(file, [])).toEqual([])
})

// [ADVANTAGE-THREAD-1]
test.each([
  ['ends the process', 'process.exit(0)', '', /"ends the process" of .* called process\.exit\(0\)/],
  ['aborts', 'process.abort()', '', /"aborts" of .* called process\.abort\(\)/],
  ['ends it when it is loaded', centred, 'process.exit(0)', /does not load: .* called process\.exit\(0\)/],
  ['throws', 'throw new Error("boom")', '', /"throws" of .* fails for a group of maze: boom/],
])('a module that %s is refused by name, and the process goes on', async (name, body, before, words) => {
  await expect(moduleAdvantages(module(name, body, before), [group])).rejects.toThrow(words)
  expect(await moduleAdvantages(module('next', centred), [group])).toEqual([[[-0.5], [0.5]]])
})

// [ADVANTAGE-THREAD-1]
test('a module that never answers is ended, and blocks nothing meanwhile', async () => {
  const file = module('endless', 'for (;;);')
  const answer = moduleAdvantages(file, [group], 300)
  await expect(answer).rejects.toThrow(/the advantage of .*endless\.ts did not answer within 0\.3 s/)
  expect(await moduleAdvantages(module('after', centred), [group])).toEqual([[[-0.5], [0.5]]])
})
