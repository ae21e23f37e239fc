/**
 * The inputs and outputs of an update, in memory: groups, their trajectories, updates.
 *
 * Invariants
 * - It keeps no more than the groups that no update has consumed.
 */
import type { UpdateTools } from '../../activities/update/policy-update.ts'
import type { EpisodeId, GroupId } from '../../identity/identity.ts'
import { StorageFault } from '../../storage/disk/fault.ts'
import type { StoredGroup } from '../../storage/records/groups.ts'
import type { StoredUpdate } from '../../storage/records/updates.ts'
import { nothingAsked } from '../../storage/trajectories/answers.ts'
import type { Trajectory } from '../../storage/trajectories/trajectory.ts'

export interface PlayedGroupsInMemory {
  readonly store: UpdateTools['store']
  add(group: StoredGroup, trajectories: readonly Trajectory[]): void
  /** Forgets groups that were learnt from. */
  drop(groups: readonly GroupId[]): void
}

export function playedGroupsInMemory(): PlayedGroupsInMemory {
  const groups = new Map<GroupId, StoredGroup>()
  const trajectories = new Map<EpisodeId, Trajectory>()
  const updates = new Map<number, StoredUpdate>()
  return {
    store: {
      groups: {
        get: async (id) => groups.get(id),
        list: async (_, filter) =>
          [...groups.values()]
            .filter(({ consumedBy }) => consumedBy === filter?.consumedBy)
            .sort((a, b) => a.number - b.number),
        async consume(ids, step) {
          for (const id of ids) {
            const group = groups.get(id)
            if (group !== undefined) groups.set(id, { ...group, consumedBy: step })
          }
        },
      },
      episodes: {
        async trajectory(id) {
          const trajectory = trajectories.get(id)
          if (trajectory === undefined) throw new StorageFault('missing', `${id} was not played`)
          return trajectory
        },
      },
      answers: { totals: async () => nothingAsked },
      flushed: async () => undefined,
      updates: {
        get: async (_, step) => updates.get(step),
        async put(update) {
          updates.set(update.step, update)
          return 'first'
        },
      },
    },
    add(group, played) {
      groups.set(group.id, group)
      for (const trajectory of played) trajectories.set(trajectory.episode.id, trajectory)
    },
    drop(ids) {
      for (const id of ids) {
        for (const episode of groups.get(id)?.result?.episodes ?? []) trajectories.delete(episode)
        groups.delete(id)
      }
    },
  }
}
