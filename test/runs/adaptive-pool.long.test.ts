/** Adaptive cross-policy sampling in a run: what an update measures decides what the next groups are sampled from. */
import { Client, Connection, defaultPayloadConverter } from '@temporalio/client'
import { afterAll, expect, it } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import type { GroupPlan } from '../../contract/messages.ts'
import { type GroupId, groupId, runId } from '../../identity/identity.ts'
import { ratioSums } from '../../learning/loss/ratio-statistics.ts'
import { adaptedRule, blendedWeights, type MemberWeight } from '../../learning/rollout/adaptive-pool.ts'
import { drawnFromPool } from '../../learning/rollout/cross-policy.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore } from '../../storage/store.ts'
import { connect } from '../../temporal/connection.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, createSpeakingEngine, sayYesOrNo, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))

/** The turns of a group's episodes that version 0 sampled are those that their draws say. */
async function expectDraws(group: GroupId, staleShare: number): Promise<void> {
  const store = await openStore(homeAt(home).storeFile)
  try {
    const episodes = (await store.groups.get(group))?.result?.episodes ?? []
    expect(episodes).toHaveLength(4)
    for (const episode of episodes) {
      const { turns } = await store.episodes.trajectory(episode)
      const draws = drawnFromPool({ seed: 1, episode, attemptsDrawAlike: true, staleShare }, turns.length)
      expect(turns.map(({ version }) => version === 0)).toEqual(draws)
    }
  } finally {
    await store.close()
  }
}

it('a member of the pool that diverges is taken less often by the groups that are admitted next', async () => {
  const connection = await connect(home)
  const client = new Client({ connection: await Connection.connect(connection.options) })
  const session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => {
      const trainer = createCopyingTrainer()
      const train = trainer.update.bind(trainer)
      trainer.update = async (request) => ({
        ...(await train(request)),
        // Ratios 1 and 3: an effective share of 4² / (2 · 10) = 0.8.
        origins: [{ version: 0, stale: true, ...ratioSums([0, Math.log(3)]) }],
      })
      return trainer
    },
    findEnvironment: () => createEchoTask().definition,
  })
  try {
    const crossPolicy = { staleShare: 0.8, weighting: 'adaptive' }
    await session.start('adaptive', tinyConfig({ crossPolicy, rollout: { maxStaleness: 0, groupSize: 4 } }))
    expect(await session.result('adaptive')).toMatchObject({ phase: 'done', step: 3 })
    const lines = readMetrics(homeAt(home).run(runId('adaptive')).metricsFile).filter(isUpdateMetrics)
    let known: readonly MemberWeight[] = []
    for (const [update, { pool_weights = {} }] of lines.entries()) {
      // Two groups of each update are admitted when those before it are over.
      const { events } = await client.workflow.getHandle(`adaptive/g${2 * update}`).fetchHistory()
      const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []
      const { episode } = defaultPayloadConverter.fromPayload<GroupPlan>(payload as never)
      const rule = adaptedRule({ staleShare: 0.8, pool: [0] }, known)
      expect(episode.versions).toEqual({ kind: 'cross_policy', ...rule })
      if (update > 0) await expectDraws(groupId(runId('adaptive'), 2 * update), rule.staleShare)
      expect(pool_weights['0']).toBeLessThanOrEqual(0.8)
      known = blendedWeights(known, [{ version: 0, weight: pool_weights['0'] ?? Number.NaN }], [0])
    }
    expect(known[0]?.weight).toBeLessThan(0.9)
  } finally {
    await session.close()
    await client.connection.close()
    await connection.close()
  }
}, 240_000)
