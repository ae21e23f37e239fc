/** A Temporal server that is stopped in the middle of a run: it is said, and the run continues. */

import { existsSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { runId } from '../identity/identity.ts'
import { homeAt } from '../storage/home.ts'
import { readMetrics } from '../storage/metrics.testing.ts'
import { isUpdateMetrics } from '../storage/metrics.ts'
import { freeze } from './frozen-process.ts'
import { eventually, removeHome, serverPid, startPerdure, temporaryHome } from './perdure-process.ts'

const run = runId('still')
const updates = 12
const home = temporaryHome()

afterAll(() => removeHome(home))

it('a frozen server is named within seconds, started again, and every update is done once', async () => {
  const settings = [
    `training.updates=${updates}`,
    'warmStart.demonstrations=8',
    'warmStart.epochs=1',
    'policy.hiddenSize=32',
    'policy.layers=1',
    'evaluation.suites=[]',
  ].flatMap((setting) => ['--set', setting])
  const training = startPerdure(home, 'train', 'test/whole-pipeline.yaml', '--run', run, ...settings)
  const { metricsFile } = homeAt(home).run(run)
  const updatesDone = () => (existsSync(metricsFile) ? readMetrics(metricsFile).filter(isUpdateMetrics) : [])
  try {
    await eventually('the first update', () => (updatesDone().length > 0 ? true : undefined))
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
    await eventually('the word of the training', () =>
      training.output().includes('The Temporal server does not answer since') ? true : undefined,
    )
    await eventually('another server', () => (serverPid(home) === frozen ? undefined : true), 240_000)
    const { stdout, stderr } = await training.ended
    // So small a policy may learn nothing, and then the exit code says so.
    expect(stdout, stderr).toMatch(new RegExp(`updates +${updates} of ${updates}`))
    expect(updatesDone().map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, at) => at + 1))
  } finally {
    await training.killGroup()
  }
}, 600_000)
