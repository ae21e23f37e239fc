import { expect, it } from 'vitest'
import { choicesWithout, withAlgorithm } from './earlier-choice.ts'

const earlier = (advantage: string, objective: string, ...tasks: readonly string[]) => ({
  tasks: tasks.map((own) => ({ task: own, objective: own })),
  learning: { advantage, objective, passes: 1 },
})

// [EARLIER-CHOICE-1]
it.each([
  ['grpo', 'clipped', 'grpo'],
  ['reinforce_pp', 'clipped', 'reinforce_pp'],
  ['grpo', 'gspo', 'gspo'],
  ['rloo', 'imitation', 'imitation'],
])('the advantage %s with the loss %s is the algorithm %s', (advantage, objective, algorithm) => {
  const config = earlier(advantage, objective, 'clipped', 'cispo')
  expect(withAlgorithm(config)).toEqual({
    tasks: [
      { task: 'clipped', objective: 'grpo' },
      { task: 'cispo', objective: 'cispo' },
    ],
    learning: { algorithm, passes: 1 },
  })
  expect(choicesWithout(config)).toEqual([])
})

// [EARLIER-CHOICE-1]
it.each([
  [earlier('rloo', 'gspo'), ['learning.objective']],
  [earlier('/my/advantage.ts', 'clipped'), ['learning.advantage']],
  [earlier('grpo', '/my/loss.ts', 'gspo', '/my/loss.ts'), ['learning.objective', 'tasks.1.objective']],
])('a choice that no algorithm has is reported: %j', (config, keys) => {
  expect(choicesWithout(config)).toEqual(keys)
  expect(withAlgorithm(config)).toHaveProperty('learning.algorithm')
})

it('a configuration of this release stays as it is', () => {
  const config = { tasks: [{ objective: '/my/own.ts' }], learning: { algorithm: '/my/own.ts' } }
  expect(withAlgorithm(config)).toBe(config)
  expect(choicesWithout(config)).toEqual([])
})
