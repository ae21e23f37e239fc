import { expect, test } from 'vitest'
import { createProcessLeases } from '../../../machine/processes/lease.ts'
import { labels } from '../container-settings.ts'
import { engineThat } from '../engine.testing.ts'
import { reapContainers, removeContainersOf } from './reaper.ts'

// [REAPER-3]
test('a container that the engine lists as dead and does not have was not removed by anyone here', async () => {
  const leases = createProcessLeases()
  const asked: string[] = []
  const engine = await engineThat(({ method, url }, response) => {
    asked.push(`${method} ${url?.replace(/\?.*/, '')}`)
    response.setHeader('Content-Type', 'application/json')
    if (method === 'GET') {
      const Labels = { [labels.lease]: 'perdure-1', [labels.scope]: leases.scope, [labels.owner]: 'me' }
      response.end(JSON.stringify([{ Id: 'c', Names: null, State: 'dead', Labels }]))
    } else {
      response.statusCode = 404
      response.end('{"message":"No such container: c"}')
    }
  })
  expect(await reapContainers(engine, leases)).toEqual([])
  expect(await removeContainersOf(engine, 'me')).toBe(0)
  expect(asked.filter((call) => call === 'DELETE /containers/c')).toHaveLength(2)
})
