import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { NativeConnection } from '@temporalio/worker'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type HomeName, ownServer } from '../../identity/identity.ts'
import { obtainTemporalBinary } from '../../temporal/server/startup/fetch-binary.ts'
import { chooseFreePorts } from '../../temporal/server/startup/ports.ts'
import { registerDeployment } from './deployment-registration.ts'

const namespace = 'default'
let server: ChildProcess
let connection: NativeConnection

beforeAll(async () => {
  const { path } = await obtainTemporalBinary(() => undefined)
  const { port = 0 } = (await chooseFreePorts(undefined)) ?? {}
  const limit = ['--dynamic-config-value', 'matching.maxDeployments=2']
  const place = ['--ip', '127.0.0.1', '--port', String(port), '--headless', '--log-level', 'never']
  server = spawn(path, ['server', 'start-dev', ...place, ...limit], { stdio: 'ignore' })
  connection = await vi.waitFor(() => NativeConnection.connect({ address: `127.0.0.1:${port}` }), {
    timeout: 90_000,
    interval: 200,
  })
  await vi.waitFor(() => connection.workflowService.describeNamespace({ namespace }), {
    timeout: 90_000,
    interval: 200,
  })
}, 200_000)

afterAll(async () => {
  await connection?.close()
  server.kill()
  await once(server, 'exit')
})

function register(home: string, log: (line: string) => void = () => undefined): Promise<boolean> {
  return registerDeployment({ connection, namespace, home: home as HomeName, log })
}

async function deployments(): Promise<readonly (string | null | undefined)[]> {
  const { workerDeployments } = await connection.workflowService.listWorkerDeployments({ namespace })
  return workerDeployments.map(({ name }) => name).sort()
}

test('a home finds its place again, and one that is not used makes room for the next', async () => {
  expect(await register(ownServer)).toBe(true)
  expect(await register('first1')).toBe(true)
  expect(await register('first1')).toBe(true)
  expect(await register('second')).toBe(true)
  await vi.waitFor(async () => expect(await deployments()).toEqual(['perdure-first1', 'perdure-second']), {
    timeout: 60_000,
    interval: 100,
  })
  const said: string[] = []
  expect(await register('third3', (line) => said.push(line))).toBe(true)
  expect(said.join()).toContain('made room in namespace default')
}, 120_000)

test('where others use all places, a home works without one and says so', async () => {
  const { workflowService } = connection
  const teams = ['a team of its own', 'another team']
  // The list follows what was created and deleted with a delay.
  const takePlaces = async () => {
    for (const name of await deployments())
      if (!teams.includes(name ?? ''))
        await workflowService.deleteWorkerDeployment({ namespace, deploymentName: name ?? '' })
    for (const deploymentName of teams)
      await workflowService.createWorkerDeployment({ namespace, deploymentName, requestId: deploymentName })
  }
  await vi.waitFor(takePlaces, { timeout: 60_000, interval: 500 })
  await vi.waitFor(async () => expect(await deployments()).toHaveLength(2), {
    timeout: 60_000,
    interval: 100,
  })
  const said: string[] = []
  expect(await register('fourth', (line) => said.push(line))).toBe(false)
  expect(said.join()).toContain('has no room for another deployment')
  expect(await deployments()).toEqual(['a team of its own', 'another team'])
}, 200_000)
