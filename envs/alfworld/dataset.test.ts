import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openGame } from '../../worlds/text-adventure/game.ts'
import { toy } from '../../worlds/text-adventure/toy.testing.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import { openDataset } from './dataset.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'perdure-alfworld-'))
})
afterEach(async () => {
  await rm(dir, { recursive: true })
})

const line = (id: string) =>
  `${JSON.stringify({ id, task: toy.task, walkthrough: toy.walkthrough, pddl_problem: toy.problem })}\n`

async function writeCompact(splits: Readonly<Record<string, Buffer | string>>): Promise<void> {
  await writeFile(path.join(dir, 'domain.pddl'), toy.domain)
  await writeFile(path.join(dir, 'grammar.twl2'), toy.grammar)
  for (const [name, content] of Object.entries(splits))
    await writeFile(
      path.join(dir, `${name}.jsonl.gz`),
      typeof content === 'string' ? gzipSync(content) : content,
    )
}

async function writePublished(
  id: string,
  change: Readonly<Record<string, unknown>> | string = {},
): Promise<string> {
  const file = path.join(dir, id, 'game.tw-pddl')
  const game = {
    pddl_domain: toy.domain,
    grammar: toy.grammar.replace('@@TASK@@', 'Say \\"please\\".'),
    pddl_problem: toy.problem,
    walkthrough: toy.walkthrough,
    solvable: true,
  }
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, typeof change === 'string' ? change : JSON.stringify({ ...game, ...change }))
  return file
}

test('both layouts give the same ids, in order, and games that play', async () => {
  await writeCompact({ train: line('train/b/1') + line('train/a/2') })
  await writePublished('json_2.1.1/valid_seen/c/1')
  const dataset = await openDataset(dir)
  expect(dataset.splits).toEqual([
    { name: 'train', size: 2 },
    { name: 'valid_seen', size: 1 },
  ])
  expect([0, 1, 2, -1].map((index) => dataset.instanceAt('train', index))).toEqual([
    'train/a/2',
    'train/b/1',
    'train/a/2',
    'train/b/1',
  ])
  expect(dataset.warnings).toEqual([])
  for (const id of ['train/b/1', 'valid_seen/c/1']) {
    const source = dataset.open(id)
    const game = openGame(source)
    game.start()
    expect((source.walkthrough ?? []).map((command) => game.play(command).won).at(-1)).toBe(true)
  }
})

test('the task of a published game is taken out of its grammar, so that all games share one', async () => {
  await writePublished('train/a/1')
  const source = (await openDataset(dir)).open('train/a/1')
  expect(source.task).toBe('Say "please".')
  expect(source.grammar).toBe(toy.grammar)
})

test('games that the official loader leaves out are left out without a warning', async () => {
  await writePublished('train/a/1')
  await writePublished('train/a/2', { solvable: false })
  await writePublished('train/look_at_movable/1')
  await writePublished('train/pick_Sliced/1')
  await mkdir(path.join(dir, 'train/a/4'))
  const dataset = await openDataset(dir)
  expect(dataset.splits).toEqual([{ name: 'train', size: 1 }])
  expect(dataset.warnings).toEqual([])
})

test('published files that cannot be used are named and left out', async () => {
  await writePublished('train/a/1')
  const cut = await writePublished('train/a/2', '{"pddl_domain": "(defi')
  const foreign = await writePublished('train/a/3', '{"questions": []}')
  const unmarked = await writePublished('train/a/4', { solvable: undefined })
  const dataset = await openDataset(dir)
  expect(dataset.splits).toEqual([{ name: 'train', size: 1 }])
  expect(dataset.warnings).toEqual([
    `${cut} is left out: it is cut short or no JSON`,
    `${foreign} is left out: it is no game of ALFWorld`,
    `${unmarked} is left out: it does not say whether it is solvable`,
  ])
})

test('a split cut short gives the games before the cut and a warning that names it', async () => {
  const noise = Array.from({ length: 400 }, (_, index) =>
    line(`train/a/${index}`).replace('cellar-1', `c${index * 7919}`),
  )
  const packed = gzipSync(noise.join(''))
  await writeCompact({ train: packed.subarray(0, packed.length / 2) })
  const { splits, warnings } = await openDataset(dir)
  expect(splits[0]?.size).toBeGreaterThan(100)
  expect(splits[0]?.size).toBeLessThan(300)
  expect(warnings).toEqual([
    `${path.join(dir, 'train.jsonl.gz')}, line ${(splits[0]?.size ?? 0) + 1} is left out: the file is cut short here`,
  ])
})

test('foreign lines and files are named and left out, the rest is offered', async () => {
  await writeCompact({
    train: `${line('train/a/1')}{"x": 1}\nwords\n${line('train/a/1')}${line('test/a/1')}`,
    other: Buffer.from('words'),
  })
  const { splits, warnings } = await openDataset(dir)
  expect(splits).toEqual([{ name: 'train', size: 1 }])
  const train = path.join(dir, 'train.jsonl.gz')
  expect(warnings).toEqual([
    expect.stringContaining(path.join(dir, 'other.jsonl.gz')),
    `${train}, line 2 is left out: it is no game of train`,
    `${train}, line 3 is left out: it is no game of train`,
    `train/a/1 is in ${dir} twice: the first one is used`,
    `${train}, line 5 is left out: it is no game of train`,
  ])
})

test('a folder without games is refused with what was expected', async () => {
  await expect(openDataset(path.join(dir, 'nowhere'))).rejects.toThrow(/nowhere cannot be read/)
  await expect(openDataset(dir)).rejects.toThrow(/holds no games; expected/)
  await writeFile(path.join(dir, 'train.jsonl.gz'), gzipSync(line('train/a/1')))
  await expect(openDataset(dir)).rejects.toThrow(/domain\.pddl cannot be read/)
})

test('an unknown game or split is refused by kind, a game damaged since by its file', async () => {
  const file = await writePublished('train/a/1')
  const dataset = await openDataset(dir)
  const kindOf = (act: () => unknown) => {
    try {
      act()
    } catch (error) {
      return error instanceof EnvironmentFault ? [error.kind, error.message.includes(file)] : error
    }
    return undefined
  }
  expect(kindOf(() => dataset.open('train/a/2'))).toEqual(['unknown_instance', false])
  expect(kindOf(() => dataset.open(''))).toEqual(['unknown_instance', false])
  expect(kindOf(() => dataset.instanceAt('test', 0))).toEqual(['unknown_split', false])
  await rm(file)
  expect(kindOf(() => dataset.open('train/a/1'))).toEqual(['bad_data', true])
})
