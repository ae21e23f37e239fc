import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { sharedData } from '../test/support/shared-data.ts'
import { alfworld } from './alfworld/definition.ts'
import type { EnvironmentDefinition, TaskOptions } from './contract/environment.ts'
import { db } from './db/definition.ts'
import { kg } from './kg/definition.ts'
import { containerAssignment } from './os/containers/machine.ts'
import { os } from './os/definition.ts'
import { readItem } from './os/item.ts'
import { webshop } from './webshop/definition.ts'

/** The kinds that the first resets of a split name. */
async function kindsOf(
  { open }: EnvironmentDefinition,
  options: TaskOptions,
  { split, problems }: { readonly split: string; readonly problems: number },
): Promise<readonly unknown[]> {
  const task = await open(options)
  const environment = await task.create()
  try {
    const found: unknown[] = []
    for (let index = 0; index < problems; index++)
      found.push((await environment.reset(task.instanceAt(split, index))).info.kind)
    return found
  } finally {
    await environment.close()
    await task.close()
  }
}

test.each([
  [alfworld, ['clean', 'cool', 'heat', 'light', 'place']],
  [db, ['change', 'enter', 'find', 'strike']],
  [kg, ['one_hop', 'two_hop']],
  [os, []],
  [webshop, []],
] as const)('each built-in problem names its kind: $name', async (definition, some) => {
  const settings = definition === kg || definition === os ? {} : { difficulty: 'easy' }
  const kinds = await kindsOf(definition, { settings }, { split: 'test', problems: 24 })
  expect(kinds.every((kind) => typeof kind === 'string')).toBe(true)
  expect(new Set(kinds).size).toBeGreaterThan(1)
  expect(kinds).toEqual(expect.arrayContaining([...some]))
})

test('official problems name the kind that their data has', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'perdure-kinds-'))
  const table = { table_name: 'T', table_info: { columns: [{ name: 'a' }], rows: [['1']] } }
  const asked = { description: 'How many?', type: ['counting'], label: ['1'], table }
  const done = { description: 'Add 2.', type: ['INSERT'], label: ["INSERT INTO T VALUES ('2')"], table }
  try {
    await writeFile(path.join(folder, 'dev.jsonl'), `${JSON.stringify(asked)}\n${JSON.stringify(done)}\n`)
    const kinds = await kindsOf(db, { dataDir: folder }, { split: 'dev', problems: 2 })
    expect(kinds).toEqual(['counting', 'INSERT'])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('an item of os asks a question where an answer is compared, and is work where a check sees what was done', () => {
  const kindOf = (evaluation: Parameters<typeof readItem>[1]['evaluation']) => {
    const item = readItem('x', { description: 'Do it.', evaluation }, () => undefined)
    if ('problem' in item) throw new RangeError(item.problem)
    return containerAssignment(item, () => Promise.reject(new Error('no room'))).kind
  }
  expect(kindOf({ match: '7' })).toBe('question')
  expect(kindOf({ check: [null, 'test "$1" = "$2"'], example: 'echo 7' })).toBe('question')
  expect(kindOf({ check: 'test -e /tmp/done' })).toBe('work')
})

const missing = [webshop, alfworld].filter(({ name }) => !existsSync(sharedData(name)))
test.skipIf(missing.length > 0)(
  'published data names the kinds of goals and games',
  async () => {
    const of = (definition: EnvironmentDefinition, split: string) =>
      kindsOf(definition, { dataDir: sharedData(definition.name) }, { split, problems: 20 })
    const departments = ['beauty', 'electronics', 'fashion', 'garden', 'grocery']
    expect(departments).toEqual(expect.arrayContaining([...(await of(webshop, 'synthetic'))]))
    const games = await of(alfworld, 'valid_seen')
    expect(games[0]).toBe('look_at_obj_in_light')
  },
  60_000,
)
