import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { afterEach, expect, it, onTestFinished, test, vi } from 'vitest'
import { examineContainers, examineMachine } from './machine-checks.ts'

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

/** An engine with this `/info`; it refuses to make containers if `refusal` is given. */
async function engine(info: object, { refusal, images = 1 }: { refusal?: string; images?: number } = {}) {
  const calls: string[] = []
  const server = createServer((request, response) => {
    const call = `${request.method} ${request.url}`
    calls.push(call)
    if (call === 'GET /_ping') return response.end('OK')
    if (call === 'GET /info') return response.end(JSON.stringify(info))
    if (call.startsWith('GET /images/json'))
      return response.end(JSON.stringify(Array.from({ length: images }, () => ({ Id: 'sha256:i' }))))
    if (call.startsWith('DELETE')) return response.writeHead(204).end()
    response.writeHead(refusal === undefined ? 201 : 500)
    return response.end(JSON.stringify(refusal === undefined ? { Id: 'probe' } : { message: refusal }))
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { address: `tcp://127.0.0.1:${port}`, calls }
}

const plain = {
  ServerVersion: '28.0',
  Driver: 'overlay2',
  DriverStatus: [['Backing Filesystem', 'extfs']],
  SecurityOptions: ['name=seccomp,profile=builtin'],
}

test('an engine whose containers share the users of its machine is a warning that names userns-remap', async () => {
  const { address } = await engine(plain, { refusal: '--storage-opt is supported only for overlay over xfs' })
  const [found, disks, users] = await examineContainers(address)
  expect(found).toEqual({
    name: 'containers',
    state: 'ok',
    detail: `engine 28.0 at ${address}, overlay2 on extfs`,
  })
  expect(disks).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(/^watched by Perdure.*overlay over xfs/),
  })
  expect(users).toMatchObject({
    name: 'container users',
    state: 'warning',
    detail: expect.stringContaining("root of the engine's machine"),
    advice: expect.stringContaining('userns-remap'),
  })
})

test('an engine that maps users and limits disks is fine, and the container that was made to find out is removed', async () => {
  const { address, calls } = await engine({ ...plain, SecurityOptions: ['name=seccomp', 'name=userns'] })
  expect((await examineContainers(address)).map(({ state, detail }) => [state, detail])).toEqual([
    ['ok', expect.any(String)],
    ['ok', 'the engine limits each to its size'],
    ['ok', 'count as users of their own (userns-remap)'],
  ])
  expect(calls.at(-1)).toMatch(/^DELETE \/containers\/probe/)
  const rootless = await engine(
    { ...plain, SecurityOptions: ['name=seccomp', 'name=rootless'] },
    { images: 0 },
  )
  expect((await examineContainers(rootless.address)).map(({ state }) => state)).toEqual(['ok', 'ok', 'ok'])
  expect(rootless.calls.some((call) => call.startsWith('POST'))).toBe(false)
})

test('an engine without seccomp is a warning, and so is one that is named and does not answer', async () => {
  const { address } = await engine({ ...plain, SecurityOptions: [] })
  expect(await examineContainers(address)).toMatchObject([{ state: 'warning', detail: /without seccomp/ }])
  vi.stubEnv('DOCKER_HOST', 'unix:///nowhere/docker.sock')
  expect(await examineContainers()).toMatchObject([
    { state: 'warning', detail: expect.stringContaining('/nowhere/docker.sock') },
  ])
})
