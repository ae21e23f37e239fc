import { expect, it } from 'vitest'
import { uniforms } from '../../identity/identity.ts'
import { fittedHead, valuesBy } from './value-head.ts'

it('a head that was never fitted values everything as 0, and a fitted one in proportion to its rows', () => {
  expect(valuesBy(undefined, Float32Array.of(1, 2, 3, 4), 2)).toEqual([0, 0])
  // 2·3/√1 + 0.5
  expect(valuesBy([2, 0.5], Float32Array.of(3), 1)).toEqual([6.5])
})

it('one turn moves the head by its error, shared with ten turns of staying', () => {
  // φ = [3, 1], r = 7 − 0.5·3 − 0 = 5.5: the change is φ·5.5 / (φ·φ + 10) = φ·5.5/20.
  const [weight, bias] = fittedHead([0.5, 0], Float32Array.of(3), 1, [7])
  expect(weight).toBeCloseTo(0.5 + (3 * 5.5) / 20, 12)
  expect(bias).toBeCloseTo(5.5 / 20, 12)
})

// [VALUE-HEAD-1]
it.each([3, 40])('the gradient is zero at the head fitted to %i turns', (rows) => {
  const next = uniforms(rows)
  const width = 6
  const hidden = Float32Array.from({ length: rows * width }, () => 4 * next() - 2)
  const targets = Array.from({ length: rows }, () => next())
  const before = Array.from({ length: width + 1 }, () => next() - 0.5)
  const loss = (head: readonly number[]) =>
    valuesBy(head, hidden, width).reduce(
      (sum, value, row) => sum + (value - (targets[row] ?? 0)) ** 2 / 2,
      0,
    ) + head.reduce((sum, value, at) => sum + 5 * (value - (before[at] ?? 0)) ** 2, 0)
  const fitted = fittedHead(before, hidden, width, targets)
  expect(loss(fitted)).toBeLessThan(loss(before))
  for (const at of fitted.keys()) {
    const moved = (by: number) => loss(fitted.map((value, place) => value + (place === at ? by : 0)))
    expect((moved(1e-4) - moved(-1e-4)) / 2e-4).toBeCloseTo(0, 7)
  }
})
