import type { NativeConnection } from '@temporalio/worker'
import { beforeEach, expect, it } from 'vitest'
import type { HomeName } from '../../identity/identity.ts'
import { registerDeployment } from './deployment-registration.ts'

const said: string[] = []
beforeEach(() => {
  said.length = 0
})

/** Registers with a server that refuses the first calls with these words. */
function register(refusals: readonly string[]): Promise<boolean> {
  const left = [...refusals]
  const connection = {
    withDeadline: (_: number, work: () => Promise<unknown>) => work(),
    workflowService: {
      createWorkerDeployment: async () => {
        const words = left.shift()
        if (words !== undefined) throw Object.assign(new Error(words), { code: 8 })
      },
      listWorkerDeployments: async () => ({ workerDeployments: [] }),
    },
  } as unknown as NativeConnection
  return registerDeployment({
    connection,
    namespace: 'team',
    home: 'p3xk0a' as HomeName,
    log: (line) => said.push(line),
    wait: async () => undefined,
  })
}

const limited = 'namespace rate limit exceeded'

it('[REGISTRATION-1] a server that limits requests for a while is asked again, and nothing is said of room', async () => {
  expect(await register([limited, limited, limited])).toBe(true)
  expect(said).toEqual(['namespace team limits requests; its place for this home is asked for again'])
})

it('[REGISTRATION-1] a server that limits requests for longer is not said to have no room', async () => {
  expect(await register(Array.from({ length: 1000 }, () => limited))).toBe(false)
  expect(said.at(-1)).toMatch(/has limited requests for 60 s .*end all of them before an upgrade/)
  expect(said.join()).not.toContain('no room')
})

it('a server whose places are taken has no room', async () => {
  const full = 'reached maximum deployments in namespace (100)'
  expect(await register([full, full])).toBe(false)
  expect(said.join()).toContain('no room for another deployment')
})
