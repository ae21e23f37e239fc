import { expect, test } from 'vitest'
import { engineThat } from '../engine.testing.ts'
import type { ShellLink } from '../shell/shell-link.ts'
import { ContainerLife } from './container-life.ts'

// [CONTAINER-LIFE-1]
test('a container that has ended is removed though no one releases it, and though the engine refuses at first', async () => {
  const removals: string[] = []
  const engine = await engineThat((request, response) => {
    removals.push(`${request.method} ${request.url}`)
    // As an engine does that cannot kill what is frozen.
    response.statusCode = removals.length === 1 ? 500 : 204
    response.end(
      removals.length === 1 ? '{"message":"could not kill container: tried to kill it and gave up"}' : '',
    )
  })
  const shell: ShellLink = {
    closed: false,
    whenClosed: Promise.resolve(),
    ask: () => Promise.reject(new Error('nothing is asked')),
    close: () => undefined,
  }
  const docker = engine.docker.getContainer('c')
  const life = new ContainerLife({ engine, id: 'c', made: 0, docker, shell, isLost: () => false })
  life.end('out_of_disk')
  await expect.poll(() => removals.length, { timeout: 10_000 }).toBe(2)
  expect(removals).toEqual(Array(2).fill('DELETE /containers/c?force=true&v=true'))
  await life.remove()
  expect(removals).toHaveLength(2)
})
