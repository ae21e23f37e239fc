import { expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { groupId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { updatePolicy } from './policy-update.ts'

const run = runId('a')

// [UPDATE-3]
it('the groups that an update consumes are flushed to the disk before their trajectories become a batch', async () => {
  const order: string[] = []
  const noting = (what: string) => async () => {
    order.push(what)
  }
  const collected = new RangeError('the batch is collected')
  const refuse = () => Promise.reject(new RangeError('no environment is needed'))
  const opened = {
    run,
    config: configSchema.parse({ tasks: [{ task: 'alfworld' }] }),
    directory: homeAt('unused').run(run),
    task: refuse,
    demonstrationTask: refuse,
  }
  const group = {
    id: groupId(run, 0),
    run,
    number: 0,
    task: 'alfworld',
    instance: '',
    version: 0,
    created: 0,
  }
  const request = {
    ...{ run, step: 1, version: 0, learning: {}, waitedSeconds: 0 },
    groups: [{ group: group.id, version: 0 }],
  }
  const updating = updatePolicy(request, opened, {
    store: {
      groups: {
        get: () => Promise.reject(collected),
        list: async () => (order.includes('consume') ? [{ ...group, status: 'complete' as const }] : []),
        consume: noting('consume'),
      },
      episodes: { trajectory: () => Promise.reject(collected) },
      updates: { get: async () => undefined, put: async () => 'first' },
      flushed: noting('flush'),
    },
    trainerOf: () => {
      throw collected
    },
    onProgress: () => undefined,
    log: () => undefined,
  })
  await expect(updating).rejects.toBe(collected)
  expect(order).toEqual(['consume', 'flush'])
})
