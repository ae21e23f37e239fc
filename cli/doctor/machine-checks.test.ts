import { tmpdir } from 'node:os'
import { afterEach, expect, it, vi } from 'vitest'
import { examineMachine } from './machine-checks.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

it('the variables of the machine that name a proxy are listed, without passwords', async () => {
  for (const name of ['http_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'grpc_proxy', 'no_proxy', 'no_grpc_proxy'])
    vi.stubEnv(name, undefined)
  vi.stubEnv('https_proxy', 'http://me:secret@proxy.example.org:3128')
  vi.stubEnv('NO_PROXY', 'intern.example.org')
  const checks = await examineMachine(tmpdir())
  expect(checks.find(({ name }) => name === 'proxies')).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(
      /https_proxy=http:\/\/…@proxy\.example\.org:3128 NO_PROXY=intern\.example\.org.*this machine are direct/,
    ),
  })
}, 60_000)
