/** Custom losses, and several losses in one batch. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uniforms } from '../../../identity/identity.ts'
import { type TokenObjective, tokenLoss } from '../../../learning/loss/objective.ts'
import { weightSpecs } from '../../transformer/architecture.ts'
import type { PlainWeights } from '../../transformer/plain-decoder.testing.ts'
import { PolicyGraphs } from '../graphs/policy-graphs.ts'
import type { ObjectiveSettings } from '../trainer.ts'
import { checkOffer, lossesOf } from './losses.ts'
import {
  type Case,
  caseOf,
  directionalError,
  graphGradient,
  plainLogprobs,
  policy,
  tied,
} from './plain-objective.testing.ts'

const graphs = new PolicyGraphs(1)
const objective: ObjectiveSettings = { ...policy, klCoefficient: 0, entropyCoefficient: 0 }
let folder: string
let given: Case

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-losses-'))
  given = caseOf(tied)
})
afterAll(() => {
  graphs.release()
  rmSync(folder, { recursive: true, force: true })
})

/** Writes a module with a loss. */
function moduleWith(name: string, body: string): { name: string; module: string } {
  const module = join(folder, `${name}.ts`)
  writeFileSync(
    module,
    `import { type Algorithm, algorithms } from 'perdure'
const lossOf = (token, { clipLow, clipHigh, dualClip }) => { ${body} }
const loss = { lossesOf: (tokens, settings) => tokens.map((token) => lossOf(token, settings)) }
export const own: Algorithm = { ...algorithms.grpo, name: '${name}', loss }\n`,
  )
  return { name, module }
}

/** Smooth in the ratio: L = −A · tanh(log r), in the place of a clip. */
const gate = `const x = token.logprob - token.behaviourLogprob
  return { loss: -token.advantage * Math.tanh(x), derivative: -token.advantage * (1 - Math.tanh(x) ** 2) }`

/** Loss of the batch by a rule of a token's logprob. */
function meanOf(weights: PlainWeights, lossOf: (logprob: number, source: number) => number): number {
  const found = Object.entries(plainLogprobs(tied, weights, given.batch, objective.temperature))
  return found.reduce((sum, [at, { logprob }]) => sum + lossOf(logprob, Number(at)), 0) / found.length
}

async function expectGradient(
  of: Case,
  settings: ObjectiveSettings,
  objectiveOf: (weights: PlainWeights) => number,
): Promise<void> {
  const { gradients, statistics } = await graphGradient(graphs, of, settings)
  expect(statistics.loss).toBeCloseTo(objectiveOf(of.plain), 4)
  const next = uniforms(17)
  for (const { name } of weightSpecs(tied)) {
    const gradient = gradients.get(name) as Float32Array
    expect(directionalError(name, gradient, of.plain, { next, objectiveOf }), name).toBeLessThan(1e-4)
  }
}

const gated = (logprob: number, i: number): number =>
  -(given.batch.advantages[i] as number) * Math.tanh(logprob - (given.batch.behaviourLogprobs[i] as number))
const clipped = (logprob: number, i: number, rules: TokenObjective = objective): number => {
  const [behaviourLogprob, advantage] = [given.batch.behaviourLogprobs[i], given.batch.advantages[i]] as [
    number,
    number,
  ]
  return tokenLoss({ logprob, behaviourLogprob, advantage }, rules).loss
}

describe('a loss of a module', () => {
  // [SURROGATE-1]
  test('has its gradient, within 1e-4 of finite differences in every weight', async () => {
    const loss = moduleWith('gated', gate)
    await expectGradient(given, { ...objective, loss }, (weights) => meanOf(weights, gated))
  })

  // [SURROGATE-2]
  test('is that of the tokens that name it, beside another loss in the same batch', async () => {
    const { offsets, lossMask } = given.batch
    const isGated = (i: number) => i < (offsets[2] as number)
    const of = {
      ...given,
      batch: {
        ...given.batch,
        losses: lossMask.map((counts, i) => (counts === 1 && isGated(i) ? 1 : 0)),
      },
    }
    const losses = ['clipped', moduleWith('beside', gate)] as const
    await expectGradient(of, { ...objective, losses }, (weights) =>
      meanOf(weights, (logprob, i) => (isGated(i) ? gated(logprob, i) : clipped(logprob, i))),
    )
  })

  test('written as PPO gives the gradient of the graph that has PPO in itself', async () => {
    const loss = moduleWith(
      'ppo',
      `const r = Math.exp(token.logprob - token.proximalLogprob)
      const [free, kept] = [-token.advantage * r, -token.advantage * Math.min(Math.max(r, 1 - clipLow), 1 + clipHigh)]
      const isClipped = kept > free || (token.advantage < 0 && -dualClip * token.advantage < free)
      return { loss: Math.max(free, kept), derivative: isClipped ? 0 : free, clipped: isClipped }`,
    )
    const [own, graph] = [
      await graphGradient(graphs, given, { ...objective, loss }),
      await graphGradient(graphs, given, objective),
    ]
    expect(own.statistics.clipFraction).toBe(graph.statistics.clipFraction)
    for (const [name, gradient] of graph.gradients) {
      const other = own.gradients.get(name) as Float32Array
      const difference = Math.hypot(...gradient.map((value, i) => value - (other[i] as number)))
      expect(difference / Math.hypot(...gradient), name).toBeLessThan(1e-5)
    }
  })

  // [LOSSES-1]
  test.each([
    [
      'throws',
      'throw new Error("no such table")',
      /the algorithm "throws" of .*throws\.ts fails: no such table/,
    ],
    ['lies', 'return { loss: 0 / 0, derivative: 1 }', /the loss NaN .*expected finite numbers/],
    ['endless', 'return { loss: 0, derivative: 1 / 0 }', /derivative Infinity/],
    ['silent', '', /the loss undefined/],
  ])('that %s ends the update by name, and no retry would help', async (name, body, message) => {
    const loss = moduleWith(name, body)
    await expect(graphGradient(graphs, given, { ...objective, loss })).rejects.toMatchObject({
      name: 'ExternalFault',
      kind: 'bad_result',
      permanent: true,
      message: expect.stringMatching(message),
    })
  })

  test('that is not there, or in no module, is named', async () => {
    const none = join(folder, 'none.ts')
    writeFileSync(none, 'export const half = 0.5\n')
    for (const [module, message] of [
      [join(folder, 'nowhere.ts'), /nowhere\.ts does not exist/],
      [none, /none\.ts exports no algorithm: write one `export const algorithm: Algorithm = …`/],
    ] as const)
      await expect(lossesOf({ loss: { name: 'x', module } }, {})).rejects.toThrow(message)
  })
})

// [LOSSES-2]
test('a batch and an objective that disagree about the losses are refused', async () => {
  const losses = ['clipped', 'gspo'] as const
  await expect(lossesOf({ losses }, {})).rejects.toMatchObject({ kind: 'bad_batch' })
  await expect(lossesOf({ losses }, { losses: Uint8Array.from([0, 2]) })).rejects.toThrow(
    /a token of number 2/,
  )
  await expect(lossesOf({}, { losses: Uint8Array.from([0, 1]) })).rejects.toMatchObject({ kind: 'bad_batch' })
})

test('a trainer that offers no such loss is refused before anything is trained', async () => {
  const own = { name: 'gated', module: '/my/gated.ts' }
  const offering = (...names: readonly string[]) => ({ losses: () => Promise.resolve(names) })
  await expect(checkOffer([own], offering('clipped'))).rejects.toMatchObject({
    kind: 'unsupported',
    permanent: true,
    message: expect.stringMatching(/does not offer the loss "gated" of \/my\/gated\.ts: it lists clipped/),
  })
  await expect(checkOffer(['clipped', 'gspo'], offering())).rejects.toThrow(
    /"clipped" beside others in one batch/,
  )
  await checkOffer([own], offering('gated'))
  await checkOffer(['gspo'], offering())
  await checkOffer([own, 'gspo'], {})
})
