import { expect, it } from 'vitest'
import { chosenLosses, lossOfTask } from './objective-choice.ts'

const tasks = [{ task: 'db' }, { task: 'os', objective: 'gspo' }, { task: 'kg', objective: '/my/loss.ts' }]

it('a task has its own objective, or that of the run, each listed once', () => {
  const choice = { learning: { objective: 'cispo' }, tasks: [...tasks, { task: 'webshop' }] }
  expect(chosenLosses(choice)).toEqual(['cispo', 'gspo', '/my/loss.ts'])
  expect(lossOfTask(choice, 'os')).toBe('gspo')
  expect(lossOfTask(choice, 'webshop')).toBe('cispo')
})

it('imitation alone has no policy loss, for any task', () => {
  expect(chosenLosses({ learning: { objective: 'imitation' }, tasks })).toEqual(['clipped'])
})
