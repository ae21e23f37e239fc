/**
 * Trajectory activities: sealing episodes and recording groups.
 *
 * Invariants
 * - A trajectory is sealed once; sealing again answers what the first sealing stored.
 * - An infrastructure failure or a cancellation is sealed without a reward.
 * - Episodes that a workflow knows and the store lacks never count ([KNOWN-2] in `known-work.ts`).
 * - The groups of an update that the run has not heard of are reported in full: a repeated request gets the same groups.
 */

import type { EpisodeResult, GroupReport } from '../../contract/messages.ts'
import type { EpisodeId, GroupId, RunId } from '../../identity/identity.ts'
import { isRewarded, type Outcome } from '../../learning/evaluation/outcome.ts'
import { finalReward, isSuccess, rewardRules } from '../../learning/evaluation/reward.ts'
import { clock } from '../../machine/services/clock.ts'
import type { Store } from '../../storage/store.ts'
import type { SealedEpisode } from '../../storage/trajectories/episode.ts'
import { failing, rewardOf } from '../calls/failure.ts'
import { requireSealed } from '../stored/known-work.ts'
import type { OpenRun, OpenRuns } from '../stored/open-runs.ts'
import { turnsTeach } from '../update/lesson.ts'

export interface SealRequest {
  readonly episode: EpisodeId
  readonly run: RunId
  readonly taskIndex: number
  readonly outcome: Outcome
  /** Sum of the rewards of the turns. */
  readonly reward: number
  /** Turns that the reward is of, which the store must have; absent for an episode that failed. */
  readonly turns?: number
  /** Why it failed, in words. */
  readonly failure: string | null
}

/** The store's answer about a group that has ended. */
export interface RecordedGroup extends Pick<GroupReport, 'teaches'> {
  /** It ended without results, and no update takes it. */
  readonly isAbandoned: boolean
}

interface Dependencies {
  readonly store: Store
  readonly runs: OpenRuns
  /** Called for each episode that has ended, to drop the state that is kept for its next turn. */
  readonly onSealed: (run: RunId, episode: EpisodeId) => void
}

export type TrajectoryActivities = ReturnType<typeof createTrajectoryActivities>

export function createTrajectoryActivities({ store, runs, onSealed }: Dependencies) {
  return failing({
    async sealTrajectory(request: SealRequest): Promise<EpisodeResult> {
      const opened = await runs.get(request.run)
      const { episode: id, taskIndex } = request
      const task = opened.config.tasks[taskIndex]?.task ?? ''
      if ((await store.episodes.get(id)) === undefined)
        await store.episodes.insert({
          id,
          task,
          instance: '',
          created: clock.now(),
        })
      const outcome = await finalOutcome(opened, request)
      const rules = rewardRules(opened.config, task)
      const reward = finalReward(outcome, request.reward, rules)
      const ending = { outcome, reward, success: isSuccess(reward, rules), ended: clock.now() }
      const { episode } = await store.episodes.seal(id, ending, request.turns)
      onSealed(request.run, id)
      return resultOf(episode)
    },

    /**
     * The first record holds: a group that was given up before stays abandoned, whatever came of it later.
     * @throws StorageFault `missing` where the store has lost one of the episodes
     */
    async recordGroup({
      run,
      report,
    }: {
      readonly run: RunId
      readonly report: GroupReport
    }): Promise<RecordedGroup> {
      const rewards = report.episodes.map(({ episode, outcome, reward }) =>
        rewardOf(episode, outcome, reward),
      )
      const { group: id, number, task, version } = report
      const episodes = report.episodes.map(({ episode }) => episode)
      await requireSealed(store, id, episodes)
      const [first] = episodes
      const instance = first === undefined ? '' : ((await store.episodes.get(first))?.instance ?? '')
      const { config } = await runs.get(run)
      const teaches = await turnsTeach(store.episodes, { task, episodes, rewards }, config)
      await store.groups.insert({ id, run, number, task, instance, version, created: clock.now() })
      await store.groups.complete(id, {
        status: episodes.length === 0 ? 'abandoned' : 'complete',
        episodes,
        rewards,
        oldestVersion: version,
        ended: clock.now(),
      })
      const isAbandoned = (await store.groups.get(id))?.result?.status === 'abandoned'
      return { isAbandoned, ...(teaches ? { teaches } : {}) }
    },

    /** Finds the reports of groups that have ended; a group that a counted update has consumed has no episodes in it. */
    async findReports(request: {
      readonly run: RunId
      readonly groups: readonly GroupId[]
      /** Updates that the run has heard of. */
      readonly step: number
    }): Promise<{ readonly reports: readonly GroupReport[] }> {
      const { config } = await runs.get(request.run)
      const { step } = request
      const reports: GroupReport[] = []
      for (const group of request.groups) {
        const stored = await store.groups.get(group)
        if (stored?.result === undefined) continue
        const episodes: EpisodeResult[] = []
        const { consumedBy } = stored
        const isSpent =
          consumedBy !== undefined &&
          consumedBy <= step &&
          (await store.updates.get(request.run, consumedBy)) !== undefined
        for (const id of isSpent ? [] : stored.result.episodes) {
          const episode = await store.episodes.get(id)
          if (episode?.seal !== undefined) episodes.push(resultOf({ ...episode, seal: episode.seal }))
        }
        const { number, task, version } = stored
        const taskIndex = config.tasks.findIndex((entry) => entry.task === task)
        const teaches = !isSpent && (await turnsTeach(store.episodes, { task, ...stored.result }, config))
        const report = { group, number, task, taskIndex, version, episodes }
        reports.push({ ...report, ...(teaches ? { teaches } : {}) })
      }
      return { reports }
    },
  })
}

/** The outcome, as the environment takes the end of its turns. */
async function finalOutcome(
  opened: OpenRun,
  { outcome, taskIndex }: Pick<SealRequest, 'outcome' | 'taskIndex'>,
): Promise<Outcome> {
  if (outcome !== 'turn_limit') return outcome
  const { definition } = await opened.task(taskIndex)
  return definition.turnLimitCompletes === true ? 'completed' : outcome
}

function resultOf({ id, seal }: SealedEpisode): EpisodeResult {
  const { outcome, reward, success, turns, tokens, actionTokens } = seal
  return {
    episode: id,
    outcome,
    reward: isRewarded(outcome) ? reward : null,
    success,
    turns,
    tokens,
    actionTokens,
  }
}
