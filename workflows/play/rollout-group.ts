/**
 * Rollout group: G episodes of one instance, whose rewards are compared with one another.
 *
 * Invariants
 * - [GROUP-1] An episode that meets an infrastructure failure is played again as a new attempt; the failure is never
 *   part of the group.
 * - [GROUP-2] A group ends at G results, or at its quorum after its timeout; then it reports exactly one result.
 * - [GROUP-3] The report reaches the run's workflow id, so it survives the run's continuing as new.
 * - [GROUP-4] Episodes that the store has lost are played again before the group reports; the others are found there.
 */
import {
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  setCurrentDetails,
} from '@temporalio/workflow'
import type { EpisodeLoss } from '../../contract/episode-loss.ts'
import { type EpisodeResult, type GroupPlan, type GroupReport, groupEnded } from '../../contract/messages.ts'
import { groupActivities } from '../calls/dispatch.ts'
import { differsFromStore } from '../calls/failure-reason.ts'
import { describeGroup, type WithoutResult } from '../page/details.ts'
import { here, idHere } from '../page/place.ts'
import { playSamples } from './samples.ts'

/** Plays one group and reports it to its run; its result shows the rewards. */
export async function rolloutGroup(plan: GroupPlan): Promise<readonly (number | null)[]> {
  try {
    const losses: EpisodeLoss[] = []
    const played = await playGroup(plan, (loss) => losses.push(loss))
    const loss = losses.at(-1)
    const empty = { episodes: [], ...(loss === undefined ? {} : { loss }) }
    await report(plan, played.episodes.length >= plan.quorum ? played : empty)
    return played.episodes.map((result) => result.reward)
  } catch (error) {
    // Episodes that the store still has are found there.
    if (differsFromStore(error)) await continueAsNew<typeof rolloutGroup>(plan)
    // The run waits for every group: one that is cancelled or fails says so, and is replaced.
    await CancellationScope.nonCancellable(() => report(plan, { episodes: [] }))
    throw error
  }
}

/** The result of a group. */
type Played = Pick<GroupReport, 'episodes' | 'loss'>

/** Plays all samples at once; after the timeout those still playing are cancelled if the quorum is there. */
async function playGroup(plan: GroupPlan, onLoss: (loss: EpisodeLoss) => void): Promise<Played> {
  const { group: parent, groupSize, maxAttempts, version, episode } = plan
  const results = Array.from({ length: groupSize }, (): EpisodeResult | null => null)
  const place = here()
  const tell = (without?: WithoutResult) => setCurrentDetails(describeGroup(plan, results, place, without))
  tell()
  const samples = results.map((_, sample) => ({ parent, sample, maxAttempts, version, plan: episode }))
  const playing = new CancellationScope({ cancellable: true })
  let isOver = false
  let fault: unknown
  const all = playing
    .run(() =>
      playSamples(samples, {
        ended: (sample, result) => {
          results[sample] = result
          tell()
        },
        onLoss,
      }),
    )
    .catch((error: unknown) => {
      // A cancellation by the group itself is no fault of it.
      if (!isCancellation(error)) fault = error
    })
    .finally(() => {
      isOver = true
    })
  const done = () => results.filter((result) => result !== null)
  try {
    const inTime = await condition(() => isOver, `${plan.timeoutSeconds} seconds`)
    if (!inTime) await condition(() => isOver || done().length >= plan.quorum)
  } finally {
    // An episode that outlived its group would be terminated: cancelled, it seals its trajectory first.
    playing.cancel()
    await all
    tell('no result')
  }
  if (fault !== undefined) throw fault
  return { episodes: done() }
}

/**
 * Stores the group's report, then sends it to the run; a group without episodes takes part in no update. A resumed run may begin
 * an abandoned group again, which stays abandoned: no update could take episodes that the store does not have.
 * @throws ActivityFailure where the store has lost some of the episodes: nothing is reported
 */
async function report(plan: GroupPlan, { episodes, loss }: Played): Promise<void> {
  const { group, number, version, run } = plan
  const { taskIndex, task, dispatch } = plan.episode
  const report: GroupReport = {
    ...{ group, number, taskIndex, task, version, episodes },
    ...(loss === undefined ? {} : { loss }),
  }
  const { isAbandoned, teaches } = await groupActivities(dispatch).recordGroup({ run, report })
  const recorded = teaches === undefined ? report : { ...report, teaches }
  const sent = isAbandoned ? { ...report, episodes: [] } : recorded
  try {
    await getExternalWorkflowHandle(idHere(run)).signal(groupEnded, sent)
  } catch (error) {
    if (isCancellation(error)) throw error
    // A run that has ended meanwhile finds the report in the store when it is resumed.
    log.warn('run not reached', { group, reason: String(error) })
  }
}
