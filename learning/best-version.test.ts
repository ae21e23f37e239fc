import { describe, expect, it } from 'vitest'
import { bestOf, bestVersions } from './best-version.ts'

const few = [
  { suite: 'few', version: 1, success: 0.5 },
  { suite: 'few', version: 4, success: 0.5 },
  { suite: 'few', version: 3, success: 0.5 },
  { suite: 'few', version: 2, success: 0.25 },
]

describe('the best version', () => {
  it('is the newest of equals', () => {
    expect(bestOf(few)?.version).toBe(4)
    expect(bestOf([])).toBeUndefined()
  })

  it('is found of each suite, each version once', () => {
    const many = [
      { suite: 'many', version: 2, success: 1 },
      { suite: 'many', version: 4, success: 0.75 },
    ]
    expect(bestVersions([...few, ...many], 1)).toEqual([4, 2])
    expect(bestVersions([...few, ...many], 2)).toEqual([4, 3, 2])
    expect(bestVersions([...few, ...few], 2)).toEqual([4, 3])
  })
})
