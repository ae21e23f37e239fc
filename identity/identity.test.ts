import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  branchId,
  episodeId,
  evaluationId,
  firstAttemptOf,
  groupId,
  homeName,
  isBranchId,
  isFleetName,
  ownServer,
  parseEpisodeId,
  parseWorkflowId,
  runId,
  seedOf,
  seedOfWork,
  uniforms,
  withinRun,
  workflowIdOf,
  yieldsToTraining,
} from './identity.ts'

const run = runId('demo')

describe('the name of a home', () => {
  // [IDENTITY-5]
  it('is another one for a copy of the home, and the same wherever a fleet sees one store', () => {
    const original = homeName({ scope: 'f00d', place: '42' })
    expect(homeName({ scope: 'f00d', place: '42' })).toBe(original)
    expect(homeName({ scope: 'f00d', place: '43' })).not.toBe(original)
    expect(homeName({ scope: 'beef', place: '42' })).not.toBe(original)
    expect(homeName({ scope: 'f00d', fleet: 'lab' })).toMatch(/^lab-[0-9a-z]{6}$/)
    expect(homeName({ scope: 'beef', fleet: 'lab' })).not.toBe(homeName({ scope: 'f00d', fleet: 'lab' }))
  })

  it('is before what the server is given, and is taken off again', () => {
    const episode = episodeId(groupId(run, 3), 0, 1)
    expect(workflowIdOf(ownServer, episode)).toBe(episode)
    expect(parseWorkflowId(episode)).toEqual({ home: ownServer, id: episode })
    fc.assert(
      fc.property(fc.uuid(), fc.nat(), (scope, place) => {
        const home = homeName({ scope, place: String(place) })
        expect(home).toMatch(/^[0-9a-z]{6}$/)
        expect(parseWorkflowId(workflowIdOf(home, episode))).toEqual({ home, id: episode })
      }),
    )
    expect(isFleetName('lab-1')).toBe(true)
    for (const wrong of ['', 'a:b', 'a b', '-a', 'x'.repeat(33)]) expect(isFleetName(wrong)).toBe(false)
  })
})

describe('an identity', () => {
  // [IDENTITY-1]
  it('is equal for equal work and different for different work', () => {
    expect(groupId(run, 3)).toBe('demo/g3')
    expect(episodeId(groupId(run, 3), 0, 1)).toBe(episodeId(groupId(run, 3), 0, 1))
    expect(episodeId(groupId(run, 3), 0, 1)).not.toBe(episodeId(groupId(run, 3), 1, 0))
  })

  // [IDENTITY-2]
  it('of an episode tells its ancestors', () => {
    const evaluation = evaluationId(run, 'held_out', 4, 1)
    for (const parent of [groupId(run, 12), evaluation])
      expect(parseEpisodeId(episodeId(parent, 5, 2))).toEqual({ run, parent, sample: 5, attempt: 2 })
  })

  it('of a branch tells the episode that it plays on from, however deep the tree is', () => {
    const origin = episodeId(groupId(run, 3), 0, 1)
    const branch = branchId(origin, 2, 5)
    expect(branch).toBe('demo/g3/s0/a1/b2-v5')
    const leaf = episodeId(branch, 4, 0)
    const deeper = branchId(leaf, 7, 6)
    for (const parent of [branch, deeper])
      expect(parseEpisodeId(episodeId(parent, 1, 2))).toEqual({ run, parent, sample: 1, attempt: 2 })
    expect([branch, deeper, leaf, origin, groupId(run, 3)].map(isBranchId)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
  })

  it('tells whether an episode waits where training wants the engine', () => {
    const trained = episodeId(groupId(run, 3), 0, 1)
    const evaluated = episodeId(evaluationId(run, 'held_out', 4, 1), 0, 0)
    const branched = episodeId(branchId(trained, 2, 5), 0, 0)
    expect([trained, evaluated, branched].map(yieldsToTraining)).toEqual([false, true, true])
  })

  it('that is none is refused with the form it should have', () => {
    for (const text of ['', 'demo', 'demo/g1', 'demo/x1/s0/a0', 'demo/g1/s0/a'])
      expect(() => parseEpisodeId(text)).toThrow(/expected RUN\/gN\/sN\/aN/)
    for (const name of ['', 'a/b', '../x', 'ä', '-a', 'a'.repeat(65)])
      expect(() => runId(name)).toThrow(RangeError)
  })
})

describe('the first attempt', () => {
  it('of a sample is the same whichever attempt asks, and of another sample another', () => {
    const group = groupId(run, 3)
    for (const attempt of [0, 1, 7])
      expect(firstAttemptOf(episodeId(group, 2, attempt))).toBe(episodeId(group, 2, 0))
    const branch = branchId(episodeId(group, 2, 4), 1, 5)
    expect(firstAttemptOf(episodeId(branch, 0, 3))).toBe(episodeId(branch, 0, 0))
  })
})

describe('a seed', () => {
  // [IDENTITY-3]
  it('is a 32-bit number that depends on every part and on nothing else', () => {
    fc.assert(
      fc.property(fc.nat(), fc.string(), fc.string(), (seed, a, b) => {
        const first = seedOf(seed, a, b)
        expect(first).toBe(seedOf(seed, a, b))
        expect(first >= 0 && first < 2 ** 32 && Number.isInteger(first)).toBe(true)
        if (a !== b) expect(seedOf(seed, a)).not.toBe(seedOf(seed, b))
      }),
    )
  })

  it('of work depends on the seed, on what it is within its run and on the purpose, but not on the run’s name', () => {
    const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/).map(runId)
    const number = fc.nat(1000)
    fc.assert(
      fc.property(name, name, fc.nat(), number, number, number, (one, other, seed, group, sample, turn) => {
        const works = (of: typeof run) => {
          const episode = episodeId(groupId(of, group), sample, 0)
          const evaluation = evaluationId(of, 'held_out', group, seed)
          const branched = episodeId(branchId(episode, turn, 3), 0, 0)
          return [of, groupId(of, group), episode, evaluation, episodeId(evaluation, sample, 0), branched]
        }
        const seeds = (of: typeof run) => works(of).map((work) => seedOfWork(seed, work, turn))
        expect(seeds(one)).toEqual(seeds(other))
        expect(new Set(seeds(one)).size).toBe(6)
        expect(seedOfWork(seed, works(one)[2] ?? one, turn)).not.toBe(
          seedOfWork(seed, works(one)[2] ?? one, turn + 1),
        )
      }),
    )
    expect(withinRun(episodeId(groupId(run, 3), 0, 1))).toBe('g3/s0/a1')
  })

  // [IDENTITY-4]
  it('of work cannot be made with the run’s name in it', () => {
    // @ts-expect-error an id is no part of a seed
    expect(seedOf(1, groupId(run, 3))).not.toBe(seedOfWork(1, groupId(run, 3)))
  })

  it('gives uniforms in [0, 1) whose mean and neighbours look random', () => {
    const next = uniforms(seedOf(1, 'demo/g3'))
    const values = Array.from({ length: 20_000 }, next)
    expect(values.every((value) => value >= 0 && value < 1)).toBe(true)
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    // The standard error of the mean of 20,000 uniforms is 0.002.
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.01)
    const products = values
      .slice(1)
      .reduce((sum, value, i) => sum + (value - 0.5) * ((values[i] ?? 0) - 0.5), 0)
    // Correlation of neighbours: standard error 0.007.
    expect(Math.abs(products / values.length / (1 / 12))).toBeLessThan(0.04)
  })

  it('of neighbouring identities gives unrelated first draws', () => {
    const firsts = Array.from({ length: 2000 }, (_, i) => uniforms(seedOfWork(1, groupId(run, i)))())
    expect(Math.abs(firsts.reduce((sum, value) => sum + value, 0) / 2000 - 0.5)).toBeLessThan(0.03)
    expect(new Set(firsts).size).toBe(2000)
  })
})
