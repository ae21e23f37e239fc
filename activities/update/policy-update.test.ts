import { expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { groupId, runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import type { StoredUpdate } from '../../storage/records/updates.ts'
import { nothingAsked } from '../../storage/trajectories/answers.ts'
import { updatePolicy } from './policy-update.ts'

const run = runId('a')

const collected = new RangeError('the batch is collected')

/** Makes an update, as far as collecting its batch. @returns what it did to the store before */
async function update({ step, stored }: { readonly step: number; readonly stored: readonly number[] }) {
  const order: string[] = []
  const noting = (what: string) => async () => {
    order.push(what)
  }
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
    ...{ run, step, version: 0, learning: {}, waitedSeconds: 0 },
    groups: [{ group: group.id, version: 0 }],
    ...{ skipped: [], taskWeights: [] },
  }
  const updating = updatePolicy(request, opened, {
    store: {
      groups: {
        get: () => Promise.reject(collected),
        list: async () => (order.includes('consume') ? [{ ...group, status: 'complete' as const }] : []),
        consume: noting('consume'),
      },
      episodes: { trajectory: () => Promise.reject(collected) },
      updates: {
        get: async (_, each) => (stored.includes(each) ? made(each) : undefined),
        put: async () => 'first',
      },
      answers: { totals: async () => nothingAsked },
      flushed: noting('flush'),
    },
    trainerOf: () => {
      throw collected
    },
    onProgress: () => undefined,
    log: () => undefined,
  })
  return { order, outcome: await updating.catch((error: unknown) => error) }
}

function made(step: number): StoredUpdate {
  return { run, step, version: step, statistics: {}, groups: [], created: 0 }
}

// [UPDATE-3]
it('the groups that an update consumes are flushed to the disk before their trajectories become a batch', async () => {
  const { order, outcome } = await update({ step: 1, stored: [] })
  expect(outcome).toBe(collected)
  expect(order).toEqual(['consume', 'flush'])
})

// [UPDATE-4]
it('an update does not begin where the store has lost the one before it', async () => {
  const { order, outcome } = await update({ step: 3, stored: [1] })
  expect(outcome).toMatchObject({
    name: 'StorageFault',
    kind: 'missing',
    message: expect.stringContaining('update 2 of a'),
  })
  expect(order).toEqual([])
  expect((await update({ step: 3, stored: [1, 2] })).outcome).toBe(collected)
})
