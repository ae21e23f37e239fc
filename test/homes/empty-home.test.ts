/** A worker whose home has no runs, on a server that other homes work with. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { loadConfig } from '../../config/files/loader.ts'
import { type RunningTemporal, startTemporal } from '../../temporal/server/server.ts'
import { eventually, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const [serving, busy, empty] = [temporaryHome(), temporaryHome(), temporaryHome()]
let server: RunningTemporal

beforeAll(async () => {
  server = await startTemporal(serving)
  vi.stubEnv('TEMPORAL_ADDRESS', server.address)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await server?.close()
  for (const home of [serving, busy, empty]) removeHome(home)
})

it('a worker whose home has no runs says so, and names the homes and runs that its server knows', async () => {
  vi.stubEnv('PERDURE_FLEET', 'lab')
  await using session = await openSession({ home: busy, roles: 'client', log: () => undefined })
  await session.start('first', loadConfig({ file: 'test/support/whole-pipeline.yaml', set: [] }))
  expect(await session.emptyHome()).toBeUndefined()
  vi.stubEnv('PERDURE_FLEET', undefined)
  const worker = startPerdure(empty, 'worker', '--role', 'trainer')
  try {
    const notice = await eventually('the notice', () => {
      expect(worker.child.exitCode, worker.output()).toBe(null)
      return worker.output().includes('has no runs') ? worker.output() : undefined
    })
    expect(notice).toMatch(/store\.db has no runs: this worker has nothing to do until one is started/)
    expect(notice).toMatch(
      /knows this home as [a-z0-9]{6}; runs in progress there belong to lab-[a-z0-9]{6} \(first\)/,
    )
  } finally {
    await worker.killGroup()
  }
})
