import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RunCurves } from '../../contract/curves.ts'
import { joined } from './joined.ts'

/** Curves of the updates `from` to before `to`, each figure from its step; one task came with update 5. */
function curvesOf(from: number, to: number): RunCurves {
  const steps = Array.from({ length: to - from }, (_, at) => from + at)
  const late = steps.map((step) => (step >= 5 ? step / 100 : null))
  const ratios = { kl: steps, effective_share: late, tokens: steps, ratios: steps.map((step) => [step, 1]) }
  const tasks = { first: { success: steps }, ...(to > 5 ? { second: { success: late } } : {}) }
  return {
    run: 'demo',
    every: 1,
    step: steps,
    version: steps,
    time: steps,
    tokensSoFar: steps,
    turnsSoFar: steps,
    figures: { entropy: steps, kl: late } as unknown as RunCurves['figures'],
    tasks: tasks as unknown as RunCurves['tasks'],
    metrics: to > 5 ? { second: { score: late, 'score/low': late } } : {},
    units: {},
    ratioEdges: [1],
    fresh: ratios,
    stale: ratios,
    stalenessBound: steps,
    refused: [],
    rollbacks: [],
    created: 0,
  }
}

// [CURVEPARTS-1]
test('curves in two parts are the curves as a whole', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }), (one, other) => {
      const [middle, end] = [Math.min(one, other), Math.max(one, other)]
      expect(joined(curvesOf(1, middle), curvesOf(middle, end))).toEqual(curvesOf(1, end))
    }),
  )
})
