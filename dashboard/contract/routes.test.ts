import { expect, test } from 'vitest'
import { comparisonRoute, curvesRoute, episodesRoute, groupRoute, trajectoryRoute } from './routes.ts'

// [ROUTES-1]
test('equal questions are equal texts, and what a name holds is encoded', () => {
  expect(episodesRoute({ limit: 50, filter: 'task:kg "a b"' })).toBe(
    'api/episodes?filter=task%3Akg%20%22a%20b%22&sort=-created&offset=0&limit=50',
  )
  expect(episodesRoute({ filter: '' })).toBe(episodesRoute({}))
  expect(curvesRoute('first')).toBe('api/runs/first/curves')
  expect(curvesRoute('first', 12)).toBe('api/runs/first/curves?after=12')
  expect(groupRoute('first/g1')).toBe('api/groups/first%2Fg1')
  expect(trajectoryRoute('first/g1/s0/a0')).toBe('api/episodes/first%2Fg1%2Fs0%2Fa0')
  expect(comparisonRoute([{ run: 'a' }, { run: 'b', version: 20 }])).toBe('api/comparison?of=a%2Cb%4020')
})
