import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { GradientSum } from '../graphs/gradient-sum.ts'
import { weightFeeds } from '../graphs/graph-sessions.ts'
import { PolicyGraphs } from '../graphs/policy-graphs.ts'
import { divided } from './minibatches.ts'
import { caseOf, logRatios, plainLogprobs, policy, tied } from './plain-objective.testing.ts'
import { addFigures, noFigures, readTokenFigures, writeTokenFigures } from './token-figures.ts'
import { batchGradient } from './update.ts'

const graphs = new PolicyGraphs(1)
const folder = mkdtempSync(join(tmpdir(), 'perdure-token-figures-'))
afterAll(async () => {
  await graphs.release()
  rmSync(folder, { recursive: true, force: true })
})

describe('of an update', () => {
  const { architecture, weights, plain, batch } = caseOf(tied)
  const counted = [...batch.lossMask.keys()].filter((place) => batch.lossMask[place] === 1)

  async function figuresOf(minibatches: number) {
    const figures = noFigures(batch.tokens.length)
    const [parts = []] = divided(batch, { minibatches, passes: 1, seed: 3 })
    expect(parts).toHaveLength(minibatches)
    for (const part of parts) {
      const frozen = { architecture, feeds: weightFeeds(architecture, weights) }
      const request = { objective: { ...policy, klCoefficient: 0 }, microBatchTokens: 24 }
      const gradient = new GradientSum(architecture)
      await batchGradient(graphs, { ...frozen, gradient }, undefined, part, request, {
        onResult: (micro, result) => addFigures(figures, part, micro, result),
      })
    }
    return figures
  }

  // [TOKENFIGURES-1]
  test.each([1, 2, 3])(
    'a ratio and an entropy stand at the place of their token, in %i minibatches',
    async (minibatches) => {
      const figures = await figuresOf(minibatches)
      // Behaviour logprobs are those of the plain decoder less these; entropies its own.
      const expected = plainLogprobs(architecture, plain, batch, policy.temperature)
      for (const place of counted) {
        expect(figures.logRatios[place]).toBeCloseTo(logRatios[place % logRatios.length] as number, 4)
        expect(figures.entropies[place]).toBeCloseTo(expected[place]?.entropy as number, 4)
      }
      for (const place of batch.tokens.keys())
        if (batch.lossMask[place] === 0)
          expect([figures.logRatios[place], figures.entropies[place]]).toEqual([0, 0])
    },
  )
})

test('a file gives the figures that were written, bit for bit and in the same bytes', async () => {
  const file = join(folder, '7.tokens.safetensors')
  const figures = { logRatios: Float32Array.of(0, -0.25, 1.5), entropies: Float32Array.of(0, 0.125, 2) }
  await writeTokenFigures(file, figures)
  const bytes = readFileSync(file)
  expect(await readTokenFigures(file, 3)).toEqual(figures)
  await writeTokenFigures(file, figures)
  expect(readFileSync(file).equals(bytes)).toBe(true)
})

test('what does not fit the batch, is no such file, or is not there gives none', async () => {
  const file = join(folder, '8.tokens.safetensors')
  expect(await readTokenFigures(file, 2)).toBeUndefined()
  await writeTokenFigures(file, { logRatios: Float32Array.of(0), entropies: Float32Array.of(0) })
  expect(await readTokenFigures(file, 2)).toBeUndefined()
  await writeTokenFigures(file, {
    logRatios: Float32Array.of(0, Number.NaN),
    entropies: Float32Array.of(0, 1),
  })
  expect(await readTokenFigures(file, 2)).toBeUndefined()
  writeFileSync(file, 'not tensors')
  expect(await readTokenFigures(file, 2)).toBeUndefined()
})
