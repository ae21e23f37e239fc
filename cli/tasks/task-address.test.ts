import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '../../machine/files/folder.ts'
import { taskAt, taskFrom, tasksAt } from './task-address.ts'

const dir = mkdtempSync(join(tmpdir(), 'perdure-address-'))
const marked = join(dir, 'my game#1')

beforeAll(() => {
  mkdirSync(marked)
  const definition = (name: string) => `export const ${name} = {
    name: '${name}', summary: 's', source: 's', licence: 'l', reward: 'r', replayable: true, replayableBecause: 'b',
    turnLimit: 1, open: async () => ({ splits: [{ name: 'train', size: 1 }], instanceAt: () => 'a', create: async () => ({}) }) }`
  writeFileSync(join(marked, 'index.mjs'), `${definition('one')}\n${definition('two')}\n`)
  writeFileSync(join(dir, 'single#.mjs'), definition('three'))
})
afterAll(() => rmSync(dir, { recursive: true }))

/** In a process of its own: the test runner itself cannot import a file with `#` in its path. */
async function listed(address: string): Promise<string[]> {
  const command = join(packageRoot, 'bin/perdure.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [command, 'env', 'list', address, '--json'])
  const rows: { name: string }[] = JSON.parse(stdout)
  return rows.map(({ name }) => name)
}

it('a folder or file with # in its own name is found, with a task chosen after it and without', async () => {
  const [all, chosen, file] = await Promise.all([
    listed(marked),
    listed(`${marked}#two`),
    listed(join(dir, 'single#.mjs')),
  ])
  expect({ all, chosen, file }).toEqual({ all: ['one', 'two'], chosen: ['two'], file: ['three'] })
}, 60_000)

it('a folder that is not there is named with what # means', async () => {
  await expect(taskAt(join(dir, 'none#1'))).rejects.toThrow(
    /none does not exist: .*"#1" chooses a task of the module/,
  )
})

it('a ~ that no shell replaced is named with the path that it means', async () => {
  await expect(tasksAt('~/game')).rejects.toThrow(`${join(homedir(), 'game')}: only a shell replaces "~"`)
})

it('a task that a configuration plays from an address is the one of its name there', async () => {
  const shown = async (from: string) => {
    const { name, source } = await taskFrom(from, 'maze')
    return { name, source }
  }
  const [one, several] = ['openenv+http://127.0.0.1:8000#labyrinth', 'agentrl+http://127.0.0.1:5020/api']
  expect(await shown(one)).toEqual({ name: 'maze', source: one })
  expect(await shown(several)).toEqual({ name: 'maze', source: several })
  await expect(taskFrom('openenv+http://', 'maze')).rejects.toThrow(/expected openenv\+http/)
  await expect(taskFrom(join(dir, 'none'), 'maze')).rejects.toThrow(/"#maze" chooses a task of the module/)
})
