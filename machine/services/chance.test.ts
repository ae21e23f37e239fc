import { expect, it } from 'vitest'
import { type Chance, chance, withChance } from './chance.ts'

function counted(name: string): Chance {
  let drawn = 0
  return { uuid: () => `${name}-${++drawn}`, bytes: (length) => Buffer.alloc(length, 7), below: () => 0 }
}

// [CHANCE-1]
it('two pieces of work in one process draw from two sources, and so does all that they begin', async () => {
  const draw = async () => {
    const first = chance.uuid()
    await Promise.resolve()
    return [first, chance.uuid()]
  }
  const drawn = await Promise.all(['a', 'b'].map((name) => withChance(counted(name), draw)))
  expect(drawn).toEqual([
    ['a-1', 'a-2'],
    ['b-1', 'b-2'],
  ])
  expect(chance.uuid()).toMatch(/^[\da-f]{8}-/)
  expect(chance.bytes(24)).toHaveLength(24)
  expect(chance.below(1)).toBe(0)
})
