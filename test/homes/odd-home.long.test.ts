/** Homes, files and trackers whose paths mean something in an address, in a shell or in SQL: every command works on them. */
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const place = temporaryHome()
const folder = join(place, `exp#1 %41?'"é`)
const home = join(folder, 'home#2')
const config = join(folder, 'a#b%20.yaml')
const settings = [
  'training.updates=1',
  'warmStart.demonstrations=8',
  'warmStart.epochs=1',
  'policy.hiddenSize=32',
  'policy.layers=1',
  `trackers.tensorboard=${join(folder, 'tensor#board')}`,
  `trackers.mlflow=${join(folder, 'ml%20flow')}`,
].flatMap((setting) => ['--set', setting])

async function succeed(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await startPerdure(home, ...words).ended
  expect(code, stdout + stderr).toBe(0)
  return stdout
}

beforeAll(async () => {
  mkdirSync(folder)
  copyFileSync('test/support/whole-pipeline.yaml', config)
  await succeed('train', config, '--run', 'a', ...settings)
}, 300_000)
afterAll(() => {
  removeHome(home)
  removeHome(place)
})

it('a run is trained, and all that it writes is where it was asked for', () => {
  expect(readdirSync(place)).toHaveLength(1)
  expect(readdirSync(folder).sort()).toEqual(['a#b%20.yaml', 'home#2', 'ml%20flow', 'tensor#board'])
  expect(readdirSync(home)).toEqual(expect.arrayContaining(['store.db', 'temporal.db']))
})

describe('in a home like this', () => {
  it.each([
    ['status a'],
    ['runs'],
    ['metrics a'],
    ['audit a'],
    ['compare a a'],
    ['eval a'],
    ['promote a'],
    ['schedule create a --every 1h'],
    ['schedule list'],
    ['branch a/g0/s0/a0 --turn 0'],
    ['disk'],
    ['clean --dry-run'],
    ['data list'],
    ['doctor'],
    ['doctor --repair'],
    ['resume a --set training.updates=2'],
  ])(
    '`%s` works',
    async (line) => {
      await succeed(...line.split(' '))
    },
    120_000,
  )

  it('files are exported and reports are written where they are asked for', async () => {
    await succeed('export', 'a', '--out', join(folder, 'out#1', 'a%41.jsonl'))
    await succeed('report', 'a', '--out', join(folder, 'report#1'))
    expect(readdirSync(join(folder, 'out#1'))).toEqual(['a%41.jsonl'])
    expect(readdirSync(join(folder, 'report#1'))).toContain('index.html')
    expect(readdirSync(place)).toHaveLength(1)
  }, 120_000)
})
