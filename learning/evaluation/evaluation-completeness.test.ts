import { describe, expect, it } from 'vitest'
import { episodeCountWords, isComplete } from './evaluation-completeness.ts'

describe('a result', () => {
  it('is complete from 95 % of its planned episodes on [COMPLETE-1]', () => {
    // 0.95 · 40 = 38, 0.95 · 180 = 171, 0.95 · 10 = 9.5
    expect([37, 38, 40].map((n) => isComplete({ n, planned: 40 }))).toEqual([false, true, true])
    expect([170, 171].map((n) => isComplete({ n, planned: 180 }))).toEqual([false, true])
    expect([9, 10].map((n) => isComplete({ n, planned: 10 }))).toEqual([false, true])
    expect(isComplete({ n: 0, planned: 1 })).toBe(false)
  })

  it('is counted with the episodes that it lost', () => {
    expect(episodeCountWords({ n: 5, planned: 40 })).toBe('5 of 40, 35 lost')
    expect(episodeCountWords({ n: 40, planned: 40 })).toBe('40')
  })
})
