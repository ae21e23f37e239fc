import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { StorageFault } from '../storage/disk/fault.ts'
import { flushedActivities } from './role-workers.ts'

async function execute(flushed: () => Promise<void>, work: () => Promise<unknown>): Promise<unknown> {
  const { inbound } = flushedActivities({ flushed })({} as never)
  return await inbound?.execute?.({ args: [], headers: {} }, work)
}

describe('an activity', () => {
  // [FLUSHED-1]
  it('reports after the store is flushed, which happens after its work', async () => {
    const order: string[] = []
    const result = await execute(
      async () => void order.push('flushed'),
      async () => {
        order.push('worked')
        return 7
      },
    )
    expect(result).toBe(7)
    expect(order).toEqual(['worked', 'flushed'])
  })

  it('whose work cannot be flushed fails with the fault of the store, so that it is tried again', async () => {
    const fault = new StorageFault('disk_full', 'the disk is full')
    const failing = execute(
      () => Promise.reject(fault),
      () => Promise.resolve(7),
    )
    await expect(failing).rejects.toBeInstanceOf(ApplicationFailure)
    await expect(failing).rejects.toMatchObject({ type: 'StorageFault', details: [{ kind: 'disk_full' }] })
  })
})
