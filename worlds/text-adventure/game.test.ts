import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { TextAdventureFault } from './fault.ts'
import { openGame } from './game.ts'
import { toy, toyDomain } from './toy.testing.ts'

/** Plays picks from the admissible commands of each moment. */
function play(picks: readonly number[]) {
  const game = openGame(toy)
  const states = [game.start()]
  for (const pick of picks) {
    const { admissible } = states.at(-1) ?? { admissible: [] }
    states.push(game.play(admissible[pick % admissible.length] ?? ''))
  }
  return { game, states }
}

const picks = fc.array(fc.nat(1000), { maxLength: 30 })

test('the first state shows the room, the task and what can be done, numbers falling along the ids', () => {
  // Vault_bar_1 comes before Vault_bar_2, so it is vault 2; the agent is there already and cannot walk to it.
  expect(openGame(toy).start()).toEqual({
    observation:
      'Down here.\n\nYou see bare walls.\n\nBring two pearls to a shelf and light the lamp.'.replace(
        'bare walls',
        'the shut chest 1',
      ),
    admissible: ['help', 'lift chest 1', 'look', 'walk to vault 1'],
    won: false,
  })
})

test('texts follow facts: lists, lids, what was taken away', () => {
  // Each text was compared with TextWorld's.
  const answers = [
    ['lift chest 1', 'You lift the lid of chest 1.'],
    ['look', 'You see the open chest 1 with a lamp 1, a pearl 3, and a pearl 1.'],
    ['get lamp 1 from chest 1', 'You have lamp 1.'],
    ['look', 'You see the open chest 1 with a pearl 3, and a pearl 1, missing: lamp 1 of chest 1.'],
    // Both vaults are taken by the action's own parameters, so none is left for `p`.
    ['walk to vault 1', 'You see bare walls.'],
    ['lay lamp 1 on shelf 1', 'lamp 1 lies on shelf 1.'],
    [
      'look',
      'You see the shelf 2 with nothing, and the shelf 1 with a lamp 1, and a pearl 2, missing: lamp 1 of chest 1.',
    ],
    ['help', 'Walk, lift, get, lay, rub.\n'],
  ] as const
  const game = openGame(toy)
  game.start()
  for (const [command, text] of answers) expect(game.play(command).observation).toBe(text)
})

test('texts hear of all effects of an action, also of those whose condition fails, as in TextWorld', () => {
  const game = openGame(toy)
  game.start()
  const texts = ['lift chest 1', 'get lamp 1 from chest 1', 'rub lamp 1', 'rub lamp 1'].map(
    (command) => game.play(command).observation,
  )
  expect(texts.slice(2)).toEqual(['It is nothing.', 'It is nothing.'])
})

test('the walkthrough wins with its last command and not before', () => {
  const game = openGame(toy)
  const won = [game.start(), ...(toy.walkthrough ?? []).map((command) => game.play(command))].map(
    (state) => state.won,
  )
  expect(won).toEqual([...won.slice(1).map(() => false), true])
})

test('the same source and the same commands give the same states', () => {
  fc.assert(
    fc.property(picks, (chosen) => {
      expect(play(chosen).states).toEqual(play(chosen).states)
    }),
  )
})

test('start leads back to the first state, whatever was played', () => {
  fc.assert(
    fc.property(picks, picks, (before, after) => {
      const { game } = play(before)
      const fresh = openGame(toy)
      expect(game.start()).toEqual(fresh.start())
      for (const pick of after) {
        const admissible = fresh.play('').admissible
        const command = admissible[pick % admissible.length] ?? ''
        expect(game.play(command)).toEqual(fresh.play(command))
      }
    }),
  )
})

test('a command that is not admissible says "Nothing happens." and changes nothing', () => {
  const wrong = fc.oneof(
    fc.string(),
    fc.constantFrom('', 'take', 'HELP', 'Look', 'lift', 'lift chest 1 1', 'walk to vault 2'),
  )
  fc.assert(
    fc.property(picks, wrong, (chosen, command) => {
      const { game, states } = play(chosen)
      const before = states.at(-1)
      if (before?.admissible.includes(command.trim())) return
      expect(game.play(command)).toEqual({ ...before, observation: 'Nothing happens.' })
      expect(game.play(command)).toEqual({ ...before, observation: 'Nothing happens.' })
    }),
  )
})

test('every admissible command does something; the list is sorted and names each once', () => {
  fc.assert(
    fc.property(picks, (chosen) => {
      const { states } = play(chosen)
      for (const { observation, admissible } of states) {
        expect(observation).not.toBe('Nothing happens.')
        expect(admissible).toEqual([...new Set(admissible)].sort())
      }
    }),
  )
})

test('blanks around a command do not matter, those within do', () => {
  const game = openGame(toy)
  game.start()
  expect(game.play(' \tlook\n\u3000').observation).toBe('You see the shut chest 1.')
  expect(game.play('\u001clook\u0085').observation).not.toBe('Nothing happens.')
  expect(game.play('\ufefflook').observation).toBe('Nothing happens.')
  expect(game.play('lift  chest 1').observation).toBe('Nothing happens.')
})

test('a game that cannot be opened is named together with what is wrong', () => {
  const broken = [
    { ...toy, domain: toyDomain.replace('(:types', '(:types))') },
    { ...toy, problem: toy.problem.slice(0, -40) },
    { ...toy, problem: toy.problem.replace('(in me', '(in you') },
    { ...toy, grammar: toy.grammar.replace('action rub', 'action scrub') },
    { ...toy, grammar: toy.grammar.replace('"piece"', 'piece') },
    { ...toy, grammar: toy.grammar.replace('"lift {h}"', '"lift [{h | up(h:holder)}]"') },
  ]
  for (const source of broken) {
    expect(() => openGame(source)).toThrow(TextAdventureFault)
    expect(() => openGame(source)).toThrow(/^game toy\/1 cannot be opened: (PDDL|text grammar)/)
  }
})

test('a game is not played before it is started', () => {
  expect(() => openGame(toy).play('look')).toThrow('must be started')
})
