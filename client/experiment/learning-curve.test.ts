import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ReportedCurve } from './experiment-report.ts'
import { learningCurve, ticks } from './learning-curve.ts'

const curve = (arm: string, ...means: readonly number[]): ReportedCurve => ({
  arm,
  suite: 'held_out',
  points: means.map((mean, at) => ({
    version: 15 * at,
    mean,
    low: mean - 0.05,
    high: mean + 0.05,
    seeds: 3,
  })),
})

/** Names of the elements in order; throws where one is not closed by its own end, or a text has a bare sign. */
function elementsOf(svg: string): readonly string[] {
  const open: string[] = []
  const names: string[] = []
  let rest = svg.trim()
  while (rest !== '') {
    const [tag = '', end, name = '', attributes = '', empty] =
      /^<(\/)?([a-z]+)((?: [a-zA-Z-]+="[^"<>]*")*)(\/)?>/.exec(rest) ?? []
    if (tag === '') {
      const [text = ''] = /^[^<>]+/.exec(rest) ?? []
      expect(text, rest.slice(0, 60)).not.toBe('')
      expect(text).not.toMatch(/&(?!amp;|lt;|gt;|quot;)/)
      rest = rest.slice(text.length)
      continue
    }
    if (end !== undefined) expect(open.pop()).toBe(name)
    else {
      names.push(name)
      expect(attributes).not.toMatch(/NaN|Infinity|undefined/)
      if (empty === undefined) open.push(name)
    }
    rest = rest.slice(tag.length)
  }
  expect(open).toEqual([])
  return names
}

describe('a learning curve', () => {
  it('has a line with its points and a band for each arm, named beside its end', () => {
    const svg = learningCurve([curve('rl', 0.2, 0.4, 0.5), curve('imitation', 0.2, 0.2, 0.2)], 'success')
    const names = elementsOf(svg)
    expect(names.filter((name) => name === 'circle')).toHaveLength(6)
    expect(svg.match(/fill-opacity/g)).toHaveLength(2)
    expect(svg).toContain('>imitation</text>')
    expect(svg).toContain('<desc>rl: 20.0 % at version 0, 50.0 % at version 30; imitation')
    // The band of the first begins at 15 % and ends at 55 %: the axis goes from 10 to 60.
    expect([...svg.matchAll(/>(\d+) %<\/text>/g)].map(([, tick]) => tick)).toEqual([
      '10',
      '20',
      '30',
      '40',
      '50',
      '60',
    ])
  })

  it('keeps names apart that end at the same height', () => {
    const svg = learningCurve(
      Array.from({ length: 9 }, (_, at) => curve(`arm-${at}`, 0.5)),
      'all alike',
    )
    const heights = [...svg.matchAll(/y="([\d.]+)">arm-/g)].map(([, y]) => Number(y))
    for (const [at, y] of heights.slice(1).entries())
      expect(y - (heights[at] ?? 0)).toBeGreaterThanOrEqual(15)
    // The ninth has a colour of one before it, and dashes.
    expect(svg).toContain('stroke-dasharray')
  })

  // [CURVE-1]
  it('is well-formed and the same each time, whatever it is called and shows', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true })
    const curves = fc.array(
      fc.record({
        arm: fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme-ascii' }),
        suite: fc.constant('held_out'),
        points: fc.array(fc.record({ version: fc.nat(500), mean: share, seeds: fc.constant(1) }), {
          minLength: 1,
          maxLength: 6,
        }),
      }),
      { minLength: 1, maxLength: 10 },
    )
    fc.assert(
      fc.property(curves, fc.string({ minLength: 1, unit: 'grapheme-ascii' }), (given, title) => {
        const svg = learningCurve(given, title)
        expect(elementsOf(svg)[0]).toBe('svg')
        expect(learningCurve(given, title)).toBe(svg)
      }),
    )
  })

  it('of nothing is refused', () => {
    expect(() => learningCurve([], 'nothing')).toThrow(RangeError)
  })
})

describe('ticks', () => {
  it('are round numbers around what is shown', () => {
    expect(ticks(0.12, 0.48, 4)).toEqual([0.1, 0.2, 0.3, 0.4, 0.5])
    expect(ticks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1])
    expect(ticks(0.5, 0.5, 5).length).toBeGreaterThanOrEqual(2)
  })
})
