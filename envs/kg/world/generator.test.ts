import { beforeAll, describe, expect, test } from 'vitest'
import { generatedSplits } from '../../generated/generated-instances.ts'
import { makesVariable } from '../actions.ts'
import type { Question } from '../library.ts'
import { type KgSettings, questionKinds, readSettings } from '../settings.ts'
import {
  asked,
  both,
  compared,
  counted,
  following,
  generateQuestion,
  openGeneratedQuestions,
  type Phrase,
  splitOf,
} from './generator.ts'
import {
  openWorldGraph,
  oppositeOf,
  type World,
  type WorldRelation,
  worldRelations,
  worldTypes,
} from './world.ts'

let world: World

beforeAll(async () => {
  world = await openWorldGraph()
})

function questions(settings: Pick<KgSettings, 'kinds' | 'setHops'>, count: number): Map<string, Question[]> {
  return new Map(
    generatedSplits.map((split) => [
      split,
      Array.from({ length: count }, (_, index) => generateQuestion(world, split, index, settings)),
    ]),
  )
}

test('every name is of one type', () => {
  const names = worldTypes.flatMap((type) => world.names[type])
  expect(new Set(names).size).toBe(names.length)
  expect(names).toContain('Monaco (city)')
  expect(names).toContain('Kingston, Jamaica')
})

test('every relation but attributes has its opposite, so that each entity leads on', () => {
  for (const relation of Object.keys(worldRelations) as WorldRelation[]) {
    const { from, to } = worldRelations[relation]
    expect(worldRelations[oppositeOf(relation)]).toEqual({ from: to, to: from })
    for (const id of world.names[from]) {
      const ahead = world.graph.evaluate({ kind: 'neighbors', of: { kind: 'entity', id }, relation })
      for (const member of ahead) {
        expect(world.names[to]).toContain(member)
        const there = { kind: 'entity', id: member } as const
        expect(
          world.graph.evaluate({ kind: 'neighbors', of: there, relation: oppositeOf(relation) }).has(id),
        ).toBe(true)
      }
    }
  }
})

test('a question is a function of its id and the settings', async () => {
  const settings = readSettings({ difficulty: 'hard' })
  const again = await openWorldGraph()
  for (const index of [0, 1, 2, 3, 4, 5, 2 ** 29])
    expect(generateQuestion(again, 'train', index, settings)).toEqual(
      generateQuestion(world, 'train', index, settings),
    )
})

describe.each(['easy', 'normal', 'hard'] as const)('%s questions', (difficulty) => {
  test('no question is in two splits: which one it belongs to follows from its words', () => {
    for (const [split, asked] of questions(readSettings({ difficulty }), 200))
      for (const { text } of asked) expect(splitOf(text)).toBe(split)
  })

  test('are of many kinds and entities', () => {
    const train = questions(readSettings({ difficulty }), 300).get('train') ?? []
    expect(new Set(train.map(({ text }) => text)).size).toBeGreaterThan(200)
  })

  test('have gold calls whose last variable is the answer, of at least one and at most a few dozen members', () => {
    for (const asked of questions(readSettings({ difficulty }), 60).values())
      for (const { answers, gold = [], entities, text } of asked) {
        expect(answers.size).toBeGreaterThan(0)
        expect(answers.size).toBeLessThanOrEqual(50)
        expect(gold.some(makesVariable)).toBe(true)
        // The final answer is a turn of its own.
        expect(gold.length).toBeLessThan(15)
        for (const name of entities.keys()) expect(text).toContain(name)
      }
  })
})

test.each(questionKinds)('questions of the kind %s can be had alone, in every split', (kind) => {
  for (const setHops of [1, 2] as const)
    for (const asked of questions({ kinds: [kind], setHops }, 20).values()) expect(asked).toHaveLength(20)
})

test('a comparison is between several with one winner; an intersection leaves out members of both sides', () => {
  for (const { gold = [], answers } of questions({ kinds: ['argmax', 'argmin'], setHops: 2 }, 50).get(
    'test',
  ) ?? []) {
    expect(gold.at(-1)?.tool).toMatch(/^arg/)
    expect(answers.size).toBe(1)
  }
  for (const { gold = [] } of questions({ kinds: ['intersection'], setHops: 1 }, 50).get('test') ?? [])
    expect(gold.at(-1)?.tool).toBe('intersection')
})

test('an id that a split gives can be opened; any other is an unknown instance', () => {
  const library = openGeneratedQuestions(world, readSettings({}))
  for (const { name } of library.splits)
    for (const index of [0, 7, 1999, 5000, -1]) {
      const id = library.instanceAt(name, index)
      expect(library.open(id).id).toBe(id)
    }
  for (const id of ['test/2000', 'train/01', 'train/-1', 'train', '/1', 'dev/1', 'train/99999999999'])
    expect(() => library.open(id)).toThrow(expect.objectContaining({ kind: 'unknown_instance' }))
  expect(() => library.instanceAt('dev', 0)).toThrow(/train, validation, test/)
})

const france: Phrase = { text: 'France', one: true }

test('sets are said by how they were found, one thing otherwise than several', () => {
  const neighbours = following(france, 'borders')
  expect(asked(neighbours)).toBe('Which countries border France?')
  expect(counted(neighbours)).toBe('How many countries border France?')
  expect(asked(following(france, 'capital'))).toBe('What is the capital of France?')
  expect(asked(following(neighbours, 'capital'))).toBe(
    'What are the capitals of the countries that border France?',
  )
  const home = following({ text: 'Rome', one: true }, 'capital_of')
  expect(asked(following(home, 'language'))).toBe(
    'What are the languages of the country whose capital is Rome?',
  )
  expect(asked(following(neighbours, 'borders'))).toBe(
    'Which countries border any of the countries that border France?',
  )
})

test('what two sets of countries have in common is what their countries both do', () => {
  const german = following({ text: 'German', one: true }, 'spoken_in')
  const common = both(following(france, 'borders'), german)
  expect(common && asked(common)).toBe('Which countries border France and speak German?')
  expect(common && compared(common, 'area', 'argmin')).toBe(
    'Of the countries that border France and speak German, which has the smallest area?',
  )
  expect(both(german, following(france, 'language'))).toBeUndefined()
})
