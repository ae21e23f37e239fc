import { expect, test } from 'vitest'
import { toy } from '../../worlds/text-adventure/toy.testing.ts'
import { commandWordsOf } from './command-words.ts'
import { inEngine, openGame } from './engine.ts'

// [TASK-ENGINE-1]
test('a game that the engine cannot read is bad data of the task', () => {
  const grammar = toy.grammar.replace('"piece"', 'piece')
  const fault = { name: 'EnvironmentFault', kind: 'bad_data', permanent: true }
  expect(() => openGame({ ...toy, grammar })).toThrow(
    expect.objectContaining({ ...fault, message: expect.stringMatching(/^game toy\/1 cannot be opened: /) }),
  )
  expect(() => commandWordsOf({ ...toy, grammar })).toThrow(expect.objectContaining(fault))
})

test('an error of any other kind passes unchanged', () => {
  const bug = new TypeError('x is undefined')
  expect(() =>
    inEngine(() => {
      throw bug
    }),
  ).toThrow(bug)
  expect(() => openGame(toy).play('look')).toThrow('must be started')
})
