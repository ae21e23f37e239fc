import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drGrpo } from './dr-grpo.ts'
import { grpo } from './grpo.ts'
import { reinforcePp } from './reinforce-pp.ts'
import { rloo } from './rloo.ts'
import { comparedSteps, discountedReturns, type SteppedEpisode, stepAdvantages } from './step-groups.ts'

/** An episode that passes through states, one letter each, and is paid at its end. */
function through(states: string, paid: number, keepsPay = true): SteppedEpisode {
  const steps = [...states].map((state, step) => ({
    state: state === '?' ? undefined : state,
    paid: step === states.length - 1 ? paid : 0,
  }))
  return { keepsPay, steps }
}

describe('step groups', () => {
  it('a reward counts less the longer ago a step was', () => {
    // 0 + 0.5·(0 + 0.5·1) = 0.25; with a payment on the way 0.2 + 0.5·(0 + 0.5·1) = 0.45
    expect(discountedReturns([0, 0, 1], 0.5)).toEqual([0.25, 0.5, 1])
    expect(discountedReturns([0.2, 0, 1], 0.5)).toEqual([0.45, 0.5, 1])
    expect(discountedReturns([], 0.5)).toEqual([])
  })

  it('steps in one state are compared by their returns, the others are not', () => {
    // γ = 1/2. The first wins from b at once; the second takes c on the way and is in b twice: returns 1, then 1/4 and 1.
    const group = [through('ab', 1), through('abcb', 1), through('ad', 0)]
    const found = stepAdvantages(group, { discount: 0.5 }, drGrpo)
    // State a: returns 1/2, 1/8, 0, mean 5/24. State b: 1, 1/4, 1, mean 3/4.
    const expected = [
      [1 / 2 - 5 / 24, 1 / 4],
      [1 / 8 - 5 / 24, -1 / 2, 0, 1 / 4],
      [-5 / 24, 0],
    ]
    for (const [episode, advantages] of expected.entries())
      for (const [step, advantage] of advantages.entries())
        expect(found[episode]?.[step]).toBeCloseTo(advantage, 12)
    expect(comparedSteps(group.map(({ steps }) => ({ turns: steps })))).toBe(6) // three times a, three times b
  })

  it('the algorithm is that of episodes: with the deviation, two returns give ± 0.7071', () => {
    const [[first = 0] = [], [second = 0] = []] = stepAdvantages(
      [through('a', 1), through('a', 0)],
      { discount: 1 },
      grpo,
    )
    expect(first).toBeCloseTo(Math.SQRT1_2, 5)
    expect(second).toBeCloseTo(-Math.SQRT1_2, 5)
  })

  // [STEP-GROUPS-3]
  it('what an episode was paid that does not keep it is lost', () => {
    const group = [through('a', 1, false), through('a', 0, false), through('a', 0)]
    expect(stepAdvantages(group, { discount: 1 }, grpo).flat()).toEqual([0, 0, 0])
  })

  const episode = fc
    .record({
      states: fc.string({ unit: fc.constantFrom('a', 'b', 'c', '?'), minLength: 1, maxLength: 8 }),
      paid: fc.constantFrom(0, 0.5, 1),
      keepsPay: fc.boolean(),
    })
    .map(({ states, paid, keepsPay }) => through(states, paid, keepsPay))

  // [STEP-GROUPS-1] [STEP-GROUPS-2]
  it('the steps of a state sum to 0 in the order of their returns, and a step that is alone gets 0', () => {
    fc.assert(
      fc.property(
        fc.array(episode, { minLength: 2, maxLength: 6 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.constantFrom(grpo, drGrpo, rloo, reinforcePp),
        (group, discount, algorithm) => {
          const found = stepAdvantages(group, { discount }, algorithm)
          expect(found.map(({ length }) => length)).toEqual(group.map(({ steps }) => steps.length))
          const members = group.flatMap(({ keepsPay, steps }, index) => {
            const returns = discountedReturns(
              steps.map(({ paid }) => (keepsPay ? paid : 0)),
              discount,
            )
            return steps.map(({ state }, step) => ({
              state,
              gain: returns[step] ?? 0,
              advantage: found[index]?.[step] ?? 0,
            }))
          })
          for (const [state, own] of Map.groupBy(members, (member) => member.state)) {
            if (state === undefined || own.length < 2) {
              for (const { advantage } of own) expect(advantage).toBe(0)
              continue
            }
            expect(own.reduce((sum, { advantage }) => sum + advantage, 0)).toBeCloseTo(0, 6)
            for (const one of own)
              for (const other of own)
                if (one.gain > other.gain) expect(one.advantage).toBeGreaterThanOrEqual(other.advantage)
          }
        },
      ),
    )
  })
})
