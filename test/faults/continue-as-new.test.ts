/** A run whose history is cut often: it continues as new with all it knows. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunProgress, TrainingSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { type Execution, fetchHistories, replay } from '../support/executions.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { openTinySession, tinyConfig } from '../support/tiny-run.ts'

const run = runId('long')
const home = temporaryHome()
const updates = 12
const historyEvents = 100
const { definition, sessions } = createEchoTask()
let session: TrainingSession
let progress: RunProgress
let executions: readonly Execution[]

beforeAll(async () => {
  session = await openTinySession(home, definition)
  const suites = [{ name: 'few', task: 'echo', episodes: 2 }]
  await session.start(
    run,
    tinyConfig({ training: { updates }, orchestration: { historyEvents }, evaluation: { every: 3, suites } }),
  )
  progress = await session.result(run)
  executions = await fetchHistories(home)
}, 120_000)

afterAll(async () => {
  await session?.close()
  removeHome(home)
})

function chain(): readonly Execution[] {
  return executions.filter(({ workflowId }) => workflowId === run)
}

describe('a run that continues as new', () => {
  // [RUN-3]
  it('does so whenever its history is long, between two updates', () => {
    expect(chain().length).toBeGreaterThanOrEqual(4)
    // One update with its groups, evaluations and signals comes on top of the limit.
    for (const { history } of chain())
      expect((history as { events: readonly unknown[] }).events.length).toBeLessThan(2 * historyEvents)
  })

  // [RUN-1] [EPISODE-1]
  it('makes every update once, with every group once and every episode once', async () => {
    expect(progress).toMatchObject({ phase: 'done', step: updates })
    await using store = await openStore(homeAt(home).storeFile)
    const done = await store.updates.list(run)
    expect(done.map(({ step }) => step)).toEqual(Array.from({ length: updates }, (_, i) => i + 1))
    const consumed = done.flatMap(({ groups }) => groups)
    expect(new Set(consumed).size).toBe(2 * updates)
    expect(await store.groups.list(run)).toHaveLength(2 * updates)
    const lines = readMetrics(homeAt(home).run(run).metricsFile)
    expect(lines.filter(isUpdateMetrics)).toHaveLength(updates)
    expect(progress.evaluations.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual([
      0, 3, 6, 9, 12,
    ])
    expect(sessions).toHaveLength(2 * 2 * updates + 5 * 2)
  })

  it('replays, every link of it', async () => {
    expect(await replay(executions)).toEqual([])
  })
})

it('the finished run answers who asks for it by its name', async () => {
  expect(await session.progress(run)).toEqual(progress)
})
