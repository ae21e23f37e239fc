import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TrajectoryAction } from '../../../contract/trajectory.ts'
import { advantageTint, colouringNamed, colourings, ratioTint, tintOf } from './colouring.ts'

const batch = { file: 'b', begin: 0 }

const action = { version: 3 } as TrajectoryAction
const token = { logprob: -1, action, turn: 0, index: 0, isSampled: true }

// [COLOURING-1]
test('strength is a share for any figures', () => {
  fc.assert(
    fc.property(fc.double(), fc.double(), fc.constantFrom(...colourings), (logprob, advantage, colouring) => {
      const found = [{ ratios: [advantage], entropies: [logprob] }]
      const learnt = { update: 2, version: 2, advantage, batch, found }
      const { strength } = tintOf(colouring, { ...token, logprob }, learnt)
      expect(strength >= 0 && strength <= 1).toBe(true)
    }),
  )
})

test('a likely token is pale, an unlikely one strong', () => {
  expect(tintOf('logprob', { ...token, logprob: 0 }, undefined).strength).toBe(0)
  // −1.5 of the 3 nats that count as full.
  expect(tintOf('logprob', { ...token, logprob: -1.5 }, undefined).strength).toBe(0.5)
})

test('what no update has learnt from has no advantage to show', () => {
  expect(tintOf('advantage', token, undefined).strength).toBe(0)
  expect(advantageTint(-1)).toEqual({ colour: 'var(--lost)', strength: 0.5 })
})

test('a turn with an advantage of its own has the colour of that one', () => {
  const learnt = { update: 2, version: 2, advantage: 0.5, turns: [2, -1], batch }
  expect([0, 1].map((turn) => tintOf('advantage', { ...token, turn }, learnt))).toEqual([
    { colour: 'var(--won)', strength: 1 },
    { colour: 'var(--lost)', strength: 0.5 },
  ])
})

test('a ratio is green above 1 and red below, as strong for half as likely as for twice', () => {
  expect([ratioTint(1), ratioTint(Number.NaN)].map(({ strength }) => strength)).toEqual([0, 0])
  expect(ratioTint(1.2)).toMatchObject({ colour: 'var(--won)' })
  expect(ratioTint(1 / 1.2)).toMatchObject({ colour: 'var(--lost)' })
  expect(ratioTint(1.2).strength).toBeCloseTo(ratioTint(1 / 1.2).strength, 12)
  expect(ratioTint(2).strength).toBe(1)
})

test('tokens of a turn that two versions sampled have the colour of their own', () => {
  const spans = [
    { version: 3, tokens: 1 },
    { version: 4, tokens: 1 },
  ]
  const colourAt = (index: number) =>
    tintOf('version', { ...token, index, action: { ...action, spans } }, undefined).colour
  expect([colourAt(0), colourAt(1)]).toEqual(['var(--series-3)', 'var(--series-4)'])
})

test('a token that was read has no colour, nor has one without figures of a trainer', () => {
  for (const colouring of colourings)
    expect(tintOf(colouring, { ...token, isSampled: false }, undefined).strength).toBe(0)
  expect(tintOf('entropy', token, undefined).strength).toBe(0)
})

test('an unknown colouring is the first one that needs no update', () => {
  expect([colouringNamed(undefined), colouringNamed('x'), colouringNamed('version')]).toEqual([
    'logprob',
    'logprob',
    'version',
  ])
})
