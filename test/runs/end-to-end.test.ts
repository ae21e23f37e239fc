/**
 * The whole pipeline on the real server: what a run leaves, the replay of every execution it made, and that a synchronous run
 * is a function of its configuration: the same bytes, whatever it is called, whatever the timing and whatever failed.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerTo } from '../../cli/terminal/answer.testing.ts'
import { openSession } from '../../client/session/training-session.ts'
import { loadConfig } from '../../config/files/loader.ts'
import {
  type Environment,
  type EnvironmentDefinition,
  EnvironmentFault,
} from '../../envs/contract/environment.ts'
import { findEnvironment } from '../../envs/registry.ts'
import { parseEpisodeId, runId, yieldsToTraining } from '../../identity/identity.ts'
import { manifestFile } from '../../policy/checkpoints/manifest.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import type { TrajectoryRow } from '../../storage/trajectories/trajectory-row.ts'
import { fetchHistories, replay } from '../support/executions.ts'
import { type Ending, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const file = 'test/support/whole-pipeline.yaml'
const updates = 2
const set = [
  'rollout.maxStaleness=0',
  'rollout.refill=1',
  `training.updates=${updates}`,
  'evaluation.suites.0.episodes=4',
  'evaluation.suites.0.samples=2',
  'evaluation.suites.0.temperature=1',
]
const run = runId('whole')
const home = temporaryHome()
const undisturbed = { home, run }
const disturbed = { home: temporaryHome(), run: runId('other-20260101-120000') }
let training: Ending

beforeAll(async () => {
  const words = set.flatMap((each) => ['--set', each])
  training = await startPerdure(home, 'train', file, '--run', run, ...words).ended
}, 180_000)

afterAll(() => {
  for (const { home } of [undisturbed, disturbed]) removeHome(home)
})

/** The command in this process. */
function answer(...words: readonly string[]) {
  return answerTo(...words, '--home', home)
}

describe('a training run from start to end', () => {
  it('succeeds and tells what it reached and how to continue', () => {
    expect(training.stderr).not.toMatch(/error/i)
    expect(training.code).toBe(0)
    expect(training.stdout).toContain('held_out')
    for (const command of [`status ${run}`, `eval ${run}`, `export ${run}`, 'ui'])
      expect(training.stdout).toContain(`perdure ${command}`)
    expect(training.stdout).not.toContain('perdure resume') // it is done
    expect(training.stdout).toContain(`http://127.0.0.1:8450/#/runs/${run}`)
  })

  it('writes one metrics line per update and one per evaluation', () => {
    const lines = readMetrics(homeAt(home).run(run).metricsFile)
    expect(lines.filter(isUpdateMetrics).map(({ step }) => step)).toEqual([1, 2])
    expect(lines.filter((line) => !isUpdateMetrics(line)).length).toBeGreaterThanOrEqual(1)
  })

  it('leaves no server behind, and no address of one', () => {
    // The page is served by a command of its own.
    expect(training.stdout).not.toMatch(/http:\/\/(?!127\.0\.0\.1:8450\/#)/)
    expect(JSON.parse(readFileSync(join(home, 'temporal.json'), 'utf8'))).not.toHaveProperty('pid')
  })

  it('is reported by status and exported as tables that other programs read', async () => {
    const status = await answer('status', run, '--json')
    expect(status.code).toBe(0)
    expect(JSON.parse(status.stdout)).toMatchObject({ run, status: 'done', step: updates })
    const out = join(home, 'trajectories.parquet')
    const exported = await answer('export', run, '--format', 'parquet', '--out', out)
    expect(exported.code).toBe(0)
    const rows = await parquetReadObjects({ file: asyncBuffer(out) })
    await using store = await openStore(homeAt(home).storeFile, { create: false })
    expect(rows).toHaveLength((await store.episodes.page(run, '', 10_000)).length)
  })

  it('is exported with the advantages that its updates have learnt with', async () => {
    const out = join(home, 'trajectories.jsonl')
    expect((await answer('export', run, '--out', out)).code).toBe(0)
    const rows = readFileSync(out, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as TrajectoryRow)
    const { batchFile, metricsFile } = homeAt(home).run(run)
    for (const { step, groups_with_preference } of readMetrics(metricsFile).filter(isUpdateMetrics)) {
      // An update that had nothing to learn from has no batch.
      expect(existsSync(batchFile(step))).toBe(groups_with_preference !== 0)
      if (groups_with_preference === 0) continue
      const { tokens, advantages } = await readUpdateBatch(batchFile(step))
      const learnt = rows.filter(
        ({ update, advantages_from }) => update === step && advantages_from === 'update',
      )
      const inBatch = (row: TrajectoryRow, of: ArrayLike<number>, at: number) =>
        row.tokens.map((_, index) => of[at + index])
      // The episodes of a batch stand one after another: each is there once, with the advantages of its row.
      const places = learnt.map((row) =>
        [...tokens.keys()].filter(
          (at) =>
            isEqual(inBatch(row, tokens, at), row.tokens) &&
            isEqual(inBatch(row, advantages, at), row.advantages.map(Math.fround)),
        ),
      )
      expect(places.every((found) => found.length > 0)).toBe(true)
      expect(learnt.reduce((sum, row) => sum + row.tokens.length, 0)).toBe(tokens.length)
    }
    for (const { update, advantages } of rows) if (update === null) expect(advantages).toEqual([])
  })

  it('has its figures as a table, and as CSV with each update once', async () => {
    const words = ['metrics', run]
    const shown = await answer(...words)
    expect(shown.stdout).toMatch(/update.*staleness.*KL.*entropy/)
    const csv = await answer(...words, '--csv')
    expect([shown.code, csv.code]).toEqual([0, 0])
    const [head = '', ...rows] = csv.stdout.trimEnd().split('\r\n')
    expect(head.split(',').slice(0, 2)).toEqual(['step', 'version'])
    expect(rows.map((row) => row.split(',')[0])).toEqual(['1', '2'])
  })

  it('evaluates a checkpoint by hand, and a second time finds the same result', async () => {
    const words = ['eval', `${run}@0`, '--episodes', '4', '--json']
    const first = await startPerdure(home, ...words).ended
    const second = await answer(...words)
    expect([first.code, second.code]).toEqual([0, 0])
    expect(JSON.parse(first.stdout)).toMatchObject({ version: 0, n: 4 * 2 })
    expect(JSON.parse(second.stdout)).toEqual(JSON.parse(first.stdout))
  })

  it('branches an episode, and a second time finds the same continuations', async () => {
    const words = ['branch', `${run}/g0/s0/a0`, '--turn', '1', '--samples', '2', '--json']
    const first = await answer(...words)
    const second = await answer(...words)
    expect([first.code, second.code]).toEqual([0, 0])
    expect(JSON.parse(first.stdout).samples).toHaveLength(2)
    expect(second.stdout).toBe(first.stdout)
    const refused = await answer(...words, '--version', '9')
    expect(refused).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^error: run whole keeps no version 9; it has 0, [\d, ]+\n$/),
    })
  })

  it('replays: every execution, along its whole chain', async () => {
    const histories = await fetchHistories(home)
    expect(new Set(histories.map(({ type }) => type))).toEqual(
      new Set(['trainingRun', 'rolloutGroup', 'episode', 'evaluation', 'branch']),
    )
    expect(await replay(histories)).toEqual([])
  })
})

/** The third session of each instance breaks at its second step, and no attempt can play it up to there again. */
function failing(definition: EnvironmentDefinition): EnvironmentDefinition {
  return {
    ...definition,
    replayable: false,
    replayableBecause: 'a test says so',
    async open(options) {
      const task = await definition.open(options)
      const sessions = new Map<string, number>()
      return {
        ...task,
        create: async () =>
          breaking(await task.create(), (instance) => {
            const ordinal = (sessions.get(instance) ?? 0) + 1
            sessions.set(instance, ordinal)
            return ordinal === 3 // the first one plays the demonstration
          }),
      }
    },
  }
}

function breaking(environment: Environment, breaks: (instance: string) => boolean): Environment {
  let isBreaking = false
  let steps = 0
  return {
    get tools() {
      return environment.tools
    },
    reset(instance) {
      isBreaking = breaks(instance)
      return environment.reset(instance)
    },
    async step(action) {
      steps += 1
      if (isBreaking && steps === 2) throw new EnvironmentFault('backend', 'the machine does not answer')
      return environment.step(action)
    },
    close: () => environment.close(),
  }
}

describe('a run of the same configuration and another name, with infrastructure failures', () => {
  beforeAll(async () => {
    const session = await openSession({
      home: disturbed.home,
      roles: 'all',
      log: () => undefined,
      findEnvironment: (name) => failing(findEnvironment(name)),
    })
    await session.start(disturbed.run, loadConfig({ file, set }))
    expect(await session.result(disturbed.run)).toMatchObject({ phase: 'done', version: updates })
    await session.close()
  }, 180_000)

  it('has new attempts in its updates in the places of those that failed', async () => {
    const { home, run } = disturbed
    await using store = await openStore(homeAt(home).storeFile)
    const episodes = await store.episodes.page(run, '', 1000)
    const failed = episodes.filter(
      ({ id, seal }) => seal.outcome === 'infrastructure_error' && !yieldsToTraining(id),
    )
    expect(failed.length).toBeGreaterThan(0)
    for (const { seal } of failed) expect(seal.turns).toBeGreaterThan(0)
    const groups = await store.groups.list(run, { consumed: true })
    const learnt = groups.flatMap(({ result }) => result?.episodes ?? [])
    expect(learnt.filter((id) => parseEpisodeId(id).attempt === 1)).toHaveLength(failed.length)
  })

  // [EPISODE-3]
  it.each(Array.from({ length: updates + 1 }, (_, version) => version))(
    'has the same weights and moments in version %i, with η = 0',
    (version) => {
      const [one, other] = [undisturbed, disturbed].map(({ home, run }) => {
        const manifest = join(homeAt(home).run(run).checkpointDir(version), manifestFile)
        const { files } = JSON.parse(readFileSync(manifest, 'utf8'))
        return [files['model.safetensors'].sha256, files['optimizer.safetensors'].sha256]
      })
      expect(one).toEqual(other)
    },
  )

  it('has the same lines of metrics except for times', () => {
    const [one, other] = [undisturbed, disturbed].map(
      ({ home, run }) =>
        readMetrics(homeAt(home).run(run).metricsFile)
          .map((line) => JSON.stringify({ ...line, time: '', seconds: {} }))
          .sort(), // an evaluation is entered when it ends, whichever update is done by then
    )
    expect(one).toHaveLength(updates + 2) // evaluated before and after
    expect(one).toEqual(other)
  })
})

function asyncBuffer(file: string) {
  const bytes = readFileSync(file)
  const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
  return { byteLength: whole.byteLength, slice: (start: number, end?: number) => whole.slice(start, end) }
}

function isEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}
