/** A run with a budget, on the real server: it ends when that is spent, as a run does whose updates are done. */
import { afterAll, expect, it } from 'vitest'
import { runChangeOf } from '../../client/run/run-change.ts'
import { openSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { fetchHistories, replay, withClient } from '../support/executions.ts'
import { eventually, removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const { definition } = createEchoTask()
afterAll(() => removeHome(home))

function running(): Promise<readonly string[]> {
  return withClient(home, async (client) => {
    const found: string[] = []
    for await (const { workflowId } of client.workflow.list({ query: 'ExecutionStatus = "Running"' }))
      found.push(workflowId)
    return found
  })
}

// [BUDGET-1]
it('a run ends, with its last evaluation, at the update that spends its budget, and goes on with a larger one', async () => {
  const session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => definition,
  })
  await using store = await openStore(homeAt(home).storeFile)
  const run = runId('bounded')
  const training = (episodes: number) => ({ updates: 9, stop: { episodes } })
  const evaluation = { every: 0, suites: [{ name: 'few', task: 'echo', episodes: 3 }] }
  try {
    // Four episodes an update: after the second one, eight of seven are spent.
    await session.start(run, tinyConfig({ training: training(7), evaluation }))
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: 2 })
    expect((await store.runs.get(run))?.status).toBe('done')
    const spent = (await store.metrics.list(run)).filter(isUpdateMetrics).map(({ episodes }) => episodes)
    expect(spent).toEqual([4, 4])
    const measured = (await store.evaluations.list(run)).map(({ version, result }) => [version, result?.n])
    expect(measured).toEqual([
      [0, 3],
      [2, 3],
    ])
    const published = [...(await store.costs.published(run))]
    expect(published.map(([version]) => version)).toEqual([0, 1, 2])
    // The process counts what it has computed before each publication.
    const costs = published.map(([, { cpuSeconds }]) => cpuSeconds)
    expect(costs[0]).toBeLessThan(costs[1] ?? 0)
    expect(costs[1]).toBeLessThan(costs[2] ?? 0)
    const trail = await session.audit(run)
    expect(trail).toMatchObject([
      { by: 'training.stop', what: 'budget', reason: 'the budget is spent: 7 training episodes' },
    ])
    // Groups that were being played are cancelled: none is played to its end for no update.
    await eventually('its groups to end', async () => (await running()).length === 0 || undefined)

    const parts = { store, home: homeAt(home), own: [definition] }
    await session.resume(run, await runChangeOf(parts, run, ['training.stop.episodes=11']))
    expect(await session.result(run)).toMatchObject({ phase: 'done', step: 3 })
  } finally {
    await session.close()
  }
  expect(await replay(await fetchHistories(home))).toEqual([])
}, 120_000)
