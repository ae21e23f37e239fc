import { describe, expect, it } from 'vitest'
import { normalQuantile, normalTail } from './normal.ts'

describe('normalQuantile', () => {
  it('normalQuantile() agrees with published tables', () => {
    for (const [p, z] of [
      [0.5, 0],
      [0.8, 0.8416212336],
      [0.95, 1.644853627],
      [0.975, 1.959963985],
      [0.99, 2.326347874],
      [0.999, 3.090232306],
    ] as const)
      expect(normalQuantile(p)).toBeCloseTo(z, 7)
  })

  it('quantiles are antisymmetric around one half and rise with the probability', () => {
    let before = Number.NEGATIVE_INFINITY
    for (let p = 0.001; p < 1; p += 0.001) {
      const z = normalQuantile(p)
      expect(z).toBeGreaterThan(before)
      expect(z).toBeCloseTo(-normalQuantile(1 - p), 6)
      before = z
    }
  })

  it('normalQuantile() refuses what is no probability between 0 and 1', () => {
    for (const p of [0, 1, -1, Number.NaN]) expect(() => normalQuantile(p)).toThrow(RangeError)
  })
})

describe('normalTail', () => {
  it('agrees with published tables, far out too', () => {
    // M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, tables 26.1 and 26.2
    for (const [z, tail] of [
      [0, 0.5],
      [1, 0.15865525393],
      [2, 0.02275013195],
      [3, 1.3498980316e-3],
      [4, 3.1671241833e-5],
      [6, 9.8658764504e-10],
      [10, 7.6198530242e-24],
    ] as const) {
      expect(normalTail(z) / tail).toBeCloseTo(1, 9)
      expect(normalTail(-z)).toBeCloseTo(1 - tail, 10)
    }
  })
})
