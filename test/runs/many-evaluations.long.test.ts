/** A run with more evaluations than it may carry: the store has all of them, and what it carries stays small. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunProgress, TrainingSession } from '../../client/session/training-session.ts'
import { inSuiteOrder } from '../../config/suite-order.ts'
import { progress as asked } from '../../contract/messages.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { withClient } from '../support/executions.ts'
import { removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'
import { openTinySession, tinyConfig } from '../support/tiny-run.ts'

const run = runId('measured')
const home = temporaryHome()
const updates = 9
const suites = Array.from({ length: 10 }, (_, index) => ({
  name: `suite_${index}`,
  task: 'echo',
  episodes: 1,
}))
const evaluation = { every: 1, suites }
/** Evaluations of every version, the first among them. */
const evaluations = (updates + 1) * suites.length
let session: TrainingSession
let progress: RunProgress

beforeAll(async () => {
  session = await openTinySession(home, createEchoTask().definition)
  const orchestration = { historyEvents: 120 }
  await session.start(run, tinyConfig({ training: { updates }, orchestration, evaluation }))
  progress = await session.result(run)
}, 600_000)

afterAll(async () => {
  await session?.close()
  removeHome(home)
})

describe('a run with 200 evaluations', () => {
  it('ends with all of them in the store, in what it tells and in its status', async () => {
    expect(progress).toMatchObject({ phase: 'done', step: updates })
    await using store = await openStore(homeAt(home).storeFile)
    const { found } = await store.evaluations.findings(run)
    expect(found).toHaveLength(evaluations)
    expect(new Set(found.map(({ suite, version }) => `${suite} v${version}`)).size).toBe(evaluations)
    const ordered = inSuiteOrder({ evaluation }, found)
    expect(progress.evaluations).toEqual(ordered)
    const { code, stdout } = await startPerdure(home, 'status', run, '--json').ended
    expect(code).toBe(0)
    expect(JSON.parse(stdout).evaluations).toEqual(ordered)
  })

  it('carries and answers a few kilobytes, in many executions', async () => {
    await using store = await openStore(homeAt(home).storeFile)
    expect(JSON.stringify(await store.runs.state(run)).length).toBeLessThan(16_384)
    await withClient(home, async ({ workflow }) => {
      const answer = await workflow.getHandle(run).query(asked)
      expect(JSON.stringify(answer).length).toBeLessThan(12_288)
      const lengths: number[] = []
      for await (const { historyLength } of workflow.list({ query: `WorkflowId = "${run}"` }))
        lengths.push(historyLength)
      expect(lengths.length).toBeGreaterThan(4)
      // A round of evaluations and an update come on top of the limit.
      expect(Math.max(...lengths)).toBeLessThan(1_000)
    })
  })
})
