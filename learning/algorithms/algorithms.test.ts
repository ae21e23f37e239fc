import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { algorithms, chosenLosses, lossOfTask } from './algorithms.ts'
import { drGrpo } from './dr-grpo.ts'
import { groupAdvantages } from './group-rewards.ts'
import { grpo } from './grpo.ts'
import { reinforcePp } from './reinforce-pp.ts'
import { rloo } from './rloo.ts'

const { imitation: _, distillation: __, ...comparing } = algorithms
const all = Object.values(comparing)
const reward = fc.double({ min: -10, max: 10, noNaN: true, noDefaultInfinity: true })
const rewards = fc.array(reward, { minLength: 2, maxLength: 16 })

describe('groupAdvantages', () => {
  it('groupAdvantages() of grpo divides by the unbiased deviation', () => {
    // mean 1/2, deviations ±1/2, unbiased variance (1/4 + 1/4)/1 = 1/2, 0.5/0.70711 = 0.70711
    const [low, high] = groupAdvantages([0, 1], grpo)
    expect(low).toBeCloseTo(-Math.SQRT1_2, 4)
    expect(high).toBeCloseTo(Math.SQRT1_2, 4)
  })

  it('groupAdvantages() of grpo gives one winner of eight 2.4749 and each loser −0.3536', () => {
    // mean 1/8; squares (7/8)² + 7·(1/8)² = 0.875; variance 0.875/7 = 0.125, deviation 0.353553
    // 0.875/0.353553 = 2.474874, −0.125/0.353553 = −0.353553
    const advantages = groupAdvantages([1, 0, 0, 0, 0, 0, 0, 0], grpo)
    expect(advantages[0]).toBeCloseTo(2.47487, 4)
    for (const loser of advantages.slice(1)) expect(loser).toBeCloseTo(-0.35355, 4)
  })

  it('groupAdvantages() of dr_grpo and reinforce_pp only subtracts the mean', () => {
    // mean (0 + 0.5 + 1)/3 = 0.5
    expect(groupAdvantages([0, 0.5, 1], drGrpo)).toEqual([-0.5, 0, 0.5])
    expect(groupAdvantages([0, 0.5, 1], reinforcePp)).toEqual([-0.5, 0, 0.5])
  })

  it('groupAdvantages() of rloo subtracts the mean of the others', () => {
    // 0 − (0.5 + 1)/2 = −0.75; 0.5 − (0 + 1)/2 = 0; 1 − (0 + 0.5)/2 = 0.75
    expect(groupAdvantages([0, 0.5, 1], rloo)).toEqual([-0.75, 0, 0.75])
  })

  // [GROUP-REWARDS-1]
  it('a group with equal rewards gets advantages of exactly zero', () => {
    fc.assert(
      fc.property(reward, fc.integer({ min: 2, max: 16 }), (value, size) => {
        for (const algorithm of all)
          expect(groupAdvantages(new Array(size).fill(value), algorithm)).toEqual(new Array(size).fill(0))
      }),
    )
  })

  // [GROUP-REWARDS-2]
  it("the group's advantages sum to zero and keep the order of the rewards", () => {
    fc.assert(
      fc.property(rewards, fc.constantFrom(...all), (group, algorithm) => {
        const advantages = groupAdvantages(group, algorithm)
        expect(Math.abs(advantages.reduce((sum, value) => sum + value, 0))).toBeLessThan(1e-6)
        for (const [i, a] of group.entries())
          for (const [j, b] of group.entries())
            if (a < b) expect(advantages[i]).toBeLessThanOrEqual(advantages[j] ?? Number.NaN)
      }),
    )
  })

  it('groupAdvantages() refuses fewer than two rewards and rewards that are not finite', () => {
    expect(() => groupAdvantages([1], grpo)).toThrow(RangeError)
    expect(() => groupAdvantages([1, Number.NaN], grpo)).toThrow('NaN')
    expect(() => groupAdvantages([1, Number.POSITIVE_INFINITY], rloo)).toThrow(RangeError)
  })
})

const tasks = [{ task: 'db' }, { task: 'os', objective: 'gspo' }, { task: 'kg', objective: '/my/own.ts' }]

it('a task has its own objective, or that of the run, each listed once', () => {
  const choice = { learning: { algorithm: 'cispo' }, tasks: [...tasks, { task: 'webshop' }] }
  expect(chosenLosses(choice)).toEqual(['cispo', 'gspo', '/my/own.ts'])
  expect(lossOfTask(choice, 'os')).toBe('gspo')
  expect(lossOfTask(choice, 'webshop')).toBe('cispo')
  // Algorithms that compare differently may have one loss.
  const alike = [{ task: 'db', objective: 'rloo' }, { task: 'os' }]
  expect(chosenLosses({ learning: { algorithm: 'dr_grpo' }, tasks: alike })).toEqual(['clipped'])
})

it('imitation alone has no policy loss, for any task', () => {
  expect(chosenLosses({ learning: { algorithm: 'imitation' }, tasks })).toEqual(['clipped'])
})
