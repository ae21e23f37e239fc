import fc from 'fast-check'
import { expect, test } from 'vitest'
import { householdAfter } from './household.ts'

// [HOUSEHOLD-1]
test('a household is known as far as the built-in game has described it', () => {
  const home = householdAfter([
    { command: '', text: 'You see fridge 1, shelf 1, shelf 2.\nYour task is to: put a cool mug at shelf 1.' },
    { command: 'go to fridge 1', text: 'fridge 1 is closed.' },
    { command: 'open fridge 1', text: 'In fridge 1: mug 1, apple 2.' },
    { command: 'take mug 1 from fridge 1', text: 'You take mug 1.' },
    { command: 'cool mug 1 with fridge 1', text: 'mug 1 is cold.' },
    { command: 'go to shelf 1', text: 'On shelf 1: nothing.' },
  ])
  expect(home.place).toBe('shelf 1')
  expect(home.carried).toEqual(['mug 1'])
  expect(Object.fromEntries(home.places)).toEqual({ 'fridge 1': ['apple 2'], 'shelf 1': [], 'shelf 2': null })
  expect(Object.fromEntries(home.states)).toEqual({ 'mug 1': 'cold' })
  expect([...home.closed]).toEqual([])
})

test('ALFWorld is read in its own words', () => {
  const home = householdAfter([
    {
      command: '',
      text: '-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a cabinet 1, a countertop 1, and a microwave 1.\n\nYour task is to: put a mug in cabinet.',
    },
    {
      command: 'go to countertop 1',
      text: 'You arrive at countertop 1. On the countertop 1, you see a mug 1, and a pan 2.',
    },
    { command: 'take mug 1 from countertop 1', text: 'You pick up the mug 1 from the countertop 1.' },
    { command: 'go to cabinet 1', text: 'You arrive at cabinet 1. The cabinet 1 is closed.' },
    {
      command: 'open cabinet 1',
      text: 'You open the cabinet 1. The cabinet 1 is open. In it, you see nothing.',
    },
    { command: 'move mug 1 to cabinet 1', text: 'You move the mug 1 to the cabinet 1.' },
  ])
  expect(home.place).toBe('cabinet 1')
  expect(home.carried).toEqual([])
  expect(Object.fromEntries(home.places)).toEqual({
    'cabinet 1': ['mug 1'],
    'countertop 1': ['pan 2'],
    'microwave 1': null,
  })
})

test('what could not be done changes nothing', () => {
  const before = [{ command: '', text: 'You see fridge 1.' }]
  const home = householdAfter([...before, { command: 'go to shelf 9', text: 'Nothing happens.' }])
  expect(home).toEqual(householdAfter(before))
})

// [HOUSEHOLD-2]
test('any text is read without an error', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ command: fc.string(), text: fc.string() })), (texts) => {
      expect(householdAfter(texts).places).toBeInstanceOf(Map)
    }),
  )
})
