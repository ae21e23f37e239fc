import { describe, expect, it } from 'vitest'
import { bestOf, bestVersions } from './best-version.ts'

const few = [
  { suite: 'few', version: 1, success: 0.5, n: 40, planned: 40 },
  { suite: 'few', version: 4, success: 0.5, n: 40, planned: 40 },
  { suite: 'few', version: 3, success: 0.5, n: 40, planned: 40 },
  { suite: 'few', version: 2, success: 0.25, n: 40, planned: 40 },
]

describe('the best version', () => {
  it('is the newest of equals', () => {
    expect(bestOf(few)?.version).toBe(4)
    expect(bestOf([])).toBeUndefined()
  })

  it('is never one whose evaluation is incomplete [BEST-1]', () => {
    const lucky = { suite: 'few', version: 5, success: 1, n: 5, planned: 40 }
    expect(bestOf([...few, lucky])?.version).toBe(4)
    expect(bestVersions([...few, lucky], 1)).toEqual([4])
    expect(bestOf([lucky])).toBeUndefined()
    expect(bestOf([...few, { ...lucky, n: 38 }])?.version).toBe(5)
  })

  it('is found of each suite, each version once', () => {
    const many = [
      { suite: 'many', version: 2, success: 1, n: 40, planned: 40 },
      { suite: 'many', version: 4, success: 0.75, n: 40, planned: 40 },
    ]
    expect(bestVersions([...few, ...many], 1)).toEqual([4, 2])
    expect(bestVersions([...few, ...many], 2)).toEqual([4, 3, 2])
    expect(bestVersions([...few, ...few], 2)).toEqual([4, 3])
  })
})
