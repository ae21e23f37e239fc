/** Paths of a stored configuration hold wherever the home is copied to. */
import { expect, it } from 'vitest'
import { configSchema } from '../schema/schema.ts'
import { inHome, withoutHome } from './home-paths.ts'

const config = configSchema.parse({
  tasks: [
    { task: 'alfworld', data: '/old/home/data/alfworld' },
    { task: 'db', data: '/data/db' },
    { task: 'own', from: '/old/home-made/own', objective: '/old/home/own.ts' },
  ],
  policy: { from: '/old/home/runs/first/checkpoints/3' },
  trackers: { tensorboard: '/old/home/curves', mlflow: '/data/mlruns' },
  learning: { algorithm: '/old/home/algorithm.ts', teacher: '/old/home/runs/first/checkpoints/9' },
})

it('what lies in the home moves with it, and what lies elsewhere stays', () => {
  const moved = inHome(withoutHome(config, '/old/home'), '/new')
  expect(moved.tasks.map(({ data, from }) => data ?? from)).toEqual([
    '/new/data/alfworld',
    '/data/db',
    '/old/home-made/own',
  ])
  expect(moved.policy.from).toBe('/new/runs/first/checkpoints/3')
  expect(moved.trackers).toEqual({ tensorboard: '/new/curves', mlflow: '/data/mlruns' })
  expect(moved.tasks[2]?.objective).toBe('/new/own.ts')
  expect(moved.learning).toMatchObject({
    algorithm: '/new/algorithm.ts',
    teacher: '/new/runs/first/checkpoints/9',
  })
})

it('in the same home it is as it was', () => {
  expect(inHome(withoutHome(config, '/old/home'), '/old/home')).toEqual(config)
})
