/** A Temporal server of the user's own that goes away for longer than its client retries: who follows work waits for it and says so. */
import { existsSync } from 'node:fs'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import { startExternalServer } from '../host/external-server.ts'
import { freeze } from '../host/frozen-process.ts'
import {
  eventually,
  type PerdureProcess,
  removeHome,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'

const run = runId('first')
const updates = 40
const version = 0
const episodes = 100
const home = temporaryHome()
/** The client's own retries give up after twenty seconds. */
const outageMs = 30_000
const silence = 'The Temporal server does not answer since'
const answers = 'The Temporal server answers again'

afterAll(() => removeHome(home))
beforeEach(() => {
  vi.stubEnv('PERDURE_TEMPORAL_PORT', undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

function updatesDone(): readonly number[] {
  const { metricsFile } = homeAt(home).run(run)
  return existsSync(metricsFile)
    ? readMetrics(metricsFile)
        .filter(isUpdateMetrics)
        .map(({ step }) => step)
    : []
}

function count(text: string, part: string): number {
  return text.split(part).length - 1
}

/** The server is away for as long as an outage lasts, and each command that follows says that it waits. */
async function outage(waiting: readonly PerdureProcess[]): Promise<void> {
  const until = performance.now() + outageMs
  // On a busy machine a silence that was reported before may last until the server is gone.
  const unsaid = () =>
    waiting.filter(({ output }) => output().lastIndexOf(silence) <= output().lastIndexOf(answers))
  await eventually('the end of the outage', () => {
    for (const { child, output } of waiting) expect(child.exitCode, output()).toBe(null)
    return unsaid().length === 0 && performance.now() > until ? true : undefined
  }).catch((error: unknown) => {
    throw new Error(
      unsaid()
        .map(({ output }) => output())
        .join('\n'),
      { cause: error },
    )
  })
}

async function untilUpdate(number: number, training: PerdureProcess): Promise<void> {
  await eventually(`update ${number}`, () => {
    expect(training.child.exitCode, training.output()).toBe(null)
    return updatesDone().length >= number ? true : undefined
  })
}

/** An evaluation whose workflow runs. The run has one of the same version, of the suite's own size. */
async function startEvaluation(): Promise<PerdureProcess> {
  const measured = startPerdure(home, 'eval', `${run}@${version}`, '--episodes', `${episodes}`)
  await using store = await openStore(homeAt(home).storeFile, { create: false })
  await eventually('an evaluation in progress', async () => {
    expect(measured.child.exitCode, measured.output()).toBe(null)
    return (await store.evaluations.list(run)).some(({ suite }) => suite === `held_out-${episodes}`)
      ? true
      : undefined
  })
  return measured
}

it('a run, its worker and an evaluation wait for a server that was killed or hangs, and lose nothing', async () => {
  await using server = await startExternalServer()
  vi.stubEnv('TEMPORAL_ADDRESS', server.address)
  const settings = [
    `training.updates=${updates}`,
    'warmStart.demonstrations=8',
    'warmStart.epochs=1',
    'policy.hiddenSize=32',
    'policy.layers=1',
  ].flatMap((setting) => ['--set', setting])
  const training = startPerdure(home, 'train', 'test/support/whole-pipeline.yaml', '--run', run, ...settings)
  const worker = startPerdure(home, 'worker', '--role', 'all')
  const processes = [training, worker]
  try {
    await untilUpdate(1, training)
    // The run needs no help of this worker, which may be slower to connect; a server that is away from the start is another case.
    await eventually('the worker to serve', () => {
      expect(worker.child.exitCode, worker.output()).toBe(null)
      return worker.output().includes('Serving ') ? true : undefined
    })
    await server.kill()
    const late = startPerdure(home, 'pause', run)
    await outage([training, worker])
    const refused = await late.ended
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('check TEMPORAL_ADDRESS') })
    expect(late.output()).toContain(`${server.address} has not answered yet`)
    await server.start()
    await untilUpdate(updatesDone().length + 1, training)
    const measured = await startEvaluation()
    processes.push(measured)
    await freeze(server.pid)
    await outage(processes)
    process.kill(server.pid, 'SIGCONT')
    expect(await measured.ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(` of ${episodes} episodes succeed\n`)),
    })
    const { stdout, stderr } = await training.ended
    expect(stdout, stderr).toMatch(new RegExp(`updates +${updates} of ${updates}`))
    expect(count(stdout, answers)).toBeGreaterThan(0)
    expect(updatesDone()).toEqual(Array.from({ length: updates }, (_, at) => at + 1))
    worker.child.kill('SIGINT')
    expect((await worker.ended).code).toBe(0)
  } finally {
    for (const each of processes) await each.killGroup()
  }
}, 900_000)
