import { describe, expect, it } from 'vitest'
import { seedDifferences } from './crossed-bootstrap.ts'
import { differencesByKind } from './kinds.ts'

const row = (...values: readonly number[]) => new Map(values.map((value, at) => [`i${at}`, value]))
const kinds = new Map([
  ['i0', 'heat'],
  ['i1', 'heat'],
  ['i2', 'cool'],
])

describe('differences by kind', () => {
  // [KINDS-1]
  it('are means over the instances of each kind, and add up to those of all', () => {
    const differences = [[row(1, 0, -1), row(1, 1, 0)]]
    const found = differencesByKind(differences, [kinds])
    // cool: −1 and 0; heat: 0.5 and 1. Student's quantile for one degree of freedom is 12.706.
    expect(found).toEqual([
      {
        kind: 'cool',
        instances: 1,
        difference: -0.5,
        low: expect.closeTo(-6.853, 3),
        high: expect.closeTo(5.853, 3),
      },
      {
        kind: 'heat',
        instances: 2,
        difference: 0.75,
        low: expect.closeTo(-2.4265, 3),
        high: expect.closeTo(3.9265, 3),
      },
    ])
    const [first = 0, second = 0] = seedDifferences(differences)
    expect((1 * -0.5 + 2 * 0.75) / 3).toBeCloseTo((first + second) / 2, 12)
  })

  it('leave out a kind of which a seed has nothing, and are none where there is one kind', () => {
    const lacks = new Map([...row(1, 1, 1)].slice(0, 2))
    expect(differencesByKind([[row(1, 1, 1), lacks]], [kinds]).map(({ kind }) => kind)).toEqual(['heat'])
    expect(differencesByKind([[row(1, 1)]], [new Map([['i0', 'heat']])])).toEqual([])
  })
})
