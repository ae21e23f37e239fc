import { describe, expect, test, vi } from 'vitest'
import { generatedSplits } from '../../generated-instances.ts'
import { demonstrateByExpert } from '../demonstration.ts'
import { householdDialect } from '../dialect.ts'
import { openGame } from '../engine/game.ts'
import { errands, readSettings } from '../settings.ts'
import { gameSeed, generateGame } from './generator.ts'

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
})
