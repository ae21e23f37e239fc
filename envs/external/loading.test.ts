/** Environments that live outside of Perdure: found, shared with, and named when they cannot be used. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { environments } from '../registry.ts'
import { loadEnvironment, loadEnvironments } from './loading.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-external-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const taken = environments[0]?.name ?? ''

/** Writes files and gives the path of the first. */
function written(...files: readonly (readonly [string, string])[]): string {
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return join(folder, files[0]?.[0] ?? '')
}

const environment = (name: string) =>
  `{ name: '${name}', summary: 's', source: 's', licence: 'l', reward: 'r', replayable: true,
     replayableBecause: 'because', turnLimit: 3, open: async () => { throw new Error('not opened') } }`

const namesIn = async (path: string) => (await loadEnvironments(path)).map(({ name }) => name)

describe('a module', () => {
  test('has those of its exports that are environments, each once', async () => {
    const path = written([
      'several.mjs',
      `export const one = ${environment('one')}
       export default one
       export const two = ${environment('two')}
       export const helper = () => 1
       export const number = 7
       export const nothing = null`,
    ])
    expect((await namesIn(path)).sort()).toEqual(['one', 'two'])
    expect((await loadEnvironment(path, 'two')).turnLimit).toBe(3)
  })

  test('is found by its folder: by exports, by main, by an index', async () => {
    const own = `export const own = ${environment('own')}`
    written(['exports/package.json', '{"name":"x","type":"module","exports":{"import":"./lib/e.js"}}'])
    written(['exports/lib/e.js', own])
    written(['main/package.json', '{"type":"module","main":"lib/m.js"}'], ['main/lib/m.js', own])
    written(['index/index.ts', `${own} as { name: string }`])
    for (const name of ['exports', 'main', 'index'])
      expect(await namesIn(join(folder, name)), name).toEqual(['own'])
  })
})

describe('a module that cannot be used is named with what to do', () => {
  test.each([
    ['broken.mjs', 'export const = 1', 'not_loaded', /broken\.mjs does not load: /],
    ['throws.mjs', `throw new Error('no licence key')`, 'not_loaded', /does not load: no licence key/],
    ['lacks.mjs', `import 'no-such-package-here'`, 'not_loaded', /no-such-package-here/],
    [
      'none.mjs',
      'export const a = 1',
      'no_environment',
      /exports no environment: .*defineEnvironment.*; it exports a$/,
    ],
    [
      'part.mjs',
      `export const part = { name: 'part', open() {} }`,
      'bad_environment',
      /`part` of .* is incomplete.*summary/,
    ],
    [
      'taken.mjs',
      `export const mine = ${environment(taken)}`,
      'name_taken',
      new RegExp(`"${taken}", and Perdure has one`),
    ],
    [
      'twice.mjs',
      `export const a = ${environment('a')}; export const b = ${environment('a')}`,
      'name_taken',
      /two environments "a"/,
    ],
  ])('%s', async (name, text, kind, message) => {
    await expect(loadEnvironments(written([name, text]))).rejects.toMatchObject({
      name: 'ExternalFault',
      kind,
      permanent: true,
      message: expect.stringMatching(message),
    })
  })

  test('a server by its address, under a name that no other task has', async () => {
    const address = 'openenv+http://127.0.0.1:8000'
    expect(await loadEnvironment(address, 'maze')).toMatchObject({ name: 'maze', source: address })
    await expect(loadEnvironment(address, 'alfworld')).rejects.toThrow(
      /Perdure has a task "alfworld" of its own: .*`openenv\+http:\/\/127\.0\.0\.1:8000#alfworld`/,
    )
    await expect(loadEnvironment(address, 'OS')).rejects.toThrow(/"OS" cannot name a task/)
    await expect(loadEnvironment('foo+http://x', 'maze')).rejects.toThrow(
      /"foo\+http:\/\/x": expected openenv/,
    )
  })

  test('one that is not there, a folder without an entry, and a name that it does not have', async () => {
    await expect(loadEnvironments(join(folder, 'nowhere.ts'))).rejects.toThrow(/nowhere\.ts does not exist/)
    written(['empty/notes.txt', ''])
    await expect(loadEnvironments(join(folder, 'empty'))).rejects.toThrow(/empty has no entry: .*index\.ts/)
    const path = written(['known.mjs', `export const known = ${environment('known')}`])
    await expect(loadEnvironment(path, 'other')).rejects.toThrow(/no environment "other": use known/)
    const measured = `{ ...${environment('measured')}, metrics: { turns: { better: 'lower' } } }`
    await expect(
      loadEnvironments(written(['measured.mjs', `export const measured = ${measured}`])),
    ).rejects.toThrow(/`measured` of .* is incomplete: .*the metric "turns" needs a name/)
  })
})
