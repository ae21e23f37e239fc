/** The watch of a disk: warns once, pauses once, and stops no work when it fails. */
import { tmpdir } from 'node:os'
import { afterEach, expect, it } from 'vitest'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import type { RunPhase } from '../../learning/run/run-phase.ts'
import { diskSpace } from '../../storage/disk/disk-use.ts'
import { type DiskWatch, diskWarning, watchDisk } from './disk-watch.ts'

const run = runId('demo')
const home = tmpdir()
/** No disk is free as a whole. */
const always = { warnFreeMegabytes: 1e9, warnFreeShare: 1, pauseFreeMegabytes: 1e9, pauseFreeShare: 1 }
const never = { pauseFreeShare: 0, warnFreeShare: 0 }
let watch: DiskWatch | undefined
afterEach(() => watch?.close())

function configOf(retention: object) {
  return configSchema.parse({ retention })
}

interface Observed {
  readonly log: string[]
  readonly pauses: string[]
  readonly continued: string[]
  phase: RunPhase
  isPausedForDisk: boolean
  looks: number
}

function observe(retention: object, pause: (observed: Observed) => boolean): Observed {
  const observed: Observed = {
    log: [],
    pauses: [],
    continued: [],
    phase: 'training',
    isPausedForDisk: false,
    looks: 0,
  }
  watch = watchDisk({
    home,
    everyMs: 1,
    log: (line) => observed.log.push(line),
    running: async () => {
      observed.looks += 1
      return [{ run, config: configOf(retention) }]
    },
    phase: async () => observed.phase,
    pause: async (_, reason) => {
      observed.pauses.push(reason)
      return pause(observed)
    },
    isPausedForDisk: async () => observed.isPausedForDisk,
    continue: async (_, reason) => {
      observed.continued.push(reason)
      observed.isPausedForDisk = false
      return true
    },
  })
  return observed
}

async function looks(observed: Observed, more: number): Promise<void> {
  const until = observed.looks + more
  await expect.poll(() => observed.looks, { timeout: 20_000 }).toBeGreaterThan(until)
}

it('pauses a run once, and again only after it was continued', async () => {
  const observed = observe(always, (seen) => {
    seen.phase = 'paused'
    return true
  })
  await looks(observed, 5)
  expect(observed.pauses).toHaveLength(1)
  expect(observed.pauses[0]).toMatch(/MB .* are free .*perdure clean.*continues by itself/)
  expect(observed.log.filter((line) => line.includes('is paused'))).toHaveLength(1)
  expect(observed.log).toHaveLength(2)
  observed.phase = 'training'
  await looks(observed, 5)
  expect(observed.pauses).toHaveLength(2)
})

it('does not order the pause again of a run that pauses when its warm start ends', async () => {
  const observed = observe(always, () => true)
  observed.phase = 'warm_start'
  await looks(observed, 5)
  expect(observed.pauses).toHaveLength(1)
})

it('leaves a run alone while there is room', async () => {
  const observed = observe(never, () => true)
  await looks(observed, 3)
  expect(observed).toMatchObject({ log: [], pauses: [], continued: [] })
})

// [DISK-PAUSE-1]
it('continues a run once that it or another process has paused for the disk, and none that a person has paused', async () => {
  const observed = observe(never, () => true)
  observed.phase = 'paused'
  await looks(observed, 3)
  expect(observed.continued).toEqual([])
  observed.isPausedForDisk = true
  await looks(observed, 3)
  expect(observed.continued).toEqual([expect.stringMatching(/^\d+ MB are free again on the disk of /)])
  expect(observed.log).toEqual([expect.stringMatching(/^run demo continues: /)])
})

// [DISK-PAUSE-1]
it('a run that is paused for the disk stays so until twice as much is free as it pauses at', async () => {
  const { free } = await diskSpace(home)
  // So much less than is free that the run is not paused, and so much more than half that it is not continued either.
  const retention = { warnFreeShare: 0, pauseFreeMegabytes: (0.75 * free) / 1e6, pauseFreeShare: 1 }
  const observed = observe(retention, () => true)
  observed.isPausedForDisk = true
  await looks(observed, 3)
  expect(observed).toMatchObject({ pauses: [], continued: [] })
})

it('tells once that it fails, and continues', async () => {
  const observed = observe(always, () => {
    throw new Error('no answer')
  })
  await looks(observed, 5)
  expect(observed.log.filter((line) => line.includes('is not watched'))).toHaveLength(1)
  expect(observed.pauses.length).toBeGreaterThan(1)
})

it('the smaller of megabytes and share counts, so that it fits disks of all sizes', () => {
  const { retention } = configOf({})
  const gigabyte = 1e9
  const warns = (free: number, total: number) => diskWarning(home, { free, total }, retention) !== undefined
  expect(warns(1.9 * gigabyte, 1000 * gigabyte)).toBe(true)
  expect(warns(2.1 * gigabyte, 1000 * gigabyte)).toBe(false)
  expect(warns(0.1 * gigabyte, 1 * gigabyte)).toBe(false)
  expect(warns(0.04 * gigabyte, 1 * gigabyte)).toBe(true)
})
