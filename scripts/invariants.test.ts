/** Numbered invariants: what the check of them finds in planted files. */
import { expect, test } from 'vitest'
import { invariantFaults } from './invariants.ts'

const id = (number: number, word = 'SEAL') => `[${word}-${number}]`
const module = (...ids: readonly string[]) =>
  `/**\n * Seal.\n *\n${ids.map((each) => ` * - ${each} Holds.\n`).join('')} */\n`

function faultsOf(files: Readonly<Record<string, string>>): readonly string[] {
  return invariantFaults(new Map(Object.entries(files)))
}

test('an invariant that a test cites in its name or above it is well', () => {
  const cites = `test('a seal holds ${id(1)}')\n// ${id(2)}\ntest('a seal is kept')`
  expect(faultsOf({ 'a/seal.ts': module(id(1), id(2)), 'a/seal.test.ts': cites })).toEqual([])
})

// [INVARIANTS-1]
test('one that no test cites is named, and so is a citation of none', () => {
  const cites = `test('${id(1)} ${id(3)}')`
  expect(faultsOf({ 'a/seal.ts': module(id(1), id(2)), 'a/seal.test.ts': cites })).toEqual([
    `a/seal.ts: no test cites ${id(2)}`,
    `a/seal.test.ts: ${id(3)} is no invariant`,
  ])
})

// [INVARIANTS-2]
test('a word of two modules and a number that is left out are named', () => {
  const cites = `// ${id(1)} ${id(3)}`
  const faults = faultsOf({
    'a/seal.ts': module(id(1), id(3)),
    'b/lid.ts': module(id(1)),
    'a/x.test.ts': cites,
  })
  expect(faults).toEqual([`a/seal.ts: ${id(3)} follows 1`, 'b/lid.ts: SEAL belongs to a/seal.ts'])
})
