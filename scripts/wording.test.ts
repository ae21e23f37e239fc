/** The wording check: which sentences it reports, and how the allowed counts fall. */
import { expect, test } from 'vitest'
import { compareCounts, countByRoom, lowerCounts, wordingFaults } from './wording.ts'

const avoided = (text: string) => wordingFaults('envs/file.ts', text).avoided.length
// A label in this file would be taken for a citation of an invariant.
const label = 'SEAL'
const unclear = (text: string) => wordingFaults('envs/file.ts', text).unclear.length

// [WORDING-1]
test.each(['Mended it', 'whoever asks', 'Nobody waits', 'it is told of it', 'waited in vain', 'is in hand'])(
  '"%s" is avoided',
  (text) => expect(avoided(text)).toBe(1),
)

test.each(['recommended', 'amend', 'told offline', 'sudo -u nobody id'])('"%s" is not avoided', (text) =>
  expect(avoided(text)).toBe(0),
)

// [WORDING-2]
test.each([
  '/** What is kept. */',
  ` * - [${label}-1] What is kept.`,
  ' * @param kept What is kept.',
  '// Of each its length.',
  '# Those that ended.',
  '"""What the model says."""',
  'x() // It ends. One that ended is removed.',
  "throw new Fault('What is no task')",
  '<p>What is kept</p>',
  '| `key` | What is kept. |',
  ' * a list, but\n   * for its end',
  '// One\n// that ended',
  'The agent is told.',
  'a module of one’s own',
  'it stands in the way',
  'built anew',
])('"%s" is unclear', (text) => expect(unclear(text)).toBe(1))

test.each([
  '# What can be configured?',
  '/** Says what is kept. */',
  'question: `What is the name of it.id?`',
  'untold',
  'but forbidden',
  'it stood',
  '(stands ?r ?l)',
])('"%s" is clear', (text) => expect(unclear(text)).toBe(0))

test('a report names the place and the room', () => {
  expect(wordingFaults('envs/db/file.ts', 'clear\n\n// What is kept.\n').unclear).toEqual([
    { room: 'envs', line: 'envs/db/file.ts:3: // What is kept. (say: a subject that is named)' },
  ])
  expect(countByRoom([...wordingFaults('index.ts', 'told').unclear])).toEqual({ '.': 1 })
})

test('a count that grew and a count that fell below the allowed one are reported', () => {
  expect(compareCounts({ a: 2, b: 1, c: 3 }, { a: 2, b: 2, d: 1 })).toEqual([
    'b: 1 unclear sentences, fewer than the 2 allowed; run: node scripts/wording.ts --write',
    'c: 3 unclear sentences, 0 allowed; list them: node scripts/wording.ts c',
    'd: 0 unclear sentences, fewer than the 1 allowed; run: node scripts/wording.ts --write',
  ])
})

test('written counts only fall', () => {
  expect(lowerCounts({ a: 1, b: 5 }, { a: 2, b: 3, c: 4 })).toEqual({ a: 1, b: 3 })
})
