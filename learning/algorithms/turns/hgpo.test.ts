import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  comparedGroups,
  expectNear,
  perTurn,
  plainReturn,
  plainScore,
  through,
} from '../../../test/support/compared-groups.ts'
import type { ComparedGroup } from '../algorithm.ts'
import { hgpo } from './hgpo.ts'

/** Each turn beside all turns of its group, level by level. */
function plain({ episodes }: ComparedGroup, discount: number): number[] {
  const turns = episodes.flatMap(({ turns, keepsPay }, sample) =>
    turns.map((_, at) => {
      const paid = turns.map(({ reward }) => (keepsPay ? reward : 0))
      const before = turns.slice(0, at + 1).map(({ state }) => state)
      return { sample, history: before.reverse(), gain: plainReturn(paid, at, discount) }
    }),
  )
  const rewards = episodes.map(({ reward }) => reward)
  const scores = episodes.map(({ reward }) => plainScore(reward, rewards))
  return turns.map(({ sample, history, gain }) => {
    const levels = [scores[sample] ?? 0]
    for (const length of [1, 2, 3]) {
      const last = history.slice(0, length)
      const alike = turns.filter(
        (other) =>
          last.length === length &&
          last.every((state, back) => state !== undefined && other.history[back] === state),
      )
      const gains = alike.map((other) => other.gain)
      levels.push(alike.length < 2 ? 0 : plainScore(gain, gains))
    }
    if (history[0] === undefined) return levels[0] ?? 0
    const weights = levels.map((level, k) => (Math.abs(level) > 1e-9 ? k + 1 : 0))
    const whole = weights.reduce((sum, weight) => sum + weight, 0)
    return whole === 0 ? 0 : levels.reduce((sum, level, k) => sum + level * (weights[k] ?? 0), 0) / whole
  })
}

it('the deeper two turns agree in what led to them, the more their comparison counts', () => {
  // As in the header: all three levels of the turns in b, and the first two where the first states differ.
  const groups = ['ab', 'db'].map((other) => ({
    ...{ task: 'db', episodes: [through('ab', 1), through(other, 0)] },
  }))
  for (const [index, found] of hgpo.advantagesOf(groups, { discount: 1 }).entries())
    for (const [sample, turns] of perTurn(groups[index] as ComparedGroup, found).entries())
      for (const advantage of turns)
        expect(advantage).toBeCloseTo(sample === 0 ? Math.SQRT1_2 : -Math.SQRT1_2, 5)
  // Three are won and one is lost: A₀ is 1/2 or −3/2, and so is A₁ in b. One winner was in a before, as the lost one: A₂ = 0.7071.
  const group = {
    task: 'db',
    episodes: [through('ab', 1), through('cb', 1), through('cb', 1), through('ab', 0)],
  }
  const [found = []] = hgpo.advantagesOf([group], { discount: 1 })
  // (1·1/2 + 2·1/2 + 3·0.7071)/6 = 0.60355
  expect(perTurn(group, found)[0]?.[1]).toBeCloseTo(0.60355, 4)
})

it('is what each turn beside all others gives, in random groups', () => {
  fc.assert(
    fc.property(comparedGroups, fc.constantFrom(0.5, 0.95, 1), (group, discount) => {
      const [found = []] = hgpo.advantagesOf([group], { discount })
      expectNear(perTurn(group, found).flat(), plain(group, discount))
    }),
    { numRuns: 500 },
  )
})
