import { describe, expect, test, vi } from 'vitest'
import { openGame } from '../../../worlds/text-adventure/game.ts'
import { generatedSplits } from '../../generated/generated-instances.ts'
import { demonstrateByExpert } from '../demonstration.ts'
import { householdDialect } from '../dialect.ts'
import { errands, readSettings } from '../settings.ts'
import { gameSeed, generateGame, openHousehold, unseenSplit, unseenThings } from './generator.ts'

// Whole games are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 60_000 })

const normal = readSettings(undefined)

describe('built-in household games', () => {
  test('a game is a function of its id and the settings', () => {
    for (const split of generatedSplits)
      expect(generateGame(split, 17, normal)).toEqual(generateGame(split, 17, normal))
    expect(generateGame('train', 17, normal).problem).not.toBe(
      generateGame('train', 17, readSettings({ difficulty: 'hard' })).problem,
    )
  })

  test('splits are disjoint: no two games share a seed or a home', () => {
    const seeds = new Set<number>()
    const homes = new Set<string>()
    for (const split of generatedSplits)
      for (let index = 0; index < 1500; index++) {
        seeds.add(gameSeed(split, index))
        homes.add(generateGame(split, index, normal).problem.replace(/\(define \(problem \w+\)/, ''))
      }
    expect(seeds.size).toBe(4500)
    expect(homes.size).toBe(4500)
  })

  test('errands are taken in turn', () => {
    const settings = readSettings({ tasks: ['heat', 'two'] })
    expect(generateGame('train', 0, settings).task).toMatch(/^Task: put a hot /)
    expect(generateGame('train', 1, settings).task).toMatch(/^Task: put two /)
  })

  test.each(generatedSplits)(
    'no game of %s is won before it starts, and its expert wins every one',
    (split) => {
      for (let index = 0; index < 300; index++) {
        const source = generateGame(split, index, normal)
        expect(openGame(source).start().won, source.id).toBe(false)
        expect(demonstrateByExpert(source, householdDialect, 40), source.id).toBeDefined()
      }
    },
  )

  test.each(['easy', 'hard'])('the expert wins every %s game', (difficulty) => {
    const settings = readSettings({ difficulty })
    for (let index = 0; index < 60; index++) {
      const source = generateGame('validation', index, settings)
      expect(demonstrateByExpert(source, householdDialect, 60), source.id).toBeDefined()
    }
  })

  test('homes keep to the ranges that are asked for', () => {
    const settings = readSettings({
      receptacles: { min: 7, max: 7 },
      objects: { min: 6, max: 6 },
      rooms: { min: 2, max: 2 },
    })
    for (let index = 0; index < 120; index++) {
      const { problem } = generateGame('train', index, settings)
      const [declared = ''] = problem.split('(:init')
      expect(declared.match(/ - receptacle/g)).toHaveLength(7)
      expect(declared.match(/ - object/g)).toHaveLength(6)
    }
    expect(errands).toHaveLength(6)
  })

  // [GOALS-1]
  test('goals of the split `unseen` are asked for nowhere else, for every errand', () => {
    const settings = readSettings({ difficulty: 'easy', unseenGoals: 0.25 })
    const goalsOf = (split: (typeof generatedSplits)[number] | typeof unseenSplit) =>
      new Set(
        Array.from({ length: 600 }, (_, index) => errandAndThing(generateGame(split, index, settings).task)),
      )
    const unseen = goalsOf(unseenSplit)
    for (const split of generatedSplits)
      expect([...goalsOf(split)].filter((goal) => unseen.has(goal))).toEqual([])
    for (const errand of errands) {
      const things = unseenThings(errand, 0.25)
      expect(things.size, errand).toBeGreaterThan(0)
      for (const thing of things) expect(unseen).toContain(errandAndThing(taskOf(errand, thing)))
    }
  })

  test('the expert wins the games with unseen goals, and they are of seeds that no other game has', () => {
    const settings = readSettings({ difficulty: 'easy', unseenGoals: 0.2 })
    const seeds = new Set(Array.from({ length: 2000 }, (_, index) => gameSeed('test', index)))
    for (let index = 0; index < 120; index++) {
      expect(seeds.has(gameSeed(unseenSplit, index))).toBe(false)
      const source = generateGame(unseenSplit, index, settings)
      expect(demonstrateByExpert(source, householdDialect, 40), source.id).toBeDefined()
    }
  })

  test('games that no goal is kept from are those of the settings without the key', () => {
    const settings = readSettings({ unseenGoals: 0 })
    for (let index = 0; index < 60; index++)
      expect(generateGame('train', index, settings)).toEqual(generateGame('train', index, normal))
  })
})

const treatments = { clean: 'clean ', heat: 'hot ', cool: 'cold ', place: '' } as const

function taskOf(errand: (typeof errands)[number], thing: string): string {
  if (errand === 'light') return `Task: look at a ${thing} under a lamp.`
  return errand === 'two'
    ? `Task: put two ${thing}s on one bed.`
    : `Task: put a ${treatments[errand]}${thing} on a bed.`
}

/** Without the place where it has to go. */
function errandAndThing(task: string): string {
  return task.replace(/ (?:in|on) (?:a|one) \w+\.$/, '')
}

const library = openHousehold(readSettings(undefined))

test('an id that a split gives can be opened; indices wrap at the size of the split', () => {
  for (const { name } of library.splits)
    for (const index of [0, 1, 1999, 2000, 123_456_789]) {
      const id = library.instanceAt(name, index)
      expect(library.open(id).id).toBe(id)
    }
  expect(library.instanceAt('test', 2001)).toBe('test/1')
  expect(library.instanceAt('test', -1)).toBe('test/1999')
})

test.each(['train', 'train/', 'train/01', 'train/1e3', 'train/9999999999', 'test/2000', 'dev/1', ' test/1'])(
  'any other id is an unknown instance: "%s"',
  (id) => {
    expect(() => library.open(id)).toThrow(expect.objectContaining({ kind: 'unknown_instance' }))
  },
)

test('sizes of held-out splits allow thousand-game evaluations, and training has no end', () => {
  const sizes = Object.fromEntries(library.splits.map(({ name, size }) => [name, size]))
  expect(sizes).toEqual({ train: Number.POSITIVE_INFINITY, validation: 2000, test: 2000 })
})

test('a share of unseen goals gives the split `unseen`, whose name other settings do not know', () => {
  const withUnseen = openHousehold(readSettings({ unseenGoals: 0.2 }))
  expect(withUnseen.splits.map(({ name }) => name)).toEqual(['train', 'validation', 'test', 'unseen'])
  expect(withUnseen.open(withUnseen.instanceAt('unseen', 2003)).id).toBe('unseen/3')
  expect(() => library.instanceAt('unseen', 0)).toThrow(/use train, validation, test$/)
})
