/** Homes that share one Temporal server: neither takes what is another's, nor loses anything to it. */
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { manifestFile } from '../../policy/checkpoints/manifest.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import { type RunningTemporal, startTemporal } from '../../temporal/server/server.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import {
  eventually,
  type PerdureProcess,
  removeHome,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'

const run = runId('live')
const updates = 3
const serving = temporaryHome()
const alone = temporaryHome()
const training = temporaryHome()
const interrupted = temporaryHome()
const idle = temporaryHome()
const copied = temporaryHome()
let server: RunningTemporal
let idler: PerdureProcess | undefined
const settings = [
  'rollout.maxStaleness=0',
  `training.updates=${updates}`,
  'warmStart.demonstrations=40',
  'warmStart.epochs=8',
  'policy.hiddenSize=32',
  'policy.layers=1',
  'evaluation.suites.0.episodes=2',
].flatMap((setting) => ['--set', setting])

beforeAll(async () => {
  await train(alone)
  server = await startTemporal(serving)
  process.env.TEMPORAL_ADDRESS = server.address
}, 300_000)

afterAll(async () => {
  delete process.env.TEMPORAL_ADDRESS
  await idler?.killGroup()
  await server?.close()
  for (const home of [serving, alone, training, interrupted, idle, copied]) removeHome(home)
})

function start(home: string): PerdureProcess {
  return startPerdure(home, 'train', 'test/support/whole-pipeline.yaml', '--run', run, ...settings)
}

async function train(home: string): Promise<void> {
  const { code, stdout, stderr } = await start(home).ended
  expect(code, stdout + stderr).toBe(0)
}

async function resume(home: string): Promise<void> {
  const { code, stdout, stderr } = await startPerdure(home, 'resume', run).ended
  expect(code, stdout + stderr).toBe(0)
}

/** Ctrl-C after the first update. */
async function interrupt(home: string, running: PerdureProcess): Promise<void> {
  const { metricsFile } = homeAt(home).run(run)
  await eventually(`the first update in ${home}`, () => {
    if (running.child.exitCode !== null) throw new Error(running.output())
    return existsSync(metricsFile) && readMetrics(metricsFile).some(isUpdateMetrics) ? true : undefined
  })
  running.child.kill('SIGINT')
  expect((await running.ended).code).toBe(130)
}

/** All that a run measured, except the time it took. */
function measured(home: string) {
  return readMetrics(homeAt(home).run(run).metricsFile)
    .map((line) => ({ ...line, time: undefined, seconds: undefined }))
    .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
}

/** The weights of the newest version, and the moments that they were trained with. */
function learnt(home: string): unknown {
  const directory = homeAt(home).run(run)
  const newest = Math.max(
    ...readdirSync(directory.checkpointsDir)
      .filter((name) => /^\d+$/.test(name))
      .map(Number),
  )
  const { files } = JSON.parse(readFileSync(join(directory.checkpointDir(newest), manifestFile), 'utf8'))
  return [newest, files['model.safetensors'].sha256, files['optimizer.safetensors'].sha256]
}

it('three homes with runs of one name, two of them interrupted and one with idle workers, learn what one alone learns', async () => {
  idler = startPerdure(idle, 'worker', '--role', 'all')
  const both = [training, interrupted].map((home) => ({ home, running: start(home) }))
  await Promise.all(both.map(({ home, running }) => interrupt(home, running)))
  await resume(interrupted)
  // A copy that is worked on beside its original is a home of its own.
  cpSync(training, copied, { recursive: true })
  await Promise.all([resume(training), resume(copied)])
  await train(idle)
  for (const home of [training, interrupted, copied, idle]) {
    expect(measured(home)).toEqual(measured(alone))
    expect(learnt(home)).toEqual(learnt(alone))
    await using store = await openStore(homeAt(home).storeFile)
    for (const { seal } of await store.episodes.page(run, '', 10_000))
      expect(seal.outcome).not.toBe('infrastructure_error')
  }
}, 600_000)

it('on the server each home has names of its own, and all of them replay', async () => {
  const histories = await fetchHistories(training)
  const homes = Map.groupBy(histories, ({ workflowId }) => workflowId.split(':')[0])
  expect(homes.size).toBe(4)
  for (const own of homes.values())
    expect(own.map(({ workflowId }) => workflowId.split(':')[1])).toEqual(expect.arrayContaining([run]))
  expect(await replay(histories)).toEqual([])
  const { stdout } = await startPerdure(idle, 'doctor', '--json').ended
  const named = [...homes.keys()].filter((name) => stdout.includes(`${name}: workflow ids`))
  expect(named).toHaveLength(1)
})

it('commands take the short names, and branch an id as the UI shows it', async () => {
  const status = await startPerdure(interrupted, 'status', run, '--json').ended
  expect(JSON.parse(status.stdout)).toMatchObject({ run, status: 'done', step: updates })
  const shown = (await fetchHistories(interrupted)).map(({ workflowId }) => workflowId)
  const episodes = shown.filter((id) => id.endsWith(`${run}/g0/s0/a0`))
  const said = await Promise.all(
    episodes.map((episode) => startPerdure(interrupted, 'branch', episode, '--turn', '0', '--json').ended),
  )
  expect(said.filter(({ code }) => code === 0)).toHaveLength(1)
  expect(said.length).toBeGreaterThan(2)
  for (const { code, stderr, stdout } of said)
    if (code === 2) expect(stderr).toContain('is one of another home')
    else expect(JSON.parse(stdout).origin.episode).toBe(`${run}/g0/s0/a0`)
})

it('a name that is taken is refused at once', async () => {
  const { code, stderr } = await start(interrupted).ended
  expect(code).toBe(2)
  expect(stderr).toContain(`run ${run} exists in ${interrupted}`)
})
