import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RunCurves } from '../../../contract/curves.ts'
import { drawnMeasures } from '../../../contract/drawn-measures.ts'
import type { EvaluationRow } from '../../../contract/evaluation.ts'
import { mergedAxis, suiteCurves, suitesOf } from './suite-curves.ts'

const [bySuccess = expect.fail('no success')] = drawnMeasures([])

/** A run of two updates, which took so many tokens each. */
function runOf(run: string, tokens: number, evaluations: readonly EvaluationRow[]) {
  const curves = {
    run,
    step: [1, 2],
    version: [1, 2],
    time: [1000, 2000],
    tokensSoFar: [tokens, 2 * tokens],
    turnsSoFar: [4, 8],
    created: 0,
  } as unknown as RunCurves
  return { curves, evaluations, colour: `colour of ${run}` }
}

function evaluated(suite: string, step: number, value?: number): EvaluationRow {
  const row = { id: `${suite}-${step}-${value}`, suite, version: step, step, seed: 1, created: 0 }
  if (value === undefined) return row
  const success = { value, low: value - 0.1, high: value + 0.1 }
  return {
    ...row,
    found: { success, n: 100, planned: 100, lost: {}, instances: 100, means: [], passAt: {} },
  }
}

// [SUITE-CURVES-1]
test('evaluations of several runs stand where the updates of each do', () => {
  const runs = [
    runOf('one', 10, [evaluated('few', 0, 0.2), evaluated('few', 1, 0.3), evaluated('few', 2)]),
    runOf('unmeasured', 10, []),
    runOf('two', 15, [evaluated('few', 0, 0.2), evaluated('many', 1, 0.9), evaluated('few', 1, 0.5)]),
  ]
  expect(suitesOf(runs)).toEqual(['few', 'many'])
  const found = suiteCurves('few', runs, 'tokens', bySuccess)
  // The first update of one run comes after 10 tokens, that of the other after 15.
  expect(found?.axis.values).toEqual([0, 10, 15])
  expect(found?.series.map(({ label, values, colour }) => [label, values, colour])).toEqual([
    ['one', [0.2, 0.3, null], 'colour of one'],
    ['two', [0.2, null, 0.5], 'colour of two'],
  ])
  expect(suiteCurves('none', runs, 'tokens', bySuccess)).toBeUndefined()
})

// [MERGED-1]
test('every value keeps the place that its own axis gave it', () => {
  const axis = fc.uniqueArray(fc.integer({ min: 0, max: 50 })).map((values) => values.sort((a, b) => a - b))
  fc.assert(
    fc.property(fc.array(axis, { maxLength: 4 }), (axes) => {
      const merged = mergedAxis(axes)
      expect(merged.values).toEqual([...new Set(axes.flat())].sort((a, b) => a - b))
      axes.forEach((values, curve) => {
        const spread = merged.spread(
          curve,
          values.map((value) => value * 2),
        )
        const expected = merged.values.map((value) => (values.includes(value) ? value * 2 : null))
        expect(spread).toEqual(expected)
      })
    }),
  )
})
