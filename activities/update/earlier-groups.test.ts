import { expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { type GroupId, groupId, runId } from '../../identity/identity.ts'
import type { StoredGroup } from '../../storage/records/groups.ts'
import { earlierGroups } from './earlier-groups.ts'

const run = runId('earlier')

/** Groups by the instance that each is of and the update that consumed it; all rewards differ. */
function storeOf(played: readonly (readonly [instance: string, consumedBy: number])[]) {
  const groups = played.map(([instance, consumedBy], number): StoredGroup => {
    const result = { status: 'complete', episodes: [], rewards: [0, 1], oldestVersion: 0, ended: 0 } as const
    const id = groupId(run, number)
    return {
      id,
      run,
      number,
      task: 'db',
      instance,
      version: 0,
      created: 0,
      status: 'complete',
      consumedBy,
      result,
    }
  })
  return {
    groups: {
      get: async (id: GroupId) => groups.find((group) => group.id === id),
      list: async (_: unknown, { consumedBy }: { readonly consumedBy?: number } = {}) =>
        groups.filter((group) => group.consumedBy === consumedBy),
    },
    episodes: { trajectory: () => Promise.reject(new RangeError('rewards tell')) },
  }
}

it('an algorithm that reads earlier groups has those of its instances, of as many updates as replay looks back', async () => {
  // Update 4 plays a and c; it looks back to updates 2 and 3.
  const store = storeOf([
    ['a', 1],
    ['a', 2],
    ['b', 2],
    ['c', 3],
    ['a', 4],
    ['c', 4],
  ])
  const own = [groupId(run, 4), groupId(run, 5)]
  const found = (learning: object) =>
    earlierGroups(store, { run, step: 4 }, own, configSchema.parse({ learning }))
  expect(await found({ algorithm: 'critic', replay: { maxAge: 2 } })).toEqual({
    replays: [],
    compared: [groupId(run, 1), groupId(run, 3)],
  })
  expect(await found({ algorithm: 'grpo', replay: { maxAge: 2 } })).toEqual({ replays: [], compared: [] })
  // Replayed groups are in the batch already.
  const { replays, compared } = await found({ algorithm: 'critic', replay: { maxAge: 2, share: 8 } })
  expect(replays).toEqual([groupId(run, 1), groupId(run, 2), groupId(run, 3)])
  expect(compared).toEqual([])
})
