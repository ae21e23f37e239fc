import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { taskQueue } from '../../contract/task-queues.ts'
import { ownServer } from '../../identity/identity.ts'
import { installRuntime } from '../../temporal/runtime.ts'
import { type RunningTemporal, startTemporal } from '../../temporal/server/server.ts'
import { type Deployment, joinDeployment, knowsBuilds, workerOf } from './deployment.ts'
import { type BuiltWorkflows, workflowBundle } from './workflow-bundle.ts'

const home = mkdtempSync(join(tmpdir(), 'perdure-deployment-'))
let server: RunningTemporal
let connection: NativeConnection
let workflows: BuiltWorkflows

interface Process {
  readonly deployment: Deployment
  readonly said: readonly string[]
  end(): Promise<void>
}

async function start(build: string, options: { shared: boolean; goneAfterMs?: number }): Promise<Process> {
  const own = await NativeConnection.connect({ address: server.address })
  const worker = await Worker.create({
    ...workerOf(ownServer, build),
    connection: own,
    taskQueue: taskQueue('orchestrator', ownServer),
    workflowBundle: workflows,
  })
  const running = worker.run()
  const said: string[] = []
  const deployment = joinDeployment({
    ...options,
    connection: own,
    namespace: server.namespace,
    home: ownServer,
    build,
    isAlone: () => Promise.resolve(false),
    log: (line) => said.push(line),
    everyMs: 200,
  })
  return {
    deployment,
    said,
    async end() {
      await deployment.close()
      worker.shutdown()
      await running
      await own.close()
    },
  }
}

async function currentBuild(): Promise<string | undefined> {
  const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment({
    namespace: server.namespace,
    deploymentName: 'perdure',
  })
  return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? undefined
}

function says(process: Process, words: string): Promise<void> {
  return vi.waitFor(() => expect(process.said.join('\n')).toContain(words), 60_000)
}

beforeAll(async () => {
  vi.stubEnv('TEMPORAL_ADDRESS', undefined)
  installRuntime(join(home, 'workers.log'), { onLine: () => undefined })
  server = await startTemporal(home)
  connection = await NativeConnection.connect({ address: server.address })
  workflows = await workflowBundle()
}, 300_000)

afterAll(async () => {
  vi.unstubAllEnvs()
  await connection?.close()
  await server?.close()
  rmSync(home, { recursive: true, force: true })
})

it('of processes that share a server, a newer build steps before an older one, never the other way while workers of the newer one are there', async () => {
  expect(await knowsBuilds(connection)).toBe(true)
  const old = await start('old', { shared: true })
  expect(await old.deployment.current).toBe(true)
  expect(old.said).toEqual([])
  const next = await start('next', { shared: true })
  expect(await next.deployment.current).toBe(true)
  await says(next, 'new workflows start on build next; what build old began stays with its workers')
  await says(old, 'nothing is left of what build old began: its workers can be ended')
  const late = await start('old', { shared: true })
  await says(late, 'nothing is left of what build old began')
  expect(await currentBuild()).toBe('next')
  for (const process of [late, next, old]) await process.end()
  expect(await late.deployment.current).toBe(false)
}, 300_000)

it('a build that has no workers does not stay the current one while another has some', async () => {
  expect(await currentBuild()).toBe('next')
  const old = await start('old', { shared: true, goneAfterMs: 1000 })
  expect(await old.deployment.current).toBe(true)
  expect(await currentBuild()).toBe('old')
  await old.end()
}, 300_000)

it("a person's process makes its build the current one at once", async () => {
  const next = await start('next', { shared: true })
  const own = await start('own', { shared: false })
  expect(await own.deployment.current).toBe(true)
  const before = await start('old', { shared: false })
  expect(await before.deployment.current).toBe(true)
  expect(await currentBuild()).toBe('old')
  for (const process of [before, own, next]) await process.end()
}, 300_000)
