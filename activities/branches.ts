/**
 * Branch activities: an episode that begins with the turns of another.
 *
 * Invariants
 * - The copied turns are the sealed ones, token for token, so that the trajectory of the branch is whole by itself.
 * - Copying twice changes nothing.
 * - The reward and the limits of the new episode count the copied turns too.
 */

import type { BranchPoint } from '../contract/messages.ts'
import type { EpisodeId } from '../identity/identity.ts'
import { clock } from '../machine/services/clock.ts'
import { StorageFault } from '../storage/disk/fault.ts'
import type { Store } from '../storage/store.ts'
import { failing } from './calls/failure.ts'

/** A copied answer was paid for by the other episode. */
const free = { promptTokens: 0, completionTokens: 0, cost: 0, seconds: 0 }

/** Sums over the copied turns. */
export interface BranchStart {
  readonly turns: number
  /** Sum of the rewards of these turns. */
  readonly reward: number
  /** How many of the last turns in a row could not be used. */
  readonly invalidInARow: number
}

export type BranchActivities = ReturnType<typeof createBranchActivities>

export function createBranchActivities({ store }: { readonly store: Store }) {
  return failing({
    /** Gives a new episode the instance of another and its turns before the branch. */
    async beginBranch(request: {
      readonly episode: EpisodeId
      readonly from: BranchPoint
    }): Promise<BranchStart> {
      const { episode, from } = request
      // Reading the trajectory proves that the rows below are the sealed ones.
      const { task, instance, seal } = (await store.episodes.trajectory(from.episode)).episode
      if (from.turn >= seal.observations || from.turn > seal.turns)
        throw new StorageFault('missing', `episode ${from.episode} has no turn ${from.turn} to play on from`)
      const actions = (await store.actions.list(from.episode)).slice(0, from.turn)
      const observations = (await store.observations.list(from.episode)).slice(0, from.turn + 1)
      await store.episodes.insert({ id: episode, task, instance, created: clock.now() })
      for (const action of actions) await store.actions.put({ ...action, episode })
      for (const observation of observations) await store.observations.put({ ...observation, episode })
      // The replay of these turns asks the same questions.
      for (const answer of await store.answers.list(from.episode))
        if (answer.turn <= from.turn) await store.answers.put({ ...answer, ...free, episode })
      const answers = observations.slice(1)
      return {
        turns: actions.length,
        reward: answers.reduce((sum, { reward }) => sum + reward, 0),
        invalidInARow: answers.length - 1 - answers.findLastIndex(({ info }) => info.invalid !== true),
      }
    },
  })
}
