import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { type Game, openGame } from '../../../worlds/text-adventure/game.ts'
import { readSettings } from '../settings.ts'
import { householdDomain } from './domain.ts'
import { generateGame } from './generator.ts'
import { householdGrammar } from './grammar.ts'
import { type Goal, type Home, problemText, taskLine } from './problem.ts'

// Whole games are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 60_000 })

const kitchen: Omit<Home, 'goal'> = {
  furniture: ['cupboard', 'fridge', 'sink', 'stove', 'table'],
  items: [
    { kind: 'mug', place: 0 },
    { kind: 'pear', place: 4 },
    { kind: 'lamp', place: 4 },
  ],
}

function open(goal: Goal): Game {
  const home = { ...kitchen, goal }
  const game = openGame({
    id: 'test',
    domain: householdDomain,
    grammar: householdGrammar,
    problem: problemText('test', home),
    task: taskLine(goal),
  })
  game.start()
  return game
}

/** Plays all, gives the last answer. */
function after(game: Game, ...commands: string[]): { text: string; won: boolean } {
  let state = game.start()
  for (const command of commands) state = game.play(command)
  return { text: state.observation, won: state.won }
}

const coldPear: Goal = { errand: 'cool', thing: 'pear', destination: 'sink' }
const takePear = ['go to table 1', 'take pear 1 from table 1'] as const
const openCupboard = ['go to cupboard 1', 'open cupboard 1'] as const

test('one thing is carried at a time', () => {
  const game = open(coldPear)
  expect(after(game, ...takePear, ...openCupboard, 'take mug 1 from cupboard 1').text).toBe(
    'Nothing happens.',
  )
  expect(after(game, ...takePear, 'inventory').text).toBe('You carry pear 1.')
})

test('what lies in closed furniture cannot be taken, nor anything put there', () => {
  const game = open(coldPear)
  expect(after(game, 'go to cupboard 1', 'take mug 1 from cupboard 1').text).toBe('Nothing happens.')
  expect(after(game, ...takePear, 'go to cupboard 1', 'put pear 1 at cupboard 1').text).toBe(
    'Nothing happens.',
  )
  expect(after(game, ...takePear, ...openCupboard, 'put pear 1 at cupboard 1').text).toBe(
    'You put pear 1 at cupboard 1.',
  )
})

test('heating undoes cooling; washing stays', () => {
  const cool = ['go to fridge 1', 'cool pear 1 with fridge 1']
  const heat = ['go to stove 1', 'heat pear 1 with stove 1']
  const put = ['go to sink 1', 'put pear 1 at sink 1']
  expect(after(open(coldPear), ...takePear, ...cool, ...put).won).toBe(true)
  expect(after(open(coldPear), ...takePear, ...cool, ...heat, ...put).won).toBe(false)
  expect(after(open(coldPear), ...takePear, ...heat, ...cool, ...put).won).toBe(true)
  const wash = ['go to sink 1', 'clean pear 1 with sink 1']
  const back = ['go to cupboard 1', 'open cupboard 1', 'put pear 1 at cupboard 1']
  const cleanPear: Goal = { errand: 'clean', thing: 'pear', destination: 'cupboard' }
  expect(after(open(cleanPear), ...takePear, ...wash, ...heat, ...cool, ...back).won).toBe(true)
})

test('a lamp that was switched on stays on, and shines on what is taken then', () => {
  const game = open({ errand: 'light', thing: 'pear', destination: 'table' })
  const lit = after(
    game,
    'go to table 1',
    'use lamp 1',
    'go to sink 1',
    'go to table 1',
    'take pear 1 from table 1',
  )
  expect(lit.won).toBe(true)
  expect(after(game, ...takePear).won).toBe(false)
  expect(after(game, ...takePear, 'use lamp 1').won).toBe(true)
  expect(after(game, ...takePear, 'go to sink 1').won).toBe(false)
})

test('two things count only in one place', () => {
  const two: Home = {
    furniture: ['shelf', 'shelf', 'table'],
    items: [
      { kind: 'book', place: 2 },
      { kind: 'book', place: 2 },
    ],
    goal: { errand: 'two', thing: 'book', destination: 'shelf' },
  }
  const problem = problemText('two', two)
  const game = openGame({
    id: 'two',
    domain: householdDomain,
    grammar: householdGrammar,
    problem,
    task: 'Task.',
  })
  const carry = (number: number, shelf: number) => [
    'go to table 1',
    `take book ${number} from table 1`,
    `go to shelf ${shelf}`,
    `put book ${number} at shelf ${shelf}`,
  ]
  expect(after(game, ...carry(1, 1), ...carry(2, 2)).won).toBe(false)
  expect(after(game, ...carry(1, 2), ...carry(2, 2)).won).toBe(true)
})

test('what lies in closed furniture is never named, and carrying stays at one, however one plays', () => {
  const settings = readSettings({ receptacles: { min: 5, max: 8 } })
  fc.assert(
    fc.property(fc.nat(5000), fc.array(fc.nat(1000), { maxLength: 40 }), (index, choices) => {
      const game = openGame(generateGame('train', index, settings))
      let { admissible, won } = game.start()
      for (const choice of choices) {
        const command = admissible[choice % admissible.length] ?? 'look'
        const state = game.play(command)
        const closed = /^(.+) is closed\.$/.exec(state.observation)?.[1]
        if (closed !== undefined) expect(state.observation).toBe(`${closed} is closed.`)
        else expect(state.observation).not.toBe('Nothing happens.')
        for (const other of state.admissible)
          if (closed !== undefined) expect(other).not.toMatch(new RegExp(`^(take|put) .* ${closed}$`))
        expect(game.play('inventory').observation).toMatch(/^You carry (nothing|[a-z]+ \d)\.$/)
        ;({ admissible, won } = state)
        if (won) break
      }
    }),
    { numRuns: 60 },
  )
})

test('a problem names only the kinds that are present, and the same home gives the same text', () => {
  const home: Home = { ...kitchen, goal: coldPear }
  expect(problemText('a', home)).toBe(problemText('a', home))
  expect(problemText('a', home)).not.toMatch(/shelf|plate/)
})

test('an errand reads as a person would say it', () => {
  expect(taskLine({ errand: 'place', thing: 'book', destination: 'shelf' })).toBe(
    'Task: put a book on a shelf.',
  )
  expect(taskLine({ errand: 'heat', thing: 'pan', destination: 'sink' })).toBe(
    'Task: put a hot pan in a sink.',
  )
  expect(taskLine({ errand: 'two', thing: 'cup', destination: 'chest' })).toBe(
    'Task: put two cups in one chest.',
  )
  expect(taskLine({ errand: 'light', thing: 'pen', destination: 'desk' })).toBe(
    'Task: look at a pen under a lamp.',
  )
})
