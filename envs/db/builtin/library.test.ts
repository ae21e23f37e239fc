import { expect, test } from 'vitest'
import { generatedSplits } from '../../generated/generated-instances.ts'
import { openBuiltin, problemSeed } from './library.ts'

const difficulties = ['easy', 'normal', 'hard'] as const

test.each(difficulties)('a problem is a function of its id: %s', (difficulty) => {
  const [first, second] = [openBuiltin(difficulty), openBuiltin(difficulty)]
  const ids = Array.from({ length: 30 }, (_, index) => `train/${index}`)
  const items = ids.map((id) => first.open(id))
  expect(
    ids
      .toReversed()
      .map((id) => second.open(id))
      .toReversed(),
  ).toEqual(items)
})

test('splits share no seed', () => {
  const seeds = generatedSplits.flatMap((split) =>
    Array.from({ length: 2000 }, (_, index) => problemSeed(split, index)),
  )
  expect(new Set(seeds).size).toBe(seeds.length)
})

test('difficulties differ in size and kinds', () => {
  const rows = difficulties.map((difficulty) => {
    const library = openBuiltin(difficulty)
    const items = Array.from({ length: 40 }, (_, index) => library.open(`test/${index}`))
    expect(items.some(({ goal }) => goal.kind === 'answer')).toBe(true)
    expect(items.some(({ goal }) => goal.kind === 'effect')).toBe(true)
    return Math.max(...items.map(({ tables }) => tables[0]?.rows.length ?? 0))
  })
  expect(rows).toEqual(rows.toSorted((left, right) => left - right))
  expect(rows[0]).toBeLessThanOrEqual(5)
})

test.each(difficulties)('names and cells are plain words, and no key is there twice: %s', (difficulty) => {
  const library = openBuiltin(difficulty)
  for (let index = 0; index < 200; index++) {
    const { scene } = library.problem(`train/${index}`)
    for (const { columns, rows } of scene.data) {
      expect(new Set(columns).size).toBe(columns.length)
      for (const name of columns) expect(name).toMatch(/^[a-z_]+$/)
      for (const cell of rows.flat()) expect(cell).toMatch(/^([a-z]+|\d+)$/)
    }
    const keys = scene.tables.flatMap(({ rows }) => rows.map(({ key }) => key))
    expect(new Set([...keys, scene.another.key]).size).toBe(keys.length + 1)
  }
})

test('easy problems are short: for policies with few tokens', () => {
  const library = openBuiltin('easy')
  const lengths = Array.from({ length: 200 }, (_, index) => library.open(`train/${index}`).question.length)
  expect(lengths.reduce((sum, length) => sum + length, 0) / lengths.length).toBeLessThan(60)
})

test('an easy problem names its table only where a row is added: the row is searched for', () => {
  const library = openBuiltin('easy')
  for (let index = 0; index < 200; index++) {
    const { question, statements, scene } = library.problem(`train/${index}`)
    if (question.startsWith('Add')) continue
    for (const { name } of scene.tables) expect(question.split(/[ .?`']/)).not.toContain(name)
    expect(statements[0]).toBe('SHOW TABLES')
  }
})

test('a problem has the kind by which its question is made', () => {
  const library = openBuiltin('normal')
  const beginnings = {
    count: /^How many \w+ have \w+ \w+\?/,
    count_over: /over \d+\?$/,
    highest: /^Which of the \w+ has the (highest|lowest)/,
    insert: /^Add '/,
    list: /^Which \w+ have/,
    lookup: /^What is the \w+ of \w+ of the/,
    remove: /^Delete (?!all)/,
    remove_group: /^Delete all/,
    total: /^What is the (average|total)/,
    update: /^Set the/,
  }
  const kinds = new Set<string>()
  for (let index = 0; index < 100; index++) {
    const { kind, question } = library.open(`train/${index}`)
    expect(question).toMatch(beginnings[kind as keyof typeof beginnings])
    kinds.add(kind)
  }
  expect([...kinds].sort()).toEqual(Object.keys(beginnings))
})
