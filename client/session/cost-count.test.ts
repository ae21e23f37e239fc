import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { openStore } from '../../storage/store.ts'
import { startCostCount } from './cost-count.ts'

const [first, second] = [runId('first'), runId('second')]

// [COSTS-1]
it('divides what the process computes among the runs in progress, and counts all of it once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-costs-'))
  const store = await openStore(join(folder, 'store.db'))
  try {
    let [running, cpu, looks] = [[first], 10, 0]
    const count = startCostCount({
      costs: store.costs,
      running: async () => {
        looks++
        return running.map((run) => ({ run }))
      },
      log: () => undefined,
      everyMs: 1,
      cpuSeconds: () => cpu,
    })
    const twoLooks = async () => {
      const since = looks
      await vi.waitFor(() => expect(looks).toBeGreaterThanOrEqual(since + 2))
    }
    await twoLooks()
    cpu += 4
    await twoLooks()
    running = [first, second]
    await twoLooks()
    cpu += 2
    await twoLooks()
    // While none is in progress it is no one's.
    running = []
    await twoLooks()
    await twoLooks()
    cpu += 100
    await twoLooks()
    await count[Symbol.asyncDispose]()
    expect(await store.costs.cpuSeconds(first)).toBeCloseTo(5, 9)
    expect(await store.costs.cpuSeconds(second)).toBeCloseTo(1, 9)
    expect(await store.costs.cpuSeconds(runId('none'))).toBeUndefined()
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
