/**
 * Rollout group: G episodes of one instance, whose rewards are compared with one another.
 *
 * Invariants
 * - An episode that meets an infrastructure failure is played again as a new attempt; the failure is
 *   never part of the group.
 * - A group ends at G results, or at its quorum after its timeout; then it reports exactly one result.
 * - The report reaches the run's workflow id, so it survives the run's continuing as new.
 */
import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  setCurrentDetails,
} from '@temporalio/workflow'
import { playSample } from './attempts.ts'
import { trajectoryActivities } from './dispatch.ts'
import { type EpisodeResult, type GroupPlan, type GroupReport, groupEnded } from './messages.ts'

/** Plays one group and reports it to its run; its result shows the rewards. */
export async function rolloutGroup(plan: GroupPlan): Promise<readonly (number | null)[]> {
  const results = await playSamples(plan)
  const enough = results.length >= plan.quorum
  const report: GroupReport = {
    group: plan.group,
    number: plan.number,
    taskIndex: plan.episode.taskIndex,
    task: plan.episode.task,
    version: plan.version,
    episodes: enough ? results : [],
  }
  await trajectoryActivities(plan.episode.dispatch).recordGroup({ run: plan.run, report })
  await reportToRun(plan, report)
  return results.map((result) => result.reward)
}

/** All samples at once; after the timeout those still playing are cancelled if the quorum is there. */
async function playSamples(plan: GroupPlan): Promise<readonly EpisodeResult[]> {
  const results: (EpisodeResult | null)[] = Array.from({ length: plan.groupSize }, () => null)
  let running = plan.groupSize
  const playing = new CancellationScope({ cancellable: true })
  const all = playing.run(() =>
    Promise.all(
      results.map(async (_, sample) => {
        const of = { parent: plan.group, sample, maxAttempts: plan.maxAttempts, version: plan.version }
        results[sample] = await playSample(of, plan.episode)
        running -= 1
        setCurrentDetails(details(plan, results))
      }),
    ),
  )
  const settled = all.then(
    () => undefined,
    (error: unknown) => {
      if (!isCancellation(error)) throw error
    },
  )
  const done = () => results.filter((result) => result !== null)
  const inTime = await condition(() => running === 0, `${plan.timeoutSeconds} seconds`)
  if (!inTime) {
    await condition(() => running === 0 || done().length >= plan.quorum)
    playing.cancel()
  }
  await settled
  return done()
}

function details(plan: GroupPlan, results: readonly (EpisodeResult | null)[]): string {
  const rewards = results.map((result) => (result === null ? '…' : String(result.reward)))
  return `${plan.episode.task} · version ${plan.version} · rewards ${rewards.join(', ')}`
}

/** A run that has ended meanwhile finds the report in the store when it is resumed. */
async function reportToRun(plan: GroupPlan, report: GroupReport): Promise<void> {
  try {
    await getExternalWorkflowHandle(plan.run).signal(groupEnded, report)
  } catch (error) {
    if (isCancellation(error)) throw error
    log.warn('run not reached', { group: plan.group, reason: String(error) })
  }
}
