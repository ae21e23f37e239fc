import { expect, test } from 'vitest'
import { householdDialect, officialDialect } from './dialect.ts'
import { createExpert } from './expert.ts'

/** The expert's commands for a script of observations. */
function commands(observations: readonly string[], dialect = householdDialect): (string | undefined)[] {
  const expert = createExpert(dialect)
  let last: string | undefined
  return observations.map((observation) => {
    expert.see(observation, last)
    last = expert.next()?.command
    return last
  })
}

/** The expert's next command after others have played: each command with its answer. */
function afterOthers(
  first: string,
  played: readonly (readonly [command: string, answer: string])[],
): string | undefined {
  const expert = createExpert(householdDialect)
  expert.see(first)
  for (const [command, answer] of played) {
    expert.next()
    expert.see(answer, command)
  }
  return expert.next()?.command
}

const home = 'You see bed 1, chest 1, cupboard 1, fridge 1, sink 1, table 1.\n'

test('it looks where the thing likely is, opens what is closed, and brings what it finds', () => {
  const given = [
    `${home}Task: put a clean plate in a chest.`,
    'On table 1: cup 1.',
    'cupboard 1 is closed.',
    'In cupboard 1: bowl 1, plate 2.',
    'You take plate 2.',
    'On sink 1: nothing.',
    'plate 2 is clean.',
    'chest 1 is closed.',
    'In chest 1: ball 1.',
  ]
  expect(commands(given)).toEqual([
    'go to table 1',
    'go to cupboard 1',
    'open cupboard 1',
    'take plate 2 from cupboard 1',
    'go to sink 1',
    'clean plate 2 with sink 1',
    'go to chest 1',
    'open chest 1',
    'put plate 2 at chest 1',
  ])
})

test('it says before each command what is asked for and how far it is', () => {
  const expert = createExpert(householdDialect)
  const thoughts: (string | undefined)[] = []
  let command: string | undefined
  for (const observation of [
    `${home}Task: put a clean plate in a chest.`,
    'On table 1: plate 2.',
    'You take plate 2.',
    'On sink 1: nothing.',
    'plate 2 is clean.',
  ]) {
    expert.see(observation, command)
    const next = expert.next()
    command = next?.command
    thoughts.push(next?.thought)
  }
  expect(thoughts).toEqual([
    'clean plate to chest: no plate',
    'clean plate to chest: plate 2 at table 1',
    'clean plate to chest: have plate 2',
    'clean plate to chest: have plate 2',
    'clean plate to chest: ready plate 2',
  ])
})

test('it remembers what it saw on the way', () => {
  const given = [
    `${home}Task: put two cups on one bed.`,
    'On table 1: cup 1, cup 2.',
    'You take cup 1.',
    'On bed 1: nothing.',
    'You put cup 1 at bed 1.',
    'On table 1: cup 2.',
    'You take cup 2.',
    'On bed 1: cup 1.',
  ]
  expect(commands(given)).toEqual([
    'go to table 1',
    'take cup 1 from table 1',
    'go to bed 1',
    'put cup 1 at bed 1',
    'go to table 1',
    'take cup 2 from table 1',
    'go to bed 1',
    'put cup 2 at bed 1',
  ])
})

test('under a lamp it holds the thing and switches the lamp on', () => {
  const given = [
    'You see bed 1, desk 1, shelf 1.\nTask: look at a book under a lamp.',
    'On shelf 1: book 1.',
    'You take book 1.',
    'On desk 1: lamp 1.',
  ]
  expect(commands(given)).toEqual(['go to shelf 1', 'take book 1 from shelf 1', 'go to desk 1', 'use lamp 1'])
})

test('the same observations give the same commands', () => {
  const given = [`${home}Task: put a ball on a bed.`, 'chest 1 is closed.', 'In chest 1: nothing.']
  expect(commands(given)).toEqual(commands(given))
})

test('it gives up where it sees no way on', () => {
  expect(commands(['Good morning.'])).toEqual([undefined])
  expect(
    commands([`${home}Task: put a ball on a bed.`, 'Nothing happens.', 'Nothing happens.'])[2],
  ).toBeUndefined()
  expect(commands(['You see bed 1.\nTask: put a hot bun on a bed.', 'On bed 1: nothing.'])[1]).toBeUndefined()
})

test.each([
  [
    'goes back to the thing that others went past',
    'go to table 1',
    [
      ['go to table 1', 'On table 1: plate 2.'],
      ['go to bed 1', 'On bed 1: nothing.'],
    ],
  ],
  [
    'puts an unwanted thing down at its present place',
    'put cup 1 at table 1',
    [
      ['go to table 1', 'On table 1: cup 1, plate 2.'],
      ['take cup 1 from table 1', 'You take cup 1.'],
    ],
  ],
  [
    'opens a place for it that others closed',
    'open cupboard 1',
    [
      ['go to cupboard 1', 'cupboard 1 is closed.'],
      ['open cupboard 1', 'In cupboard 1: cup 1, plate 2.'],
      ['close cupboard 1', 'You close cupboard 1.'],
    ],
  ],
  [
    'does not treat again what others have treated',
    'go to chest 1',
    [
      ['go to table 1', 'On table 1: plate 2.'],
      ['take plate 2 from table 1', 'You take plate 2.'],
      ['go to sink 1', 'On sink 1: nothing.'],
      ['clean plate 2 with sink 1', 'plate 2 is clean.'],
    ],
  ],
  [
    'learns nothing from a command of others that failed',
    'take plate 2 from table 1',
    [
      ['go to table 1', 'On table 1: plate 2.'],
      ['take cup 1 from table 1', 'Nothing happens.'],
    ],
  ],
] as const)('it %s', (_, command, played) => {
  expect(afterOthers(`${home}Task: put a clean plate in a chest.`, played)).toBe(command)
})

test('what is not asked for and cannot be put down here is put down elsewhere', () => {
  const expert = createExpert(householdDialect)
  expert.see('You see bed 1, sink 1.\nTask: put a ball on a bed.')
  expert.see('On sink 1: cup 1.', 'go to sink 1')
  expert.see('You take cup 1.', 'take cup 1 from sink 1')
  expect(expert.next()?.command).toBe('put cup 1 at sink 1')
  expert.see('Nothing happens.', 'put cup 1 at sink 1')
  expect(expert.next()?.command).toBe('go to bed 1')
})

test('a thing that cannot be taken is left alone from then on', () => {
  const given = [
    'You see bed 1, sofa 1, table 1.\nTask: put a ball on a table.',
    'On bed 1: ball 1.',
    'Nothing happens.',
  ]
  expect(commands(given)).toEqual(['go to bed 1', 'take ball 1 from bed 1', 'go to sofa 1'])
})

test('a place that it cannot go to is at its present spot, and is examined from there', () => {
  const given = [
    'You see drawer 2, drawer 1, sofa 1.\nTask: put a key on a sofa.',
    'drawer 2 is closed.',
    'In drawer 2: nothing.',
    'Nothing happens.',
    'drawer 1 is closed.',
    'In drawer 1: key 1.',
  ]
  expect(commands(given).slice(-4)).toEqual([
    'go to drawer 1',
    'examine drawer 1',
    'open drawer 1',
    'take key 1 from drawer 1',
  ])
})

test.each([
  ['put some mug on desk.', { kind: 'place', thing: 'mug', place: 'desk', count: 1 }],
  ['put a mug in desk.', { kind: 'place', thing: 'mug', place: 'desk', count: 1 }],
  ['put a clean mug in desk.', { kind: 'place', thing: 'mug', place: 'desk', count: 1, treatment: 'clean' }],
  [
    'heat some mug and put it in desk.',
    { kind: 'place', thing: 'mug', place: 'desk', count: 1, treatment: 'heat' },
  ],
  ['put a cool mug in desk.', { kind: 'place', thing: 'mug', place: 'desk', count: 1, treatment: 'cool' }],
  ['put two mug in desk.', { kind: 'place', thing: 'mug', place: 'desk', count: 2 }],
  ['find two mug and put them in desk.', { kind: 'place', thing: 'mug', place: 'desk', count: 2 }],
  ['look at mug under the desklamp.', { kind: 'light', thing: 'mug', lamp: 'desklamp' }],
  ['examine the mug with the desklamp.', { kind: 'light', thing: 'mug', lamp: 'desklamp' }],
])('it reads official tasks: %s', (text, reading) => {
  expect(officialDialect.readTask(`Your task is to: ${text}`)).toEqual(reading)
})

test('one that does not know homes looks anywhere first, in another order for another errand', () => {
  const firsts = (search: 'likely' | 'any') =>
    Array.from({ length: 40 }, (_, cup) => {
      const expert = createExpert(householdDialect, search)
      expert.see(`${home}Task: put a cup in a chest.${' '.repeat(cup)}`)
      return expert.next()?.command
    })
  expect(new Set(firsts('likely'))).toEqual(new Set(['go to table 1']))
  expect(new Set(firsts('any')).size).toBe(6)
  expect(firsts('any')).toEqual(firsts('any'))
})
