/** A Temporal server that hangs: commands that only read say so instead of waiting for it. */
import { afterAll, expect, it } from 'vitest'
import { recordRun } from '../../client/run/run-start.ts'
import { resolveConfig } from '../../config/files/loader.ts'
import { runId } from '../../identity/identity.ts'
import { freeze } from '../host/frozen-process.ts'
import { eventually, removeHome, serverPid, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const run = runId('still')
const home = temporaryHome()
afterAll(() => removeHome(home))

it('a frozen server is named by status, which calls no run resumable meanwhile, and runs are listed', async () => {
  await recordRun(home, run, resolveConfig({}))
  const worker = startPerdure(home, 'worker', '--role', 'environment')
  try {
    await eventually('the server', () => worker.output().includes('listens on') || undefined, 300_000)
  } finally {
    // While it lives it would start a server again that hangs.
    await worker.killGroup()
  }
  const frozen = serverPid(home) ?? 0
  await freeze(frozen)
  const status = await startPerdure(home, 'status', run, '--json').ended
  expect(status.code).toBe(0)
  expect(JSON.parse(status.stdout)).toMatchObject({
    status: 'running',
    resumable: false,
    warning: expect.stringContaining(`(process ${frozen}) does not answer`),
  })
  const runs = await startPerdure(home, 'runs', '--json').ended
  expect(JSON.parse(runs.stdout)).toMatchObject([{ run, status: 'running' }])
}, 600_000)
